//! Which of the methods that an artifact names the rules about calls may mean. It is asked once for each method that is
//! named, so a call of any other costs a look into a table.

/// Rules about calls, as far as they are about what is called: the same for all calls of a scan.
pub trait CallRules {
    /// Whether they may mean a method of this name.
    fn may_be_named(&self, name: &str) -> bool;
    /// Whether they may mean a method, by the type that a call names, its name, and its descriptor where the format has one.
    fn may_mean(&self, ty: &str, name: &str, descriptor: &str) -> bool;
}

/// The methods that an artifact names, by the numbers by which its code names them, and whether rules may mean each.
#[derive(Debug, Default)]
pub struct Callees {
    /// Empty where they mean none.
    rows: Vec<bool>,
}

impl Callees {
    /// Asks `may_mean` of each number below `count`.
    pub fn ask(count: usize, mut may_mean: impl FnMut(usize) -> bool) -> Callees {
        let mut rows = Vec::new();
        for row in 0..count {
            if may_mean(row) {
                rows.resize(count, false);
                rows[row] = true;
            }
        }
        Callees { rows }
    }

    /// Whether there is none that rules may mean.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether rules may mean this one.
    #[inline]
    pub fn has(&self, row: usize) -> bool {
        self.rows.get(row).is_some_and(|&may_mean| may_mean)
    }
}

/// Rules about calls of the methods of one name, which count what they are asked.
#[cfg(test)]
pub struct Counting {
    pub name: &'static str,
    pub names: std::cell::Cell<usize>,
    pub methods: std::cell::Cell<usize>,
}

#[cfg(test)]
impl Counting {
    pub fn of(name: &'static str) -> Counting {
        Counting {
            name,
            names: 0.into(),
            methods: 0.into(),
        }
    }
}

#[cfg(test)]
impl CallRules for Counting {
    fn may_be_named(&self, name: &str) -> bool {
        self.names.set(self.names.get() + 1);
        name == self.name
    }

    fn may_mean(&self, _: &str, name: &str, _: &str) -> bool {
        self.methods.set(self.methods.get() + 1);
        name == self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_asked_about_once() {
        let mut asked = Vec::new();
        let called = Callees::ask(4, |row| {
            asked.push(row);
            row == 2
        });
        assert_eq!(asked, [0, 1, 2, 3]);
        assert!(!called.is_empty());
        let has: Vec<bool> = (0..6).map(|row| called.has(row)).collect();
        assert_eq!(has, [false, false, true, false, false, false]);
        assert!(Callees::ask(4, |_| false).is_empty());
    }
}
