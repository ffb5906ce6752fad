package notes;

/** Writes and reads notes on two threads. Runs without Android, too. */
public final class Desk {
    private Desk() {}

    public static void main(String[] arguments) {
        System.out.print(work());
    }

    /** What there is to see, always the same. */
    static String work() {
        final Notebook notebook = new Notebook("desk");
        Thread[] writers = new Thread[2];
        for (int i = 0; i < writers.length; i++) {
            final int number = i;
            writers[i] = new Thread("writer-" + i) {
                @Override
                public void run() {
                    write(notebook, number);
                }
            };
            writers[i].start();
        }
        for (Thread writer : writers) {
            try {
                writer.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        StringBuilder out = new StringBuilder();
        out.append(notebook.size()).append(" notes, weight ").append(notebook.weight()).append('\n');
        for (int kind = 0; kind < 4; kind++) {
            out.append(Note.kindName(kind)).append('\n');
        }
        try {
            notebook.add(new Note(-1, "none"));
        } catch (IllegalArgumentException e) {
            out.append(e.getMessage()).append('\n');
        }
        out.append(notebook.find(3)).append('\n');
        out.append(average(notebook, 1, 2.5, 40L)).append('\n');
        return out.toString();
    }

    private static void write(Notebook notebook, int number) {
        for (int i = 0; i < 10; i++) {
            notebook.add(new Note(2 * i + number, "n"));
        }
    }

    /** Wide parameters among narrow ones, and a loop whose head is the first instruction. */
    private static double average(Notebook notebook, int least, double weight, long rounds) {
        while (rounds-- > least) {
            weight += notebook.weight() / (double) rounds;
        }
        return Math.rint(weight);
    }
}
