package app;

import java.util.function.Function;
import java.util.function.Supplier;

public class Lambdas {
    public static void main(String[] args) {
        Supplier<String> lambda = () -> "lambda".concat("!");
        System.out.println(lambda.get());
        Function<String, Integer> reference = String::length;
        System.out.println("reference " + reference.apply("four"));
    }
}
