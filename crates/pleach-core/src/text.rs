//! [`Text`]: the shared string inside ids and paths.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An immutable string that is cheap to clone.
///
/// The empty string is `None` instead of a shared allocation. Every new event would change the reference count of
/// that allocation, so all cores would contend for it.
#[derive(Clone, Default)]
pub(crate) struct Text(Option<Arc<str>>);

impl Text {
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or("")
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Self {
        Self((!text.is_empty()).then_some(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self((!text.is_empty()).then(|| Arc::from(text)))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self((!text.is_empty()).then(|| Arc::from(text)))
    }
}

// Comparisons must agree with those of the string, because the types that contain this one implement `Borrow<str>`.
impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        // Ids and paths are mostly shared, and `Arc` compares addresses before texts.
        self.0 == other.0
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
