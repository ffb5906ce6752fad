package app;

import java.util.Map;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.apache.logging.log4j.ThreadContext;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/** Requests that log, by Logback and Log4j 2, at once and by another thread. Their traces come in. */
public final class Logs {
    private static final org.slf4j.Logger BACK = LoggerFactory.getLogger("back");
    private static final Logger FOUR = LogManager.getLogger("four");

    public static final class Request {
        private final int number;

        Request(int number) {
            this.number = number;
        }

        public String header(String name) {
            return name.equals("traceparent") ? String.format("00-%032x-%016x-01", number, number) : null;
        }
    }

    static void service(Request request) {
        tell("request " + request.number);
    }

    private static void tell(String what) {
        BACK.info(what);
        FOUR.info(what);
    }

    public static void main(String[] args) {
        tell("before");
        MDC.put("user", "ann");
        ThreadContext.put("user", "ann");
        service(new Request(1));
        tell("between");
        MDC.put("trace_id", "its own");
        ThreadContext.put("trace_id", "its own");
        service(new Request(2));
        MDC.remove("trace_id");
        ThreadContext.remove("trace_id");
        service(new Request(3));
        Map<String, String> left = MDC.getCopyOfContextMap();
        System.out.println("left " + left + " " + ThreadContext.getContext());
        ((ch.qos.logback.classic.LoggerContext) LoggerFactory.getILoggerFactory()).stop();
        LogManager.shutdown();
    }
}
