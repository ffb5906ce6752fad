package bench;

import java.io.File;
import java.util.concurrent.Callable;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.implementation.MethodDelegation;
import net.bytebuddy.implementation.bind.annotation.SuperCall;
import net.bytebuddy.matcher.ElementMatchers;
import net.bytebuddy.pool.TypePool;

/** Gives classes Byte Buddy's advice: inlined and delegated, both with what they throw suppressed, as Weave's guards do; and delegation. */
public final class Peers {
    public static class Inlined {
        @Advice.OnMethodEnter(suppress = Throwable.class)
        public static void begin(@Advice.Argument(0) int n, @Advice.Argument(1) String text) {
            Log.begin(n, text);
        }

        @Advice.OnMethodExit(suppress = Throwable.class)
        public static void end(@Advice.Return int result) {
            Log.end(result);
        }
    }

    public static class Delegated {
        @Advice.OnMethodEnter(inline = false, suppress = Throwable.class)
        public static void begin(@Advice.Argument(0) int n, @Advice.Argument(1) String text) {
            Log.begin(n, text);
        }

        @Advice.OnMethodExit(inline = false, suppress = Throwable.class)
        public static void end(@Advice.Return int result) {
            Log.end(result);
        }
    }

    public static class Around {
        public static int around(@SuperCall Callable<Integer> proceed) throws Exception {
            return proceed.call();
        }
    }

    public static void main(String[] arguments) throws Exception {
        File folder = new File(arguments[0]);
        ClassFileLocator locator = ClassFileLocator.ForClassLoader.ofSystemLoader();
        TypePool pool = TypePool.Default.ofSystemLoader();
        for (Class<?> advice : new Class<?>[] {Inlined.class, Delegated.class}) {
            new ByteBuddy()
                .redefine(pool.describe("bench.ByteBuddy" + advice.getSimpleName()).resolve(), locator)
                .visit(Advice.to(advice).on(ElementMatchers.named("work")))
                .make()
                .saveIn(folder);
        }
        new ByteBuddy()
            .rebase(pool.describe("bench.ByteBuddyAround").resolve(), locator)
            .method(ElementMatchers.named("work"))
            .intercept(MethodDelegation.to(Around.class))
            .make()
            .saveIn(folder);
    }
}
