//! The custom metadata of events that the storage reads, and no client may set, and the text of redacted values.

/// The first event which a rewind to before a node run undoes: `{"pleach_rewind_before_event": "<id>"}`.
pub const REWIND_BEFORE_EVENT: &str = "pleach_rewind_before_event";

/// The session that a copy was made of, on the copied events: `{"pleach_forked_from": "<session id>"}`.
pub const FORKED_FROM: &str = "pleach_forked_from";

/// A resume continues the copy of a session: `{"pleach_fork_continued": true}`.
pub const FORK_CONTINUED: &str = "pleach_fork_continued";

/// The text in the place of a value that was removed.
pub const REDACTED: &str = "[redacted]";

/// What was removed from the event: `{"pleach_redactions": [{"paths": [...], "reason": "...", "at": ...}]}`.
pub const REDACTIONS: &str = "pleach_redactions";

/// Which values of the event are kept as artifacts: `{"pleach_payloads": {"taken": [...]}}`.
pub const PAYLOADS: &str = "pleach_payloads";
