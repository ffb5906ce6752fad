package shop;

/** How an order is paid. */
public sealed interface Payment {
    record Card(String network) implements Payment {}

    record Cash(int given) implements Payment {}

    record Voucher(String code) implements Payment {}
}
