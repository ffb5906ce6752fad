//! The tables' columns (ECMA-335 II.22; Portable PDB v1.0) and coded indices (II.24.2.6), as data.

pub mod table {
    pub const MODULE: u8 = 0x00;
    pub const TYPE_REF: u8 = 0x01;
    pub const TYPE_DEF: u8 = 0x02;
    pub const FIELD_PTR: u8 = 0x03;
    pub const FIELD: u8 = 0x04;
    pub const METHOD_PTR: u8 = 0x05;
    pub const METHOD_DEF: u8 = 0x06;
    pub const PARAM_PTR: u8 = 0x07;
    pub const PARAM: u8 = 0x08;
    pub const INTERFACE_IMPL: u8 = 0x09;
    pub const MEMBER_REF: u8 = 0x0a;
    pub const CONSTANT: u8 = 0x0b;
    pub const CUSTOM_ATTRIBUTE: u8 = 0x0c;
    pub const FIELD_MARSHAL: u8 = 0x0d;
    pub const DECL_SECURITY: u8 = 0x0e;
    pub const CLASS_LAYOUT: u8 = 0x0f;
    pub const FIELD_LAYOUT: u8 = 0x10;
    pub const STAND_ALONE_SIG: u8 = 0x11;
    pub const EVENT_MAP: u8 = 0x12;
    pub const EVENT_PTR: u8 = 0x13;
    pub const EVENT: u8 = 0x14;
    pub const PROPERTY_MAP: u8 = 0x15;
    pub const PROPERTY_PTR: u8 = 0x16;
    pub const PROPERTY: u8 = 0x17;
    pub const METHOD_SEMANTICS: u8 = 0x18;
    pub const METHOD_IMPL: u8 = 0x19;
    pub const MODULE_REF: u8 = 0x1a;
    pub const TYPE_SPEC: u8 = 0x1b;
    pub const IMPL_MAP: u8 = 0x1c;
    pub const FIELD_RVA: u8 = 0x1d;
    pub const ENC_LOG: u8 = 0x1e;
    pub const ENC_MAP: u8 = 0x1f;
    pub const ASSEMBLY: u8 = 0x20;
    pub const ASSEMBLY_PROCESSOR: u8 = 0x21;
    pub const ASSEMBLY_OS: u8 = 0x22;
    pub const ASSEMBLY_REF: u8 = 0x23;
    pub const ASSEMBLY_REF_PROCESSOR: u8 = 0x24;
    pub const ASSEMBLY_REF_OS: u8 = 0x25;
    pub const FILE: u8 = 0x26;
    pub const EXPORTED_TYPE: u8 = 0x27;
    pub const MANIFEST_RESOURCE: u8 = 0x28;
    pub const NESTED_CLASS: u8 = 0x29;
    pub const GENERIC_PARAM: u8 = 0x2a;
    pub const METHOD_SPEC: u8 = 0x2b;
    pub const GENERIC_PARAM_CONSTRAINT: u8 = 0x2c;
    pub const DOCUMENT: u8 = 0x30;
    pub const METHOD_DEBUG_INFORMATION: u8 = 0x31;
    pub const LOCAL_SCOPE: u8 = 0x32;
    pub const LOCAL_VARIABLE: u8 = 0x33;
    pub const LOCAL_CONSTANT: u8 = 0x34;
    pub const IMPORT_SCOPE: u8 = 0x35;
    pub const STATE_MACHINE_METHOD: u8 = 0x36;
    pub const CUSTOM_DEBUG_INFORMATION: u8 = 0x37;
    /// One more than the highest.
    pub const COUNT: usize = 0x38;
}

