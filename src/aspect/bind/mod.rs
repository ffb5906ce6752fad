//! Hooks of one's own: a call as rules write it is bound to a method of a library, with an operand for each parameter.
//!
//! Nothing here knows bytecode. Backends show types and signatures ([`ty`]), and turn what is bound ([`call`]) into code, by its [`schedule`].

pub mod binder;
pub mod call;
pub mod catalog;
mod chain;
pub mod convert;
pub mod functional;
pub mod hold;
pub mod layers;
pub mod made;
pub mod misfit;
pub mod reach;
pub mod schedule;
pub mod site;
pub mod ty;
pub mod visible;

#[cfg(test)]
mod tests;
