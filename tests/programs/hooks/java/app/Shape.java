package app;

public interface Shape<T> {
    int area(T of);
}
