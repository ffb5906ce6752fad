package shop;

/** What a payment costs the shop, in cents: a switch on a sealed type (Java 21). */
final class Fees {
    private Fees() {}

    static int of(Payment payment, int cents) {
        return switch (payment) {
            case Payment.Card(String network) when network.equals("black") -> cents * 3 / 100;
            case Payment.Card card -> cents / 100;
            case Payment.Cash cash -> cash.given() < cents ? refuse(cash) : 0;
            case Payment.Voucher voucher -> refuse(voucher);
        };
    }

    private static int refuse(Payment payment) {
        throw new IllegalArgumentException("cannot pay with " + payment);
    }
}
