import java.io.File;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import weave.runtime.Access;
import weave.runtime.Hooks;

/** Small programs as if woven, each run in a process of its own. The last line of each says what its trace must hold. */
public final class Programs {
    public static void main(String[] arguments) throws Throwable {
        Method program = Programs.class.getDeclaredMethod(arguments[0]);
        try {
            program.invoke(null);
        } catch (java.lang.reflect.InvocationTargetException e) {
            throw e.getCause();
        }
        System.out.println("done");
    }

    /** So many calls, three deep. */
    static void calls(int n) {
        for (int i = 0; i < n; i++) {
            Hooks.enter(1);
            Hooks.enter(2);
            Hooks.enter(-3);
            Hooks.exit(-3);
            Hooks.exit(2);
            Hooks.exit(1);
        }
    }

    static void nothing() {}

    static void one() {
        calls(1);
    }

    static void many() {
        calls(100_000); // 600,000 records
    }

    /** As if on Android, where an app gets neither a command line nor an environment. */
    static void android() {
        System.setProperty("java.vm.name", "Dalvik");
        System.setProperty("java.io.tmpdir", System.getProperty("test.tmpdir"));
        calls(10_000);
        if (android.os.StrictMode.open != 0) {
            throw new IllegalStateException("StrictMode: " + android.os.StrictMode.open);
        }
    }

    static void threads() throws Exception {
        Thread a = new Thread(() -> calls(50_000), "α");
        Thread b = new Thread(() -> calls(50_000), "b".repeat(300));
        b.setDaemon(true);
        a.start();
        b.start();
        a.join();
        b.join();
        recurse(1_000);
    }

    static void recurse(int depth) {
        Hooks.enter(depth);
        if (depth > 1) {
            recurse(depth - 1);
        }
        Hooks.exit(depth);
    }

    static void raise(int depth, Throwable t) throws Throwable {
        Hooks.enter(depth);
        try {
            if (depth == 1) {
                throw t;
            }
            raise(depth - 1, t);
        } catch (Throwable e) {
            Hooks.error(e, depth);
            throw e;
        }
        Hooks.exit(depth);
    }

    static void caught(int depth, Throwable t) {
        try {
            raise(depth, t);
        } catch (Throwable e) {
            if (e != t) {
                throw new AssertionError(e);
            }
        }
    }

    /** As in a dex file: both ways out meet in one call. */
    static int left(int depth, Throwable t) {
        Hooks.enter(depth);
        int result = 0;
        Throwable thrown = null;
        try {
            if (depth == 1 && t != null) {
                throw Programs.<RuntimeException>unchecked(t);
            }
            result = depth == 1 ? 1 : 1 + left(depth - 1, t);
        } catch (Throwable e) {
            thrown = e;
        }
        Hooks.leave(thrown, depth);
        return result;
    }

    /** 1 call by itself, then 30,000 one by one and 30,000 within another: chunks end in front of leaves, and within. */
    static void leaf() {
        Hooks.leaf(1);
        for (int i = 0; i < 30_000; i++) {
            Hooks.leaf(2);
        }
        Hooks.enter(3);
        for (int i = 0; i < 30_000; i++) {
            Hooks.leaf(4);
        }
        Hooks.exit(3);
    }

    @SuppressWarnings("unchecked")
    static <T extends Throwable> T unchecked(Throwable t) throws T {
        throw (T) t;
    }

    /** 7 returns; then 4 exceptions, 3 deep. */
    static void leaves() {
        if (left(7, null) != 7) {
            throw new AssertionError("the result");
        }
        Throwable[] all = {new IllegalStateException("a"), new Error(), new java.io.IOException("checked"), new Unruly(1)};
        for (Throwable t : all) {
            StackTraceElement[] trace = t.getStackTrace();
            try {
                left(3, t);
                throw new AssertionError("nothing was thrown");
            } catch (Throwable e) {
                if (e != t || !java.util.Arrays.equals(trace, e.getStackTrace()) || e.getSuppressed().length > 0) {
                    throw new AssertionError("not as it was thrown", e);
                }
            }
        }
    }

    static final class Unruly extends RuntimeException {
        final int how;

        Unruly(int how) {
            this.how = how;
        }

        @Override
        public String getMessage() {
            Hooks.enter(77);
            try {
                calls(10);
                caught(2, new IllegalStateException("inside"));
                if (how == 1) {
                    throw this;
                }
                String message = how == 2 ? getMessage() : "recorded";
                Hooks.exit(77);
                return message;
            } catch (Throwable t) {
                Hooks.error(t, 77);
                throw t;
            }
        }
    }

    static void exceptions() {
        RuntimeException a = new RuntimeException("a");
        RuntimeException b = new RuntimeException("ä€𝄞".repeat(400));
        caught(5, a);
        caught(2, b);
        caught(2, a);
        caught(2, a);
        caught(1, new Error());
        caught(1, new Unruly(0));
        caught(1, new Unruly(1));
        caught(1, new Unruly(2)); // recurses until the stack is full
        calls(1);
    }

    static void gap() throws Exception {
        Hooks.enter(1);
        Thread.sleep(1_200);
        Hooks.exit(1);
    }

