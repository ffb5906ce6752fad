package dev.weave.build;

/** How a build tool tells its users something. */
public interface Console {
    void warn(String message);

    /** What is shown only to those who ask for it. */
    void detail(String message);

    /** The option that shows details. */
    String detailsOption();

    /** A place in a file, as messages of this tool begin with it. */
    String place(String file, int line, int column);
}
