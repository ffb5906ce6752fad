package weave.runtime;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The ids of the current context beside what the program has put into its loggers' context (MDC). They are added where an event's context is
 * read: nothing is put into the program's own, and what it has under these names stays.
 */
public final class Logs {
    private static final String PROVIDER = "org.apache.logging.log4j.core.util.ContextDataProvider";
    private static final String STRINGS = "org.apache.logging.log4j.core.impl.JdkMapAdapterStringMap";

    private Logs() {}

    private static final class Events {
        static final Known<Span> LATER = new Known<Span>();
    }

    private static Map<String, String> ids(Span span) {
        if (span == null) {
            return Collections.emptyMap();
        }
        String told = span.traceparent();
        Map<String, String> ids = new HashMap<String, String>(8);
        ids.put("trace_id", told.substring(3, 35));
        ids.put("span_id", told.substring(36, 52));
        ids.put("trace_flags", told.substring(53, 55));
        return ids;
    }

    /** Another thread will write this event: it has the ids of this one. */
    public static void later(Object event) {
        Events.LATER.put(event, Hooks.context());
    }

    /** The context of an event, with the ids. */
    public static Map<String, String> with(Object event, Map<String, String> context) {
        Span noted = Events.LATER.of(event);
        Span span = noted == null ? Hooks.context() : noted;
        if (span == null) {
            return context;
        }
        Map<String, String> all = ids(span);
        if (context != null) {
            all.putAll(context);
        }
        return all;
    }

    /** What gives Log4j 2 the context of its events, with one more in front that gives the ids. */
    public static List<Object> providers(List<Object> providers) {
        Class<?> type = providers == null || providers.isEmpty() ? null : provider(providers.get(0).getClass());
        if (type == null) {
            return providers;
        }
        List<Object> all = new ArrayList<Object>(providers.size() + 1);
        all.add(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, new Provider(type.getClassLoader())));
        all.addAll(providers);
        return all;
    }

    private static Class<?> provider(Class<?> of) {
        for (Class<?> type = of; type != null; type = type.getSuperclass()) {
            for (Class<?> one : type.getInterfaces()) {
                if (one.getName().equals(PROVIDER)) {
                    return one;
                }
            }
        }
        return null;
    }

    private static final class Provider implements InvocationHandler {
        private final ClassLoader loader;

        Provider(ClassLoader loader) {
            this.loader = loader;
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Exception {
            switch (method.getName()) {
                case "supplyContextData":
                    return ids(Hooks.context());
                case "supplyStringMap":
                    Map<String, String> ids = new HashMap<String, String>(ids(Hooks.context()));
                    return Class.forName(STRINGS, true, loader).getConstructor(Map.class).newInstance(ids);
                case "equals":
                    return proxy == arguments[0];
                case "hashCode":
                    return System.identityHashCode(proxy);
                default:
                    return "ids of weave";
            }
        }
    }
}
