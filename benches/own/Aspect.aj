package bench;

/** The same hooks by AspectJ. */
public aspect Aspect {
    before(int n, String text): execution(int bench.AspectJ.work(int, String)) && args(n, text) {
        Log.begin(n, text);
    }

    after() returning(int result): execution(int bench.AspectJ.work(int, String)) {
        Log.end(result);
    }

    int around(): execution(int bench.AspectJAround.work(int, String)) {
        return proceed();
    }
}
