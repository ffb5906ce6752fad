//! What was wrong with a trace, for people: a bounded list.

/// Notes kept; a damaged file can give rise to any number.
const KEPT: usize = 12;

/// Remarks on what a reader had to skip or guess.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    kept: Vec<String>,
    more: u64,
    loss: bool,
}

impl Notes {
    /// Adds a remark; beyond the first few only their number is kept.
    pub fn add(&mut self, note: impl FnOnce() -> String) {
        if self.kept.len() < KEPT {
            self.kept.push(note());
        } else {
            self.more += 1;
        }
    }

    /// Adds a remark on something that is not here and should be.
    pub fn add_loss(&mut self, note: impl FnOnce() -> String) {
        self.loss = true;
        self.add(note);
    }

    /// Whether some remark is on a loss.
    pub fn loss(&self) -> bool {
        self.loss
    }

    /// The remarks; the last one says how many more there were.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.kept.clone();
        if self.more > 0 {
            lines.push(format!("and {} more remarks like these", self.more));
        }
        lines
    }
}
