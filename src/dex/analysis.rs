//! Facts of a body that hooks depend on.

pub(crate) mod arrays;
pub(crate) mod caught;
pub(crate) mod constructor;
pub(crate) mod flow;
pub(crate) mod guards;
pub(crate) mod live;
pub(crate) mod monitors;
pub(crate) mod own_fields;
