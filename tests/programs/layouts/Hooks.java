package th;

/** Hooks that take the program's own type. */
public final class Hooks {
    public static void twice(shop.Stock stock) {
        System.out.println("seen " + stock.count);
    }
}
