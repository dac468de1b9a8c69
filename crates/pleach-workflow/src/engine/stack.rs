//! How much of the thread's stack the runs of an invocation use: each is polled inside the one above it.
//!
//! How much a run needs depends on how the program is compiled, so the stack is measured instead of counted in runs.

use std::cell::Cell;

use pleach_context::NodeError;

/// What runs may use: half of the smallest usual stack, that of tokio's workers and of test threads. The other half is left
/// to the body that runs at the bottom, and to what polls the invocation.
const ROOM: usize = 1 << 20;

/// No stack is so large: a greater distance is that of another stack.
const OTHER_STACK: usize = 1 << 26;

thread_local! {
    /// Where the outermost run that is being polled on this thread is; 0 while none is.
    static OUTERMOST: Cell<usize> = const { Cell::new(0) };
}

/// A poll of a run; the outermost one is what the others measure from.
pub(super) struct Measured {
    outermost: bool,
}

impl Measured {
    pub(super) fn enter() -> Self {
        let outermost = OUTERMOST.get() == 0;
        if outermost {
            OUTERMOST.set(here());
        }
        Self { outermost }
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        if self.outermost {
            OUTERMOST.set(0);
        }
    }
}

/// Whether a further run still has room.
///
/// # Errors
/// A `RecursionError`.
pub(super) fn check() -> Result<(), NodeError> {
    let used = OUTERMOST.get().abs_diff(here());
    if !(ROOM..OTHER_STACK).contains(&used) {
        return Ok(());
    }
    let message = "maximum recursion depth exceeded: the runs above this one use up the stack; nest workflows and children less deep, or run each of them in a loop of the graph";
    Err(NodeError::new("RecursionError", message))
}

/// An address in the current frame.
#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&local)).addr()
}
