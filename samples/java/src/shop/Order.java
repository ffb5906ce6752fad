package shop;

/** An order: constructors that call each other, and one that throws. */
class Order extends Document {
    final Payment payment;
    final int cents;

    Order(int number) {
        this(number, 100 * number);
    }

    Order(int number, int cents) {
        this(number, cents, number % 2 == 0 ? new Payment.Card("red") : new Payment.Cash(cents + 50));
    }

    Order(int number, int cents, Payment payment) {
        super("order " + number);
        if (cents < 0) {
            throw new IllegalStateException(title + " has a negative price");
        }
        this.cents = cents;
        this.payment = payment;
    }

    int pay(Ledger ledger) {
        try {
            int fee = Fees.of(payment, cents);
            ledger.add(cents - fee);
            return fee;
        } finally {
            ledger.close(title);
        }
    }
}
