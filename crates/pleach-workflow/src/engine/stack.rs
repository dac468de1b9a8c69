//! Limits the stack that nested runs use: each run is polled inside the one above it.
//!
//! A run's stack size depends on how the program is compiled, so the stack is measured instead of counting runs.

use std::cell::Cell;

use pleach_context::NodeError;

/// The stack that runs may use, in bytes: half of the smallest usual stack (tokio's workers, test threads). The other
/// half is left to the innermost body and to the caller that polls the invocation.
const ROOM: usize = 1 << 20;

/// A greater distance means that the addresses are on different stacks.
const OTHER_STACK: usize = 1 << 26;

thread_local! {
    /// The stack address of the outermost run polled on this thread; 0 while none is polled.
    static OUTERMOST: Cell<usize> = const { Cell::new(0) };
}

/// A poll of a run. Nested polls measure their distance from the outermost.
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

/// Checks that the stack has room for another run.
///
/// # Errors
/// A `RecursionError`.
pub(super) fn check() -> Result<(), NodeError> {
    let used = OUTERMOST.get().abs_diff(here());
    if !(ROOM..OTHER_STACK).contains(&used) {
        return Ok(());
    }
    let message = "maximum recursion depth exceeded: the runs above this one use up the stack; nest workflows and children less deeply, or run each of them in a loop of the graph";
    Err(NodeError::new("RecursionError", message))
}

/// Returns an address in the current frame.
#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&local)).addr()
}
