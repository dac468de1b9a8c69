//! [`MODEL_WAIT`]: how those who follow a run see that a model lets it wait.

/// The key in the custom metadata of a partial event that says why nothing comes from a model:
/// `{"model": NAME, "code": CODE, "status": HTTP status or null, "seconds": wait, "attempt": how many attempts were made}`.
///
/// Such an event goes to those who follow the run. It is not stored, and the reader of the run does not get it.
pub const MODEL_WAIT: &str = "_pleach_model_wait";
