package acme;

public class Log {
    public static String begin(String name, long id, int age) {
        System.out.println("begin " + name + " " + id + " " + age);
        return name;
    }

    public static void end(String state, int length, String name) {
        System.out.println("end " + state + " " + length + " " + name);
    }

    public static void failed(String message) {
        System.out.println("failed " + message);
    }
}
