package java.lang.foreign;

public interface Arena {
    static Arena global() {
        return null;
    }
}
