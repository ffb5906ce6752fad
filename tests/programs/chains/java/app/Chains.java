package app;

import java.net.URI;

/** Objects whose members chains ask for. */
public class Chains {
    public interface Named {
        String name();
    }

    public static class Place {
        private final int number;

        Place(int number) {
            this.number = number;
        }

        public int x() {
            return number;
        }
    }

    public static class Base {
        public Place place() {
            return new Place(-1);
        }

        public long id() {
            return 1L << 40;
        }
    }

    public static class Person extends Base implements Named {
        private final String name;
        private final Person boss;
        private final URI home;

        public Person(String name, Person boss, String home) {
            this.name = name;
            this.boss = boss;
            this.home = home == null ? null : URI.create(home);
        }

        public String name() {
            return name;
        }

        public Person boss() {
            return boss;
        }

        public URI home() {
            return home;
        }

        public int age() {
            return name.length();
        }

        public double ratio() {
            return 0.5;
        }

        public boolean isBoss() {
            return boss == null;
        }

        public char letter() {
            return name.charAt(0);
        }

        @Override
        public Place place() {
            return new Place(name.length());
        }

        public String[] tags() {
            return new String[] {name, "x"};
        }

        public String fails() {
            throw new IllegalStateException("no " + name);
        }

        /** It is woven and has a chain itself: while a chain of the thread runs, no other does. */
        public String deep() {
            return visit(this, 0);
        }
    }

    static String visit(Person person, int n) {
        String said = person.name() + n;
        person = null;
        return said;
    }

    static Person make(Named named, boolean fail) {
        if (fail) {
            throw new IllegalArgumentException("not " + (named == null ? "one" : named.name()));
        }
        return named == null ? null : new Person(named.name() + "!", null, null);
    }

    public static void main(String[] args) {
        Person boss = new Person("Ann", null, "https://a.example/ann?q=1");
        Person person = new Person("Bo", boss, null);
        System.out.println(visit(boss, 1));
        System.out.println(visit(person, 2));
        System.out.println(make(person, false).name());
        System.out.println(make(null, false));
        for (Named named : new Named[] {boss, null}) {
            try {
                make(named, true);
            } catch (IllegalArgumentException e) {
                System.out.println(e.getMessage());
            }
        }
    }
}
