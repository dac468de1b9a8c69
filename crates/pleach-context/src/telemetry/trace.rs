//! [`InvocationTrace`]: the ids with which every process finds the trace of an invocation.

use std::sync::Arc;

use pleach_core::{InvocationId, SessionKey};
use sha2::{Digest, Sha256};
use tracing::Span;

/// A function that is called with every new span of an invocation before the span is entered, for example to set an
/// exporter's ids.
pub type SpanHook = Arc<dyn Fn(&Span, &InvocationTrace) + Send + Sync>;

/// The ids of an invocation's trace, in the form of W3C Trace Context.
///
/// The ids are derived only from the session and the invocation id. So a process that resumes an invocation finds the
/// ids of the process that started it, and nothing has to be stored. All bits are evenly distributed, as samplers
/// expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvocationTrace {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    resumed: bool,
}

impl InvocationTrace {
    /// Makes the trace of an invocation of this session. `resumed` says that the invocation was started before.
    #[must_use]
    pub fn new(session: &SessionKey, invocation: &InvocationId, resumed: bool) -> Self {
        let parts =
            [session.app_name.as_str(), session.user_id.as_str(), session.session_id.as_str(), invocation.as_str()];
        let mut hash = Sha256::new();
        for part in parts {
            // The length keeps ("a", "bc") and ("ab", "c") apart.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let hash = hash.finalize();
        let (mut trace_id, mut span_id) = ([0; 16], [0; 8]);
        trace_id.copy_from_slice(&hash[..16]);
        span_id.copy_from_slice(&hash[16..24]);
        Self { trace_id, span_id, resumed }
    }

    /// The id of the trace.
    #[must_use]
    pub fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// The id of the invocation's span in the process that started it. That span is the root of the trace, and the
    /// parent of the spans of processes that resume the invocation.
    #[must_use]
    pub fn span_id(&self) -> [u8; 8] {
        self.span_id
    }

    /// Returns `true` if the invocation is resumed: it was started before, here or in another process.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// The trace id as 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id_hex(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.trace_id))
    }

    /// The `traceparent` header that makes a span a child of the invocation's first span.
    #[must_use]
    pub fn traceparent(&self) -> String {
        format!("00-{}-{:016x}-01", self.trace_id_hex(), u64::from_be_bytes(self.span_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(app: &str, user: &str, session: &str, invocation: &str) -> InvocationTrace {
        InvocationTrace::new(&SessionKey::new(app, user, session), &InvocationId::from(invocation), false)
    }

    #[test]
    fn a_trace_follows_from_the_session_and_the_invocation() {
        let one = trace("app", "ana", "s1", "e-1");
        assert_eq!(one, trace("app", "ana", "s1", "e-1"));
        for other in
            [trace("ap", "pana", "s1", "e-1"), trace("app", "ana", "s2", "e-1"), trace("app", "ana", "s1", "e-2")]
        {
            assert_ne!(one.trace_id(), other.trace_id());
            assert_ne!(one.span_id(), other.span_id());
        }
    }

    #[test]
    fn ids_stay_the_same_in_later_versions() {
        let trace = trace("app", "ana", "s1", "e-1");
        assert_eq!(trace.traceparent(), "00-39088dbe53af0af7add59e95d4854e6a-649edc61d4cab0e5-01");
        assert!(trace.traceparent().contains(&trace.trace_id_hex()));
    }
}
