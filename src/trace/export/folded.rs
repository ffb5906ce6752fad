//! Collapsed stacks: `a;b;c 123`, the input of flame graph scripts. Stacks of all threads and traces are summed up.
//! A stack ends at the depth at which the call tree does, or one deep recursion would be written as a quadratic number of frames.

use super::{End, Logical, Named, Process, Sink, Span, Thread, Weight};
use crate::trace::tree::MAX_DEPTH;
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// Different stacks; calls of further ones count for their callers.
const MAX_STACKS: usize = 1 << 22;

pub struct Folded<'a> {
    out: Box<dyn Write + Send + 'a>,
    weight: Weight,
    names: Vec<String>,
    by_name: FxHashMap<String, u32>,
    /// Of each method of the process, its name.
    of_method: Vec<u32>,
    stacks: Vec<Stack>,
    /// Of stacks with sampled calls right below, the time of calls for which those stand.
    of_others: FxHashMap<u32, u64>,
    /// By the stack around and the name.
    children: FxHashMap<(u32, u32), u32>,
    /// The stack at hand and those around it.
    open: Vec<OpenStack>,
}

/// A stack of calls.
struct Stack {
    /// The one around it.
    around: u32,
    /// The name of its innermost call.
    name: u32,
    number: u64,
}

/// A stack at hand.
struct OpenStack {
    stack: u32,
    /// How many calls it stands for.
    weight: u32,
}

/// The stack without calls.
const ROOT: u32 = u32::MAX;

impl<'a> Folded<'a> {
    pub fn new(out: Box<dyn Write + Send + 'a>, weight: Weight) -> Folded<'a> {
        Folded {
            out,
            weight,
            names: Vec::new(),
            by_name: FxHashMap::default(),
            of_method: Vec::new(),
            stacks: Vec::new(),
            of_others: FxHashMap::default(),
            children: FxHashMap::default(),
            open: Vec::new(),
        }
    }

    fn name(&mut self, method: &Named) {
        // A semicolon ends a frame, and what follows the last space is the number.
        let name = method.label.replace(';', ":");
        let next = self.names.len() as u32;
        let number = *self.by_name.entry(name.clone()).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        self.of_method.push(number);
    }
}

impl Sink for Folded<'_> {
    fn process(&mut self, _: &Process, methods: &[Named]) -> io::Result<()> {
        self.of_method.clear();
        methods.iter().for_each(|m| self.name(m));
        Ok(())
    }

    fn unnamed(&mut self, method: &Named) -> io::Result<()> {
        self.name(method);
        Ok(())
    }

    fn thread(&mut self, _: &Process, _: &Thread) -> io::Result<()> {
        self.open.clear();
        Ok(())
    }

    fn open(&mut self, span: &Span, _: &Named) -> io::Result<()> {
        let around = self.open.last().map_or(ROOT, |open| open.stack);
        let name = self.of_method[span.method];
        let next = self.stacks.len() as u32;
        let stack = match self.children.get(&(around, name)) {
            Some(&stack) => stack,
            None if self.open.len() < MAX_DEPTH as usize && self.stacks.len() < MAX_STACKS => {
                self.stacks.push(Stack {
                    around,
                    name,
                    number: 0,
                });
                self.children.insert((around, name), next);
                next
            }
            None => around,
        };
        let weight = span.weight;
        self.open.push(OpenStack { stack, weight });
        Ok(())
    }

    fn close(&mut self, span: &Span, end: &End, _: &Named) -> io::Result<()> {
        let weight = u64::from(span.weight);
        if let Some(open) = self.open.pop()
            && let Some(stack) = self.stacks.get_mut(open.stack as usize)
        {
            let more = match self.weight {
                Weight::Own => end.own.saturating_mul(weight),
                Weight::Calls => weight,
            };
            stack.number = stack.number.saturating_add(more);
        }
        // The time of calls for which this one stands is in its caller's own.
        if span.weight > 1
            && self.weight == Weight::Own
            && let Some(caller) = self.open.last()
            && span.weight > caller.weight
        {
            let around = caller.stack;
            let others = u64::from(span.weight - caller.weight);
            let time = (end.time - span.start).saturating_mul(others);
            let known = self.of_others.entry(around).or_default();
            *known = known.saturating_add(time);
        }
        Ok(())
    }

    fn logical(&mut self, _: &Logical, _: &Named) -> io::Result<()> {
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let mut frames = Vec::new();
        for (at, stack) in (0u32..).zip(&self.stacks) {
            let of_others = self.of_others.get(&at).copied().unwrap_or(0);
            let number = stack.number.saturating_sub(of_others);
            if number == 0 {
                continue;
            }
            frames.clear();
            frames.push(stack.name);
            let mut around = stack.around;
            while let Some(stack) = self.stacks.get(around as usize) {
                frames.push(stack.name);
                around = stack.around;
            }
            for (at, &name) in frames.iter().rev().enumerate() {
                let separator = if at > 0 { ";" } else { "" };
                write!(self.out, "{separator}{}", self.names[name as usize])?;
            }
            writeln!(self.out, " {number}")?;
        }
        self.out.flush()
    }
}
