//! Builds dex files with tables as long as a test needs them.

/// A dex file with one class, `LT;`, and one method in it, `static void m()`.
pub struct DexFile {
    /// Strings beyond those that the class needs; they sort behind them.
    pub strings: usize,
    /// Methods beyond the one of the class: names among the strings.
    pub methods: usize,
    /// The method's code, for which there is one register.
    pub code: Vec<u16>,
}

/// Strings that the class needs, sorted.
const STRINGS: [&str; 4] = ["LT;", "Ljava/lang/Object;", "V", "m"];

impl DexFile {
    /// The index of the last string.
    pub fn last_string(&self) -> u32 {
        (STRINGS.len() + self.strings - 1) as u32
    }

    /// The file. Its checksums are left zero: the weaver does not read them.
    pub fn bytes(&self) -> Vec<u8> {
        let texts: Vec<String> = STRINGS
            .iter()
            .map(|s| (*s).to_owned())
            .chain((0..self.strings).map(|i| format!("s{i:06}")))
            .collect();
        let put = |out: &mut Vec<u8>, value: usize| {
            out.extend_from_slice(&(value as u32).to_le_bytes());
        };
        let (strings, methods) = (texts.len(), self.methods + 1);
        let types_at = 0x70 + 4 * strings;
        let protos_at = types_at + 4 * 3;
        let methods_at = protos_at + 12;
        let classes_at = methods_at + 8 * methods;
        let code_at = classes_at + 32;
        let class_data_at = code_at + 16 + 2 * self.code.len();
        let text_at = class_data_at + 8 + 2;

        let mut data = vec![0, 0, 1, 0, 0, 0x08];
        let mut code = code_at;
        while code >= 0x80 {
            data.push(code as u8 | 0x80);
            code >>= 7;
        }
        data.push(code as u8);
        data.resize(text_at - class_data_at, 0);

        let mut text = Vec::new();
        let mut ids = Vec::new();
        for s in &texts {
            put(&mut ids, text_at + text.len());
            text.push(s.len() as u8);
            text.extend_from_slice(s.as_bytes());
            text.push(0);
        }
        let map_at = (text_at + text.len()).next_multiple_of(4);
        let sections = [
            (0, 1, 0),
            (1, strings, 0x70),
            (2, 3, types_at),
            (3, 1, protos_at),
            (5, methods, methods_at),
            (6, 1, classes_at),
            (0x2001, 1, code_at),
            (0x2000, 1, class_data_at),
            (0x2002, strings, text_at),
            (0x1000, 1, map_at),
        ];

        let mut out = b"dex\n035\0".to_vec();
        out.resize(32, 0);
        put(&mut out, map_at + 4 + 12 * sections.len());
        for value in [
            0x70,
            0x1234_5678,
            0,
            0,
            map_at,
            strings,
            0x70,
            3,
            types_at,
            1,
            protos_at,
        ] {
            put(&mut out, value);
        }
        for value in [0, 0, methods, methods_at, 1, classes_at] {
            put(&mut out, value);
        }
        put(&mut out, map_at + 4 + 12 * sections.len() - code_at);
        put(&mut out, code_at);
        out.extend_from_slice(&ids);
        [0, 1, 2].iter().for_each(|&name| put(&mut out, name));
        [2, 2, 0].iter().for_each(|&value| put(&mut out, value));
        for i in 0..methods {
            put(&mut out, 0);
            put(&mut out, 3 + i);
        }
        let none = u32::MAX as usize;
        for value in [0, 1, 1, 0, none, 0, class_data_at, 0] {
            put(&mut out, value);
        }
        out.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        put(&mut out, self.code.len());
        self.code
            .iter()
            .for_each(|unit| out.extend_from_slice(&unit.to_le_bytes()));
        out.extend_from_slice(&data);
        out.extend_from_slice(&text);
        out.resize(map_at, 0);
        put(&mut out, sections.len());
        for (kind, count, offset) in sections {
            put(&mut out, kind);
            put(&mut out, count);
            put(&mut out, offset);
        }
        out
    }
}
