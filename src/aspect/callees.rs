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
