/** The hook library of weave: what woven code calls. It needs nothing but java.base, and java.sql where rules ask statements. */
module weave.runtime {
    requires static java.sql;

    exports weave.runtime;
}
