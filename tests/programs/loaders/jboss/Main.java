package acme.app;

public class Main {
    public static void main(String[] args) {
        System.out.println("sum " + sum(9));
    }

    static int sum(int n) {
        return n == 0 ? 0 : n + sum(n - 1);
    }
}
