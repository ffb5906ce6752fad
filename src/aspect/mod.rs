//! What to weave: rules, pointcuts and the plan. Knows no bytecode.

pub mod advice;
pub mod attempt;
pub mod bind;
pub mod callees;
#[cfg(test)]
pub mod everything;
pub mod joinpoint;
pub mod pattern;
pub mod plan;
pub mod platform;
pub mod point;
pub mod pointcut;
pub mod rules;
pub mod section;
pub mod serial;
pub mod short;
pub mod structs;
pub mod woven;
