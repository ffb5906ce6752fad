//! What the integration tests, benchmarks and fuzz targets use of the inside. Cargo compiles those as crates of their own;
//! everything else is private, so that the compiler finds dead code.

pub mod aspect {
    pub mod advice {
        pub use crate::aspect::advice::{Advice, Reason};
    }
    pub mod bind {
        pub mod call {
            pub use crate::aspect::bind::call::{
                Adapter, Around, Bound, Call, Convert, Dest, Hook, Keep, Operand, Proceed, Role,
                Source,
            };
        }
        pub mod functional {
            pub use crate::aspect::bind::functional::Function;
        }
        pub mod reach {
            pub use crate::aspect::bind::reach::{LibraryType, Reach};
        }
        pub mod ty {
            pub use crate::aspect::bind::ty::{Named, Parameter, Prim, Signature, Ty};
        }
    }
    pub mod joinpoint {
        pub use crate::aspect::joinpoint::{Kinds, Method, Type, Visitor};
    }
    pub mod plan {
        pub use crate::aspect::plan::{Plan, Planned, id_base};
    }
    pub mod pointcut {
        pub use crate::aspect::pointcut::Matcher;
    }
    pub mod rules {
        pub use crate::aspect::rules::Rules;
    }
}

pub mod cil {
    pub use crate::cil::{Assembly, Image, library_types, scan, weave};
    pub mod pdb {
        pub use crate::cil::pdb::{Pdb, Source};
    }
}

pub mod container {
    pub mod apk {
        pub use crate::container::apk::{has_signing_block, is_signature_file};
    }
    pub mod folder {
        pub use crate::container::folder::list;
    }
    pub mod input {
        pub use crate::container::input::Input;
    }
    pub mod jar {
        pub use crate::container::jar::{Manifest, is_signature_file};
    }
    pub mod stage {
        pub use crate::container::stage::Staged;
    }
    pub mod zip {
        pub use crate::container::zip::{Archive, Codec, DEFLATE_LEVEL, Method, Packed, Splicer};
    }
}

pub mod dex {
    pub use crate::dex::{
        Dex, Run, Scratch, Woven, first_numbers, one_by_one, scan, verify, weave,
    };
}

pub mod error {
    pub use crate::error::{Error, Kind, Result};
}

pub mod jvm {
    pub use crate::jvm::{Class, NEWEST_MAJOR, Scratch, adapter, library_type, scan, weave};
    pub mod serial {
        pub use crate::jvm::serial::declared;
    }
    pub mod module_info {
        pub use crate::jvm::module_info::{add_package, add_requires};
    }
}

pub mod pipeline {
    pub use crate::pipeline::{Job, Outcome, run};
}

pub mod symbols {
    pub use crate::symbols::{MAGIC, Symbols, VERSION, pack};
}

pub mod trace {
    pub use crate::trace::{Analysis, Analyzer, Options, Trace, flame};
    pub mod export {
        pub use crate::trace::export::{Format, Selection, Weight, processes, walk};
        pub mod otlp {
            pub use crate::trace::export::otlp::{Kind, Options, session};
        }
    }
    pub mod diff {
        pub use crate::trace::diff::{Judgement, Runs, compare};
    }
    pub mod page {
        pub use crate::trace::page::{Calls, write};
    }
    pub mod query {
        pub use crate::trace::query::Query;
    }
    pub mod values {
        pub use crate::trace::values::{json, shown};
    }
    pub mod format {
        pub use crate::trace::format::{CHUNK, MAGIC, VERSION};
    }
}
