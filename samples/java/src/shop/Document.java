package shop;

/** Something with a title. */
abstract class Document {
    final String title;

    Document(String title) {
        this.title = title.strip();
    }
}
