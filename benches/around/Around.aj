package bench;

/** The same as AspectJ has it. */
public aspect Around {
    Object around(): execution(* com.fasterxml.jackson..*.*(..)) {
        return proceed();
    }
}