/// Numbers of the columns of each table.
pub mod column {
    macro_rules! columns {
        ($($table:ident { $($(#[$attribute:meta])? $column:ident = $number:literal),+ })+) => {
            $(pub mod $table {
                $($(#[$attribute])? pub const $column: usize = $number;)+
            })+
        };
    }

    columns! {
        module { MVID = 2 }
        type_ref { RESOLUTION_SCOPE = 0, NAME = 1, NAMESPACE = 2 }
        type_def { FLAGS = 0, NAME = 1, NAMESPACE = 2, EXTENDS = 3, FIELD_LIST = 4, METHOD_LIST = 5 }
        field_ptr { FIELD = 0 }
        field { FLAGS = 0, NAME = 1, SIGNATURE = 2 }
        method_ptr { METHOD = 0 }
        method_def { RVA = 0, IMPL_FLAGS = 1, FLAGS = 2, NAME = 3, SIGNATURE = 4, PARAM_LIST = 5 }
        param { FLAGS = 0, SEQUENCE = 1, NAME = 2 }
        interface_impl { CLASS = 0, INTERFACE = 1 }
        member_ref { CLASS = 0, NAME = 1, SIGNATURE = 2 }
        constant { PARENT = 1, #[cfg(test)] VALUE = 2 }
        custom_attribute { PARENT = 0, TYPE = 1, VALUE = 2 }
        field_marshal { PARENT = 0 }
        impl_map { MEMBER_FORWARDED = 1 }
        class_layout { CLASS_SIZE = 1, PARENT = 2 }
        stand_alone_sig { SIGNATURE = 0 }
        type_spec { SIGNATURE = 0 }
        field_rva { RVA = 0, FIELD = 1 }
        assembly {
            MAJOR_VERSION = 1, MINOR_VERSION = 2, BUILD_NUMBER = 3, REVISION_NUMBER = 4, FLAGS = 5, PUBLIC_KEY = 6, NAME = 7,
            CULTURE = 8
        }
        assembly_ref {
            MAJOR_VERSION = 0, MINOR_VERSION = 1, BUILD_NUMBER = 2, REVISION_NUMBER = 3, FLAGS = 4, PUBLIC_KEY_OR_TOKEN = 5,
            NAME = 6, CULTURE = 7
        }
        file { FLAGS = 0, NAME = 1 }
        manifest_resource { OFFSET = 0, NAME = 2, IMPLEMENTATION = 3 }
        nested_class { NESTED = 0, ENCLOSING = 1 }
        generic_param { NUMBER = 0, FLAGS = 1, OWNER = 2, NAME = 3 }
        generic_param_constraint { OWNER = 0, CONSTRAINT = 1 }
        method_spec { METHOD = 0, INSTANTIATION = 1 }
        document { NAME = 0 }
        method_debug_information { DOCUMENT = 0, SEQUENCE_POINTS = 1 }
        local_scope { METHOD = 0, VARIABLE_LIST = 2, CONSTANT_LIST = 3, START_OFFSET = 4, LENGTH = 5 }
        custom_debug_information { PARENT = 0, KIND = 1, VALUE = 2 }
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    /// A two-byte constant; a one-byte constant and its padding.
    U16,
    /// A four-byte constant.
    U32,
    /// An index into `#Strings`.
    Strings,
    /// An index into `#GUID`.
    Guid,
    /// An index into `#Blob`.
    Blob,
    /// A row of one table.
    Row(u8),
    /// A row of one of several tables.
    Coded(&'static Coded),
}

/// A coded index: which tables its tags stand for; [`NONE`] where a tag is unused.
#[derive(Debug)]
pub struct Coded {
    /// Bits of the tag.
    pub bits: u32,
    /// The table of each tag.
    pub tables: &'static [u8],
}

/// No table.
pub const NONE: u8 = 0xff;

/// The coded indices.
pub mod coded {
    use super::table::*;
    use super::{Coded, NONE};

    const fn coded(bits: u32, tables: &'static [u8]) -> Coded {
        Coded { bits, tables }
    }

    pub const TYPE_DEF_OR_REF: Coded = coded(2, &[TYPE_DEF, TYPE_REF, TYPE_SPEC]);
    pub const HAS_CONSTANT: Coded = coded(2, &[FIELD, PARAM, PROPERTY]);
    pub const HAS_CUSTOM_ATTRIBUTE: Coded = coded(
        5,
        &[
            METHOD_DEF,
            FIELD,
            TYPE_REF,
            TYPE_DEF,
            PARAM,
            INTERFACE_IMPL,
            MEMBER_REF,
            MODULE,
            DECL_SECURITY,
            PROPERTY,
            EVENT,
            STAND_ALONE_SIG,
            MODULE_REF,
            TYPE_SPEC,
            ASSEMBLY,
            ASSEMBLY_REF,
            FILE,
            EXPORTED_TYPE,
            MANIFEST_RESOURCE,
            GENERIC_PARAM,
            GENERIC_PARAM_CONSTRAINT,
            METHOD_SPEC,
        ],
    );
    pub const HAS_FIELD_MARSHAL: Coded = coded(1, &[FIELD, PARAM]);
    pub const HAS_DECL_SECURITY: Coded = coded(2, &[TYPE_DEF, METHOD_DEF, ASSEMBLY]);
    pub const MEMBER_REF_PARENT: Coded =
        coded(3, &[TYPE_DEF, TYPE_REF, MODULE_REF, METHOD_DEF, TYPE_SPEC]);
    pub const HAS_SEMANTICS: Coded = coded(1, &[EVENT, PROPERTY]);
    pub const METHOD_DEF_OR_REF: Coded = coded(1, &[METHOD_DEF, MEMBER_REF]);
    pub const MEMBER_FORWARDED: Coded = coded(1, &[FIELD, METHOD_DEF]);
    pub const IMPLEMENTATION: Coded = coded(2, &[FILE, ASSEMBLY_REF, EXPORTED_TYPE]);
    pub const CUSTOM_ATTRIBUTE_TYPE: Coded = coded(3, &[NONE, NONE, METHOD_DEF, MEMBER_REF, NONE]);
    pub const RESOLUTION_SCOPE: Coded = coded(2, &[MODULE, MODULE_REF, ASSEMBLY_REF, TYPE_REF]);
    pub const TYPE_OR_METHOD_DEF: Coded = coded(1, &[TYPE_DEF, METHOD_DEF]);
    pub const HAS_CUSTOM_DEBUG_INFORMATION: Coded = coded(
        5,
        &[
            METHOD_DEF,
            FIELD,
            TYPE_REF,
            TYPE_DEF,
            PARAM,
            INTERFACE_IMPL,
            MEMBER_REF,
            MODULE,
            DECL_SECURITY,
            PROPERTY,
            EVENT,
            STAND_ALONE_SIG,
            MODULE_REF,
            TYPE_SPEC,
            ASSEMBLY,
            ASSEMBLY_REF,
            FILE,
            EXPORTED_TYPE,
            MANIFEST_RESOURCE,
            GENERIC_PARAM,
            GENERIC_PARAM_CONSTRAINT,
            METHOD_SPEC,
            DOCUMENT,
            LOCAL_SCOPE,
            LOCAL_VARIABLE,
            LOCAL_CONSTANT,
            IMPORT_SCOPE,
        ],
    );
}

/// The columns of a table; none for a number that stands for no table.
pub fn columns(table: u8) -> &'static [Column] {
    use Column::*;
    match table {
        table::MODULE => &[U16, Strings, Guid, Guid, Guid],
        table::TYPE_REF => &[Coded(&coded::RESOLUTION_SCOPE), Strings, Strings],
        table::TYPE_DEF => &[
            U32,
            Strings,
            Strings,
            Coded(&coded::TYPE_DEF_OR_REF),
            Row(table::FIELD),
            Row(table::METHOD_DEF),
        ],
        table::FIELD_PTR => &[Row(table::FIELD)],
        table::FIELD => &[U16, Strings, Blob],
        table::METHOD_PTR => &[Row(table::METHOD_DEF)],
        table::METHOD_DEF => &[U32, U16, U16, Strings, Blob, Row(table::PARAM)],
        table::PARAM_PTR => &[Row(table::PARAM)],
        table::PARAM => &[U16, U16, Strings],
        table::INTERFACE_IMPL => &[Row(table::TYPE_DEF), Coded(&coded::TYPE_DEF_OR_REF)],
        table::MEMBER_REF => &[Coded(&coded::MEMBER_REF_PARENT), Strings, Blob],
        table::CONSTANT => &[U16, Coded(&coded::HAS_CONSTANT), Blob],
        table::CUSTOM_ATTRIBUTE => &[
            Coded(&coded::HAS_CUSTOM_ATTRIBUTE),
            Coded(&coded::CUSTOM_ATTRIBUTE_TYPE),
            Blob,
        ],
        table::FIELD_MARSHAL => &[Coded(&coded::HAS_FIELD_MARSHAL), Blob],
        table::DECL_SECURITY => &[U16, Coded(&coded::HAS_DECL_SECURITY), Blob],
        table::CLASS_LAYOUT => &[U16, U32, Row(table::TYPE_DEF)],
        table::FIELD_LAYOUT => &[U32, Row(table::FIELD)],
        table::STAND_ALONE_SIG => &[Blob],
        table::EVENT_MAP => &[Row(table::TYPE_DEF), Row(table::EVENT)],
        table::EVENT_PTR => &[Row(table::EVENT)],
        table::EVENT => &[U16, Strings, Coded(&coded::TYPE_DEF_OR_REF)],
        table::PROPERTY_MAP => &[Row(table::TYPE_DEF), Row(table::PROPERTY)],
        table::PROPERTY_PTR => &[Row(table::PROPERTY)],
        table::PROPERTY => &[U16, Strings, Blob],
        table::METHOD_SEMANTICS => &[U16, Row(table::METHOD_DEF), Coded(&coded::HAS_SEMANTICS)],
        table::METHOD_IMPL => &[
            Row(table::TYPE_DEF),
            Coded(&coded::METHOD_DEF_OR_REF),
            Coded(&coded::METHOD_DEF_OR_REF),
        ],
        table::MODULE_REF => &[Strings],
        table::TYPE_SPEC => &[Blob],
        table::IMPL_MAP => &[
            U16,
            Coded(&coded::MEMBER_FORWARDED),
            Strings,
            Row(table::MODULE_REF),
        ],
        table::FIELD_RVA => &[U32, Row(table::FIELD)],
        table::ENC_LOG => &[U32, U32],
        table::ENC_MAP => &[U32],
        table::ASSEMBLY => &[U32, U16, U16, U16, U16, U32, Blob, Strings, Strings],
        table::ASSEMBLY_PROCESSOR => &[U32],
        table::ASSEMBLY_OS => &[U32, U32, U32],
        table::ASSEMBLY_REF => &[U16, U16, U16, U16, U32, Blob, Strings, Strings, Blob],
        table::ASSEMBLY_REF_PROCESSOR => &[U32, Row(table::ASSEMBLY_REF)],
        table::ASSEMBLY_REF_OS => &[U32, U32, U32, Row(table::ASSEMBLY_REF)],
        table::FILE => &[U32, Strings, Blob],
        table::EXPORTED_TYPE => &[U32, U32, Strings, Strings, Coded(&coded::IMPLEMENTATION)],
        table::MANIFEST_RESOURCE => &[U32, U32, Strings, Coded(&coded::IMPLEMENTATION)],
        table::NESTED_CLASS => &[Row(table::TYPE_DEF), Row(table::TYPE_DEF)],
        table::GENERIC_PARAM => &[U16, U16, Coded(&coded::TYPE_OR_METHOD_DEF), Strings],
        table::METHOD_SPEC => &[Coded(&coded::METHOD_DEF_OR_REF), Blob],
        table::GENERIC_PARAM_CONSTRAINT => {
            &[Row(table::GENERIC_PARAM), Coded(&coded::TYPE_DEF_OR_REF)]
        }
        table::DOCUMENT => &[Blob, Guid, Blob, Guid],
        table::METHOD_DEBUG_INFORMATION => &[Row(table::DOCUMENT), Blob],
        table::LOCAL_SCOPE => &[
            Row(table::METHOD_DEF),
            Row(table::IMPORT_SCOPE),
            Row(table::LOCAL_VARIABLE),
            Row(table::LOCAL_CONSTANT),
            U32,
            U32,
        ],
        table::LOCAL_VARIABLE => &[U16, U16, Strings],
        table::LOCAL_CONSTANT => &[Strings, Blob],
        table::IMPORT_SCOPE => &[Row(table::IMPORT_SCOPE), Blob],
        table::STATE_MACHINE_METHOD => &[Row(table::METHOD_DEF), Row(table::METHOD_DEF)],
        table::CUSTOM_DEBUG_INFORMATION => {
            &[Coded(&coded::HAS_CUSTOM_DEBUG_INFORMATION), Guid, Blob]
        }
        _ => &[],
    }
}
