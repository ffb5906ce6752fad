package com.acme;

import java.io.File;
import java.io.IOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.nio.file.Files;

/** What the recipes of docs/cookbook.md are about: a class for each, in the order of the page. */
public final class Recipes {
    static void say(String text) {
        System.out.println(text);
    }

    public static void main(String[] args) throws Exception {
        say("== retry");
        say(new Client().send("hello"));
        say("== cache");
        Prices prices = new Prices();
        say(prices.of("tea") + " " + prices.of("tea"));
        say("== deletions");
        File folder = Files.createTempDirectory("cookbook").toFile();
        File file = new File(folder, "cookbook.tmp");
        say("" + (file.createNewFile() && Disk.remove(file) && !file.exists()));
        Files.delete(folder.toPath());
        say("== clock");
        say("" + Ages.of(1_000L));
        say("== who sets it");
        Order order = new Order("new");
        order.pay();
        say(order.state);
        say("== slow");
        new Report().print();
        say("== no nulls");
        new Mailer().mail("a@b", "hello");
        try {
            new Mailer().mail("a@b", null);
        } catch (IllegalArgumentException e) {
            say(e.getMessage());
        }
        say("== fallback");
        say("" + new Rates().today());
        say("== translate");
        try {
            new Store().read(4);
        } catch (IllegalStateException e) {
            say(e.getMessage() + ", " + e.getCause().getMessage());
        }
        say("== swallowed");
        say("" + Import.number("12") + " " + Import.number("twelve"));
        say("== log");
        say("" + new Sums().of(1, 2));
        try {
            new Sums().divide(1);
        } catch (UnsupportedOperationException e) {
            say(e.getMessage());
        }
        say("== permission");
        try {
            new Admin().drop();
        } catch (RuntimeException e) {
            say(e.getMessage());
        }
        say("== transactions");
        Ledger ledger = new Ledger();
        ledger.book(5);
        try {
            ledger.book(-1);
        } catch (UnsupportedOperationException e) {
            say(e.getMessage());
        }
        say("== clean");
        say(new Search().find("  tea "));
        say("== hide");
        say(new Card("4711123456781234").show());
        say("== flag");
        new Newsletter().send();
        say("== limit");
        Printer printer = new Printer();
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(printer);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        say(printer.printed + " printed, two at a time: " + (printer.most <= 2));
        say("== background");
        Index index = new Index();
        index.update("tea");
        for (int i = 0; index.by == null && i < 60_000; i++) {
            Thread.sleep(1);
        }
        say(index.by);
        say("== makers");
        say(new Door().open().user);
        say("== changes");
        Settings settings = new Settings();
        settings.theme = "dark";
        say("== locks");
        say("" + new Stock().take());
        say("== no exit");
        Shell.quit();
        say("end");
    }
}

class Client {
    private int tries;

    String send(String text) {
        if (++tries < 3) {
            throw new IllegalStateException("no answer");
        }
        return text + " at try " + tries;
    }
}

class Prices {
    private int asked;

    String of(String what) {
        return what + " costs " + ++asked;
    }
}

class Disk {
    static boolean remove(File file) {
        return file.delete();
    }
}

class Ages {
    static long of(long since) {
        return (System.currentTimeMillis() - since) / 1_000;
    }
}

class Order {
    String state;

    Order(String state) {
        this.state = state;
    }

    void pay() {
        state = "paid";
    }
}

class Report {
    void print() throws InterruptedException {
        Thread.sleep(40);
    }
}

class Mailer {
    public void mail(String to, String text) {
        Recipes.say("mail to " + to + ": " + text);
    }
}

class Rates {
    double today() {
        throw new IllegalStateException("no rates");
    }
}

class Store {
    public String read(int key) throws IOException {
        throw new IOException("no " + key);
    }
}

class Import {
    static int number(String text) {
        try {
            if (text.length() > 2) {
                throw new UnsupportedOperationException(text);
            }
            return Integer.parseInt(text);
        } catch (UnsupportedOperationException e) {
            return -1;
        }
    }
}

class Sums {
    int of(int a, int b) {
        return a + b;
    }

    int divide(int a) {
        throw new UnsupportedOperationException("no division of " + a);
    }
}

@Retention(RetentionPolicy.CLASS)
@Target(ElementType.METHOD)
@interface AdminOnly {}

class Admin {
    @AdminOnly
    void drop() {
        Recipes.say("dropped");
    }
}

class Ledger {
    public void book(int amount) {
        if (amount < 0) {
            throw new UnsupportedOperationException("no " + amount);
        }
        Recipes.say("booked " + amount);
    }
}

class Search {
    String find(String text) {
        return "found '" + text + "'";
    }
}

class Card {
    private final String number;

    Card(String number) {
        this.number = number;
    }

    String show() {
        return number;
    }
}

class Newsletter {
    void send() {
        Recipes.say("sent");
    }
}

class Printer implements Runnable {
    private int now;
    int most;
    int printed;

    void print() throws InterruptedException {
        enter(1);
        // Long enough for others to come in, if nobody keeps them out.
        Thread.sleep(20);
        enter(-1);
    }

    private synchronized void enter(int more) {
        now += more;
        printed += more > 0 ? 1 : 0;
        most = Math.max(most, now);
    }

    @Override
    public void run() {
        try {
            print();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}

class Index {
    volatile String by;

    void update(String word) {
        by = word + " by " + Thread.currentThread().getName();
    }
}

class Session {
    final String user;

    Session(String user) {
        this.user = user;
    }
}

class Door {
    Session open() {
        return new Session("guest");
    }
}

class Settings {
    String theme = "light";
}

class Stock {
    private final Object gate = new Object();
    private int left = 7;

    int take() {
        synchronized (gate) {
            return --left;
        }
    }
}

class Shell {
    static void quit() {
        System.exit(3);
    }
}
