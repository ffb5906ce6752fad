//! The new file: the parts of the old one that stay, room for the new ones, and the identity of the whole.

pub mod allocator;
pub mod free_ranges;
pub mod identity;
pub mod image;
pub mod output;
pub mod sections;
pub mod strong_name;
