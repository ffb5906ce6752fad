package notes;

import java.util.Map;
import java.util.TreeMap;

/** Notes by number, for several threads. */
final class Notebook {
    private final Map<Integer, Note> notes = new TreeMap<Integer, Note>();
    private final String owner;

    Notebook(String owner) {
        this.owner = owner;
    }

    synchronized void add(Note note) {
        notes.put(note.number, note);
    }

    int size() {
        synchronized (notes) {
            return notes.size();
        }
    }

    long weight() {
        long sum = 0;
        synchronized (this) {
            for (Note note : notes.values()) {
                sum += note.weight();
            }
        }
        return sum;
    }

    /** The first note from a number on that does not get lost. */
    String find(int number) {
        for (int i = number;; i++) {
            try {
                return owner + ": " + get(i);
            } catch (LostNoteException e) {
                if (i > number + 4) {
                    throw e;
                }
            }
        }
    }

    private Note get(int number) {
        try {
            if (number % 5 != 0) {
                throw new LostNoteException("note " + number + " is lost");
            }
            return notes.get(number);
        } finally {
            count();
        }
    }

    private void count() {
        gets++;
    }

    private int gets;
}
