package dev.weave.build;

import java.util.Collections;
import java.util.List;

/** Why a project cannot be woven. Plug-ins hand it on as their build tool's own exception. */
public final class Failure extends Exception {
    private static final long serialVersionUID = 1;

    private final transient List<String> errors;

    public Failure(String message) {
        this(message, Collections.emptyList(), null);
    }

    public Failure(String message, Throwable cause) {
        this(message, Collections.emptyList(), cause);
    }

    Failure(String message, List<String> errors) {
        this(message, errors, null);
    }

    private Failure(String message, List<String> errors, Throwable cause) {
        super(message, cause);
        this.errors = errors;
    }

    /** What the program found wrong. */
    public List<String> errors() {
        return errors;
    }
}
