//! Writes small class files byte by byte, for inputs that no compiler would make.
#![allow(dead_code)]

/// A class file under construction.
pub struct ClassFile {
    version: u16,
    pool: Vec<u8>,
    count: u16,
    this: (u8, u8),
    superclass: (u8, u8),
    methods: Vec<u8>,
    method_count: u16,
}

/// A method's code.
pub struct Code {
    max_stack: u16,
    max_locals: u16,
    insns: Vec<u8>,
    /// start, end, handler, type
    pub exceptions: Vec<(u16, u16, u16, u16)>,
    /// The contents of a StackMapTable.
    pub stack_map: Option<Vec<u8>>,
}

impl Code {
    pub fn new(max_stack: u16, max_locals: u16, insns: Vec<u8>) -> Code {
        Code {
            max_stack,
            max_locals,
            insns,
            exceptions: vec![],
            stack_map: None,
        }
    }
}

impl ClassFile {
    pub fn new(name: &str, superclass: &str, version: u16) -> ClassFile {
        let mut c = ClassFile {
            version,
            pool: vec![],
            count: 1,
            this: (0, 0),
            superclass: (0, 0),
            methods: vec![],
            method_count: 0,
        };
        c.this = c.class(name);
        c.superclass = c.class(superclass);
        c
    }

    fn add(&mut self, tag: u8, data: &[u8]) -> (u8, u8) {
        self.pool.push(tag);
        self.pool.extend_from_slice(data);
        self.count += 1;
        let [hi, lo] = (self.count - 1).to_be_bytes();
        (hi, lo)
    }

    pub fn utf8(&mut self, text: &str) -> (u8, u8) {
        let mut data = (text.len() as u16).to_be_bytes().to_vec();
        data.extend_from_slice(text.as_bytes());
        self.add(1, &data)
    }

    pub fn class(&mut self, name: &str) -> (u8, u8) {
        let (h, l) = self.utf8(name);
        self.add(7, &[h, l])
    }

    pub fn string(&mut self, text: &str) -> (u8, u8) {
        let (h, l) = self.utf8(text);
        self.add(8, &[h, l])
    }

    pub fn method_ref(&mut self, owner: &str, name: &str, descriptor: &str) -> (u8, u8) {
        self.member(10, owner, name, descriptor)
    }

    pub fn interface_method_ref(&mut self, owner: &str, name: &str, descriptor: &str) -> (u8, u8) {
        self.member(11, owner, name, descriptor)
    }

    fn member(&mut self, tag: u8, owner: &str, name: &str, descriptor: &str) -> (u8, u8) {
        let owner = self.class(owner);
        let name = self.utf8(name);
        let descriptor = self.utf8(descriptor);
        let pair = self.add(12, &[name.0, name.1, descriptor.0, descriptor.1]);
        self.add(tag, &[owner.0, owner.1, pair.0, pair.1])
    }

    /// Fills the pool up to a count.
    pub fn fill_pool(&mut self, count: u16) {
        while self.count < count {
            self.add(3, &[0; 4]);
        }
    }

    pub fn method(&mut self, access: u16, name: &str, descriptor: &str, code: Code) {
        let name = self.utf8(name);
        let descriptor = self.utf8(descriptor);
        let code_name = self.utf8("Code");
        let map_name = code.stack_map.as_ref().map(|_| self.utf8("StackMapTable"));
        let mut body = vec![];
        body.extend_from_slice(&code.max_stack.to_be_bytes());
        body.extend_from_slice(&code.max_locals.to_be_bytes());
        body.extend_from_slice(&(code.insns.len() as u32).to_be_bytes());
        body.extend_from_slice(&code.insns);
        body.extend_from_slice(&(code.exceptions.len() as u16).to_be_bytes());
        for (start, end, handler, ty) in code.exceptions {
            for field in [start, end, handler, ty] {
                body.extend_from_slice(&field.to_be_bytes());
            }
        }
        match (map_name, code.stack_map) {
            (Some((h, l)), Some(map)) => {
                body.extend_from_slice(&[0, 1, h, l]);
                body.extend_from_slice(&(map.len() as u32).to_be_bytes());
                body.extend_from_slice(&map);
            }
            _ => body.extend_from_slice(&[0, 0]),
        }
        let m = &mut self.methods;
        m.extend_from_slice(&access.to_be_bytes());
        m.extend_from_slice(&[
            name.0,
            name.1,
            descriptor.0,
            descriptor.1,
            0,
            1,
            code_name.0,
            code_name.1,
        ]);
        m.extend_from_slice(&(body.len() as u32).to_be_bytes());
        m.extend_from_slice(&body);
        self.method_count += 1;
    }

    pub fn finish(self) -> Vec<u8> {
        let mut out = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0];
        out.extend_from_slice(&self.version.to_be_bytes());
        out.extend_from_slice(&self.count.to_be_bytes());
        out.extend_from_slice(&self.pool);
        // public, super; no interfaces, no fields
        out.extend_from_slice(&[
            0,
            0x21,
            self.this.0,
            self.this.1,
            self.superclass.0,
            self.superclass.1,
            0,
            0,
            0,
            0,
        ]);
        out.extend_from_slice(&self.method_count.to_be_bytes());
        out.extend_from_slice(&self.methods);
        out.extend_from_slice(&[0, 0]);
        out
    }
}
