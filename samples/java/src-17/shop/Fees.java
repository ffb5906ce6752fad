package shop;

/** What a payment costs the shop, in cents, for compilers before Java 21: the same calls without the switch. */
final class Fees {
    private Fees() {}

    static int of(Payment payment, int cents) {
        if (payment instanceof Payment.Card card) {
            return card.network().equals("black") ? cents * 3 / 100 : cents / 100;
        }
        if (payment instanceof Payment.Cash cash) {
            return cash.given() < cents ? refuse(cash) : 0;
        }
        return refuse(payment);
    }

    private static int refuse(Payment payment) {
        throw new IllegalArgumentException("cannot pay with " + payment);
    }
}
