package app;

/** What values are made of. */
public class Language {
    static class Inner {
        final String name;

        Inner(String name) {
            this.name = name;
        }

        int twice() {
            return 2 * name.length();
        }
    }

    public static class Request {
        public final int number;
        final Inner inner;
        String hidden;
        private final String path;
        private final Request peer;

        public Request(int number, String path, Request peer) {
            this.number = number;
            this.path = path;
            this.peer = peer;
            inner = path == null ? null : new Inner(path);
            hidden = "hidden" + number;
        }

        public String path() {
            return path;
        }

        public Request peer() {
            return peer;
        }

        public String[] tags() {
            return path == null ? null : new String[number];
        }

        public Request self() {
            return this;
        }

        public int port() {
            return 8000 + number;
        }

        public String header(String name) {
            if (name.equals("x")) {
                return null;
            }
            return name.equals("none") ? null : name + number;
        }

        public String part(int n) {
            return path == null ? null : path.substring(n);
        }

        public String part(long n, boolean first, double ratio, String text) {
            return n + " " + first + " " + (int) (2 * ratio) + " " + (text == null);
        }

        public Object attribute(Object name, Object value) {
            return name + "=" + value;
        }

        String near() {
            return "near" + number;
        }

        @Override
        public String toString() {
            return "request " + number;
        }
    }

    public static class Special extends Request {
        public Special(int number, String path, Request peer) {
            super(number, path, peer);
        }

        public String extra() {
            return "extra" + number;
        }
    }

    public static class Response {
        private int status = 0;

        public int status() {
            return status;
        }

        public String text() {
            return "status " + status;
        }
    }

    static String serve(Request request, Response response, boolean fail) {
        response.status = fail ? 500 : 200;
        request.hidden = "gone";
        if (fail) {
            throw new IllegalStateException("failed");
        }
        return request.path() == null ? null : request.path() + request.path();
    }

    static <T> T pass(T item) {
        return item;
    }

    public static void main(String[] args) {
        Request request = new Request(1, "/a", null);
        System.out.println(serve(request, new Response(), false));
        try {
            serve(new Special(2, "/bc", request), new Response(), true);
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(serve(new Request(3, null, request), new Response(), false));
        System.out.println(serve(new Special(4, "/d", null), new Response(), false));
        System.out.println(pass("text") + pass(request) + pass(5) + pass(null));
    }
}
