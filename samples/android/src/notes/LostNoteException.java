package notes;

/** It was here a moment ago. */
class LostNoteException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    LostNoteException(String message) {
        super(message);
    }
}
