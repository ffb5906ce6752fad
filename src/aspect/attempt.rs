//! The outcome of an attempt to weave a method.

use crate::aspect::advice::Reason;
use crate::error::{Error, Result};

/// Something, or why there is nothing.
pub type Attempt<T> = std::result::Result<T, Unwoven>;

/// Why a method is not woven.
#[derive(Debug)]
pub enum Unwoven {
    /// It stays as it is, for a reason that the user gets to know.
    Left(Reason),
    /// The whole artifact cannot be woven.
    Failed(Error),
}

impl Unwoven {
    /// The same, with more said of an error.
    pub fn map_error(self, add: impl FnOnce(Error) -> Error) -> Unwoven {
        match self {
            Unwoven::Left(reason) => Unwoven::Left(reason),
            Unwoven::Failed(e) => Unwoven::Failed(add(e)),
        }
    }
}

impl From<Reason> for Unwoven {
    fn from(reason: Reason) -> Unwoven {
        Unwoven::Left(reason)
    }
}

impl From<Error> for Unwoven {
    fn from(e: Error) -> Unwoven {
        Unwoven::Failed(e)
    }
}

/// Separates a method that stays as it is from an artifact that cannot be woven.
pub fn settle<T>(attempt: Attempt<T>) -> Result<std::result::Result<T, Reason>> {
    match attempt {
        Ok(value) => Ok(Ok(value)),
        Err(Unwoven::Left(reason)) => Ok(Err(reason)),
        Err(Unwoven::Failed(e)) => Err(e),
    }
}
