import com.sun.jdi.AbsentInformationException;
import com.sun.jdi.ArrayReference;
import com.sun.jdi.Bootstrap;
import com.sun.jdi.LocalVariable;
import com.sun.jdi.Location;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.StackFrame;
import com.sun.jdi.StringReference;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.Value;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.LaunchingConnector;
import com.sun.jdi.event.BreakpointEvent;
import com.sun.jdi.event.ClassPrepareEvent;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.LocatableEvent;
import com.sun.jdi.event.StepEvent;
import com.sun.jdi.request.BreakpointRequest;
import com.sun.jdi.request.ClassPrepareRequest;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.EventRequestManager;
import com.sun.jdi.request.StepRequest;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * What someone with a debugger sees of a program, line by line on standard output: class, method, line and the variables
 * in scope with their values, at each stop.
 *
 * <pre>Debugger breakpoints|steps JAVA-HOME CLASS-PATH MAIN PREFIX...</pre>
 *
 * {@code breakpoints} stops at every line of the classes whose names begin with a prefix, {@code steps} goes on from the
 * first line of {@code main} by "step into", past the JDK's classes and the hook library's.
 */
public final class Debugger {
    private static final String[] NOT_STEPPED_INTO = {"java.*", "javax.*", "jdk.*", "sun.*", "com.sun.*", "weave.*"};

    private Debugger() {}

    public static void main(String[] args) throws Exception {
        boolean stepping = args[0].equals("steps");
        LaunchingConnector connector = Bootstrap.virtualMachineManager().defaultConnector();
        Map<String, Connector.Argument> launch = connector.defaultArguments();
        launch.get("home").setValue(args[1]);
        launch.get("options").setValue("-cp \"" + args[2] + "\"");
        launch.get("main").setValue(args[3]);
        VirtualMachine vm = connector.launch(launch);
        drain(vm.process().getInputStream());
        drain(vm.process().getErrorStream());
        EventRequestManager requests = vm.eventRequestManager();
        for (int i = 4; i < args.length; i++) {
            ClassPrepareRequest prepared = requests.createClassPrepareRequest();
            prepared.addClassFilter(args[i] + "*");
            prepared.enable();
        }
        StringBuilder out = new StringBuilder();
        int stops = 0;
        try {
            while (true) {
                EventSet events = vm.eventQueue().remove();
                for (Event event : events) {
                    if (event instanceof ClassPrepareEvent) {
                        prepare(requests, ((ClassPrepareEvent) event).referenceType(), stepping ? args[3] : null);
                    } else if (event instanceof BreakpointEvent || event instanceof StepEvent) {
                        stops++;
                        show(out, (LocatableEvent) event);
                        if (stepping && event instanceof BreakpointEvent) {
                            event.request().disable();
                            step(requests, (LocatableEvent) event);
                        }
                    }
                }
                events.resume();
            }
        } catch (VMDisconnectedException ended) {
            out.append("exit ").append(vm.process().waitFor()).append(" after ").append(stops).append(" stops\n");
        }
        System.out.print(out);
        System.out.flush();
    }

    /** Breakpoints at every line of a class; or, of the main class alone, at the first line of {@code main}. */
    private static void prepare(EventRequestManager requests, ReferenceType type, String mainClass) {
        try {
            Set<Location> places = new LinkedHashSet<>();
            if (mainClass == null) {
                places.addAll(type.allLineLocations());
            } else if (type.name().equals(mainClass)) {
                places.add(type.methodsByName("main").get(0).allLineLocations().get(0));
            }
            for (Location place : places) {
                BreakpointRequest breakpoint = requests.createBreakpointRequest(place);
                breakpoint.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
                breakpoint.enable();
            }
        } catch (AbsentInformationException e) {
            // An interface without code.
        }
    }

    private static void step(EventRequestManager requests, LocatableEvent at) {
        StepRequest step = requests.createStepRequest(at.thread(), StepRequest.STEP_LINE, StepRequest.STEP_INTO);
        for (String classes : NOT_STEPPED_INTO) {
            step.addClassExclusionFilter(classes);
        }
        step.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
        step.enable();
    }

    private static void show(StringBuilder out, LocatableEvent event) throws Exception {
        Location at = event.location();
        out.append(stable(at.declaringType().name())).append('.').append(at.method().name()).append(':').append(at.lineNumber());
        StackFrame frame = event.thread().frame(0);
        out.append(" depth ").append(event.thread().frameCount());
        try {
            for (LocalVariable variable : frame.visibleVariables()) {
                out.append(' ').append(variable.name()).append('=').append(text(frame.getValue(variable)));
            }
        } catch (AbsentInformationException e) {
            out.append(" no variables");
        }
        out.append('\n');
    }

    /** A value, as far as it is the same in every run. */
    private static String text(Value value) {
        if (value instanceof StringReference) {
            return '"' + ((StringReference) value).value() + '"';
        }
        if (value instanceof ArrayReference) {
            return value.type().name() + " of " + ((ArrayReference) value).length();
        }
        if (value instanceof ObjectReference) {
            return stable(value.type().name());
        }
        return String.valueOf(value);
    }

    /** A class's name without the number and address that a hidden class has in it. */
    private static String stable(String name) {
        return name.replaceFirst("\\$\\$Lambda.*", "\\$\\$Lambda");
    }

    /** The program must not wait for somebody to read what it prints. */
    private static void drain(java.io.InputStream in) {
        Thread reader = new Thread(() -> {
            try (java.io.InputStream stream = in) {
                byte[] buffer = new byte[8192];
                while (stream.read(buffer) >= 0) {}
            } catch (java.io.IOException ended) {
                // with the program
            }
        });
        reader.setDaemon(true);
        reader.start();
    }
}
