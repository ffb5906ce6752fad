//! One code item, its method and hooks, and the memory to lower it.

use super::branches::{Branch, Payload, Stops};
use super::insertions::Insertions;
use super::moves::Moves;
use super::own_frame::Own;
use super::registers::Scheme;
use crate::aspect::advice::Advice;
use crate::dex::analysis::guards::{Cover, Stretch};
use crate::dex::analysis::monitors::Held;
use crate::dex::analysis::own_fields::OwnFields;
use crate::dex::format::code_item::{Code, Try, TryWriter};
use crate::dex::format::insn::Insn;
use crate::dex::format::remap::Remap;
use crate::edit::Layout;

/// Facts of a method from outside its code item.
#[derive(Clone, Copy, Debug)]
pub struct MethodInfo<'s> {
    /// The letters of the return type and of the parameters.
    pub shorty: &'s [u8],
    /// There is no `this`.
    pub is_static: bool,
    /// It is an `<init>`.
    pub is_constructor: bool,
    /// Old index of the type `java/lang/Throwable`, if the file names it: who catches it catches all.
    pub throwable: Option<u32>,
    /// Values of several returns may merge to a type that it does not return.
    pub returns_apart: bool,
    /// New index of the string that names its section in Android's trace, where it gets one.
    pub section: u32,
    /// The fields of its class.
    pub own: OwnFields<'s>,
    /// Its hooks that see values.
    pub hooks: Option<Own<'s>>,
    /// What it gets at its points, in place of hooks.
    pub points: Option<&'s Insertions>,
}

/// New indexes of the hooks' method ids.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hooks {
    /// `enter(I)V`.
    pub enter: u32,
    /// `exit(I)V`.
    pub exit: u32,
    /// `error(Ljava/lang/Throwable;I)V`.
    pub error: u32,
    /// `android.os.Trace.beginSection(Ljava/lang/String;)V`.
    pub begin: u32,
    /// `android.os.Trace.endSection()V`.
    pub end: u32,
    /// `count(I)V`.
    pub count: u32,
    /// `start(I)V`, `stop(I)V` and `failed(Ljava/lang/Throwable;I)V`: the three of methods that are summed up.
    pub start: u32,
    /// See `start`.
    pub stop: u32,
    /// See `start`.
    pub failed: u32,
    /// As `leave`, for those methods.
    pub finish: Option<u32>,
    /// As `leaf`, for those methods.
    pub moment: Option<u32>,
    /// `leave(Ljava/lang/Throwable;I)V`: `exit` for null, else `error`, and throws it again. The others do without it.
    pub leave: Option<u32>,
    /// `leaf(I)V`: `enter` and `exit`. The others do without it.
    pub leaf: Option<u32>,
    /// The number that the hooks add to the id they get.
    pub base: u32,
}

/// Instructions of interest, in the order of the code.
#[derive(Default)]
pub(crate) struct Found {
    pub branches: Vec<Branch>,
    pub switches: Vec<Insn>,
    /// Instructions that fill arrays from data.
    pub data: Vec<Insn>,
    pub payloads: Vec<Payload>,
    /// Where a `const-string` becomes a `const-string/jumbo`.
    pub jumbos: Vec<u32>,
    pub returns: Vec<Insn>,
    pub throwing: Vec<u32>,
}

impl Found {
    pub fn clear(&mut self) {
        self.branches.clear();
        self.switches.clear();
        self.data.clear();
        self.payloads.clear();
        self.jumbos.clear();
        self.returns.clear();
        self.throwing.clear();
    }
}

/// The code that our handlers protect.
#[derive(Default)]
pub(crate) struct Protected {
    pub cover: Cover,
    pub stretches: Vec<Stretch>,
    /// For each of our handlers, the monitors held.
    pub handlers: Vec<Held>,
    /// Exit hooks, in new pcs.
    pub exits: Vec<(u32, u32)>,
}

/// Code to be inserted.
#[derive(Default)]
pub(crate) struct Sequences {
    /// At pc 0.
    pub prologue: Vec<u8>,
    /// The enter hook.
    pub enter: Vec<u8>,
    /// The exit hook of the return that stays in place or serves all.
    pub exit: Vec<u8>,
    /// Behind the code.
    pub tails: Vec<u8>,
    /// Where in `tails` exit hooks lie, each with its own return, if returns stay apart.
    pub apart: Vec<(u32, u32)>,
    pub handler: Vec<u8>,
    /// The handler of the calls outside of the section.
    pub outer: Vec<u8>,
    /// Code units at the end of the enter hook that begin the section, where they are protected.
    pub begin: u32,
    /// Code units at the start of each exit hook that our handler protects: all, or those of the pair's.
    pub protected_exit: u32,
    /// Calls in handlers whose exceptions go on in the handler.
    pub goes_on: HandlersGoOn,
}

/// A call in a handler, from and to where in it, and where in it what the call throws is handled.
#[derive(Clone, Copy)]
pub(super) struct GoesOn {
    pub called: (u32, u32),
    pub at: u32,
}

/// These, of each of our handlers.
#[derive(Default)]
pub(crate) struct HandlersGoOn {
    pub(super) handler: Vec<GoesOn>,
    pub(super) outer: Vec<GoesOn>,
}

impl Sequences {
    pub fn clear(&mut self) {
        let Sequences {
            prologue,
            enter,
            exit,
            tails,
            apart,
            handler,
            outer,
            begin,
            protected_exit,
            goes_on,
        } = self;
        for code in [prologue, enter, exit, tails, handler, outer] {
            code.clear();
        }
        apart.clear();
        goes_on.handler.clear();
        goes_on.outer.clear();
        *begin = 0;
        *protected_exit = u32::MAX;
    }
}

/// Reusable memory; one a thread.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The new tries, also for `code_item::copy`.
    pub tries_out: TryWriter,
    /// List offsets, also for `code_item::copy`.
    pub list_starts: Vec<u16>,
    pub layout: Layout,
    /// How the last code item was lowered, and its length.
    pub lowered: Option<(Scheme, u32)>,
    pub tries: Vec<Try>,
    pub found: Found,
    pub protected: Protected,
    pub sequences: Sequences,
    pub stops: Stops,
}

impl Scratch {
    /// Old to new positions in the last code item.
    pub fn moves(&self) -> Moves<'_> {
        match self.lowered {
            Some((scheme, units)) => Moves::new(&self.layout, scheme, units),
            None => Moves::none(),
        }
    }

    /// The old pcs of all throwing instructions of the last code item.
    pub(crate) fn throwing(&self) -> &[u32] {
        &self.found.throwing
    }
}

/// A code item and its hooks.
#[derive(Clone, Copy)]
pub(crate) struct Lowering<'j, 'a> {
    pub code: &'j Code<'a>,
    pub method: MethodInfo<'j>,
    pub advice: Advice,
    pub id: u32,
    pub hooks: Hooks,
    pub remap: &'j Remap,
    pub units: u32,
}
