//! [`Dynamic`]: a value whose type is known only at run time.

use serde_json::Value;

/// A value whose type is known only at run time: the opt-out of typed edges.
///
/// It implements neither `Serialize` nor `Deserialize`, so that it never passes for a typed value by accident.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dynamic(pub Value);
