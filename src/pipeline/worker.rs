//! What each thread keeps from one artifact to the next.

use crate::cil;
use crate::container::zip::Codec;
use crate::jvm;
use std::cell::RefCell;

/// Buffers that a thread uses for one artifact after the other.
pub(crate) struct Worker {
    pub(crate) codec: Codec,
    pub(crate) scratch: jvm::Scratch,
    pub(crate) cil_scratch: cil::Scratch,
    pub(crate) bytes: Vec<u8>,
}

thread_local! {
    static WORKER: RefCell<Worker> = RefCell::new(Worker {
        codec: Codec::new(),
        scratch: jvm::Scratch::default(),
        cil_scratch: cil::Scratch::default(),
        bytes: Vec::new(),
    });
}

/// Largest read buffer that a thread keeps.
const KEEP_BUFFER: usize = 4 << 20;

/// Runs with this thread's buffers. Must not be nested, nor wait for other threads' work.
pub(crate) fn with_worker<R>(f: impl FnOnce(&mut Worker) -> R) -> R {
    WORKER.with_borrow_mut(|worker| {
        let result = f(worker);
        if worker.bytes.capacity() > KEEP_BUFFER {
            worker.bytes = Vec::new();
        }
        result
    })
}
