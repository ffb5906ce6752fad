package shop;

public class Stock {
    public final int count;

    public Stock(int count) {
        this.count = count;
    }

    public int count() {
        return count;
    }

    public int twice() {
        return 2 * count;
    }
}
