package shop;

public class Main {
    public static void main(String[] args) {
        System.out.println("ordered " + new Stock(12).twice());
    }
}
