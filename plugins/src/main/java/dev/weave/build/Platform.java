package dev.weave.build;

/** Names of platforms, as artifacts with programs have them. */
public final class Platform {
    private Platform() { }

    /** The classifier of a system and processor, as protoc's artifacts have it; null if there is no program for it. */
    public static String classifier(String os, String arch) {
        String system = os.startsWith("Windows") ? "windows" : os.startsWith("Mac") ? "osx" : os.equals("Linux") ? "linux" : null;
        String machine = arch.equals("amd64") || arch.equals("x86_64") ? "x86_64"
            : arch.equals("aarch64") || arch.equals("arm64") ? "aarch_64" : null;
        return system == null || machine == null ? null : system + "-" + machine;
    }
}
