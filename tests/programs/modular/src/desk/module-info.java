/** A program on the module path, with libraries that are modules. */
module desk {
    requires com.fasterxml.jackson.databind;
    requires info.picocli;

    opens desk to info.picocli, com.fasterxml.jackson.databind;
}
