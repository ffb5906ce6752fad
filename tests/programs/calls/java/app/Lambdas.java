package app;

import java.io.Serializable;
import java.util.Collections;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.function.Supplier;

public class Lambdas {
    public static void main(String[] args) {
        Supplier<String> lambda = () -> "lambda".concat("!");
        System.out.println(lambda.get());
        Function<String, Integer> reference = String::length;
        System.out.println("reference " + reference.apply("four"));
        String text = " bound ";
        Supplier<String> bound = text::trim;
        System.out.println(bound.get());
        BinaryOperator<Integer> fixed = Math::max;
        System.out.println("max " + fixed.apply(1, 2));
        BiFunction<Map<String, String>, String, String> get = Map::get;
        System.out.println(get.apply(Collections.singletonMap("key", "value"), "key"));
        // What is written to a stream names the method.
        Supplier<String> written = (Supplier<String> & Serializable) text::trim;
        System.out.println(written.get());
        Supplier<String> own = Lambdas::own;
        System.out.println(own.get() + text.trim());
    }

    private static String own() {
        return "own";
    }
}
