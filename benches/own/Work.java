package bench;

/** What gets hooks: as small as what hooks are paid for. Each way of hooking has a copy of this class. */
public class Work {
    private int last;

    public int work(int n, String text) {
        last = n ^ last;
        return last + text.length();
    }
}
