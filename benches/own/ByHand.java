package bench;

public class ByHand {
    private int last;

    public int work(int n, String text) {
        Log.begin(n, text);
        last = n ^ last;
        int result = last + text.length();
        Log.end(result);
        return result;
    }
}