    static void shortThreads() throws Exception {
        for (int i = 0; i < 20_000; i += 10) {
            Thread[] all = new Thread[10];
            for (int k = 0; k < all.length; k++) {
                all[k] = new Thread(() -> calls(2));
                all[k].start();
            }
            for (Thread t : all) {
                t.join();
            }
        }
    }

    static void waves() throws Exception {
        for (int wave = 0; wave < 20; wave++) {
            List<Thread> all = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                Thread t = new Thread(() -> calls(200));
                all.add(t);
                t.start();
            }
            for (Thread t : all) {
                t.join();
            }
        }
    }

    static void virtualThreads() throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        int n = 100_000;
        CountDownLatch all = new CountDownLatch(n);
        CountDownLatch go = new CountDownLatch(1);
        for (int i = 0; i < n; i++) {
            boolean waits = i % 2 == 0;
            start.invoke(null, (Runnable) () -> {
                Hooks.enter(1);
                if (waits) {
                    try {
                        go.await();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                } else {
                    Thread.yield();
                }
                calls(1);
                caught(2, new RuntimeException("virtual"));
                Hooks.exit(1);
                all.countDown();
            });
        }
        go.countDown();
        all.await();
    }

    /** Virtual threads beside platform threads, all at full speed. */
    static void mixed() throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            all.add((Thread) start.invoke(null, (Runnable) () -> {
                for (int k = 0; k < 100; k++) {
                    calls(100);
                    Thread.yield();
                }
            }));
        }
        for (int i = 0; i < 2; i++) {
            Thread t = new Thread(() -> calls(100_000));
            all.add(t);
            t.start();
        }
        for (Thread t : all) {
            t.join();
        }
    }

    static void killed() throws Exception {
        Thread t = new Thread(() -> calls(12_345), "other");
        t.start();
        t.join();
        Hooks.enter(9);
        calls(34_567);
        System.out.println("done");
        System.out.flush();
        Thread.sleep(60_000);
    }

    static void killedAtWork() {
        Hooks.enter(9);
        calls(100);
        System.out.println("done");
        System.out.flush();
        while (true) {
            calls(1_000);
        }
    }

    static void forgotten() {
        for (int i = 0; i < 1_000; i++) {
            calls(1);
            Access.forgetLane();
        }
    }

    static void interrupted() {
        Thread.currentThread().interrupt();
        calls(200_000);
        if (!Thread.currentThread().isInterrupted()) {
            throw new AssertionError("the interrupt is lost");
        }
    }

    static int deep(int depth) {
        Hooks.enter(5);
        int result;
        try {
            result = 1 + deep(depth + 1);
        } catch (Throwable t) {
            Hooks.error(t, 5);
            throw t;
        }
        Hooks.exit(5);
        return result;
    }

    static int deepLeft(int depth) {
        Hooks.enter(5);
        Hooks.leaf(6);
        int result = 0;
        Throwable thrown = null;
        try {
            result = 1 + deepLeft(depth + 1);
        } catch (Throwable t) {
            thrown = t;
        }
        Hooks.leave(thrown, 5);
        return result;
    }

    static void overflow() throws Exception {
        Runnable storm = () -> {
            for (int i = 0; i < 40; i++) {
                try {
                    if (i % 2 == 0) {
                        deep(0);
                    } else {
                        deepLeft(0);
                    }
                    throw new AssertionError();
                } catch (StackOverflowError expected) {
                    // again
                }
            }
            Hooks.enter(8);
            calls(1_000);
            Hooks.exit(8);
        };
        storm.run();
        // Threads whose very first hook is called with hardly any stack left.
        for (int i = 0; i < 20; i++) {
            Thread t = new Thread(null, () -> {
                sink(0);
                Hooks.enter(8);
                calls(10);
                Hooks.exit(8);
            }, "deep", 300_000);
            t.start();
            t.join();
        }
    }

    static void sink(int depth) {
        try {
            sink(depth + 1);
        } catch (StackOverflowError e) {
            Hooks.enter(6);
            Hooks.exit(6);
        }
    }

    /** What the library calls is woven: the class loader, the error stream. */
    static void wovenHost() throws Exception {
        Thread.currentThread().setContextClassLoader(new ClassLoader(Programs.class.getClassLoader()) {
            @Override
            public Enumeration<URL> getResources(String name) throws java.io.IOException {
                Hooks.enter(66);
                try {
                    return super.getResources(name);
                } finally {
                    Hooks.exit(66);
                }
            }
        });
        PrintStream err = System.err;
        System.setErr(new PrintStream(new OutputStream() {
            @Override
            public void write(int b) {
                Hooks.enter(67);
                err.write(b);
                Hooks.exit(67);
            }
        }, true));
        calls(1_000);
        Thread.sleep(100);
        calls(1_000);
    }

    static void loaders() throws Exception {
        List<URL> urls = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            urls.add(new File(entry).toURI().toURL());
        }
        for (int i = 0; i < 2; i++) {
            ClassLoader own = new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
            Method calls = own.loadClass("Programs").getDeclaredMethod("calls", int.class);
            calls.setAccessible(true);
            calls.invoke(null, 100 + i);
        }
    }

    static void noThreadLeft() {
        calls(1);
        for (Thread t : Thread.getAllStackTraces().keySet()) {
            if (t.getName().startsWith("weave")) {
                throw new AssertionError("a thread when off: " + t);
            }
        }
    }
}
