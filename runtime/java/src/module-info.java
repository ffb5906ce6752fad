/** The hook library of weave: what woven code calls. It needs nothing but java.base. */
module weave.runtime {
    exports weave.runtime;
}
