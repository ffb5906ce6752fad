package android.os;

/** Android's, as far as it is asked: the properties are those of the JVM with "device." in front. */
public final class SystemProperties {
    private SystemProperties() {}

    public static String get(String key) {
        return System.getProperty("device." + key, "");
    }
}
