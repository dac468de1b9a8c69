//! Branches: the conversation threads that events belong to.
// R150

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a conversation thread, for example `triage@1.answer@2`: segments joined by dots, by convention never
/// empty.
///
/// The root thread has no branch, so APIs take and return `Option<Branch>`. Cloning is cheap.
///
/// ADK: `_BranchPath`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branch(Arc<str>);

impl Branch {
    /// Creates the sub-branch of `parent` for run `run_id` of the node `name`; at the root it is just `name@run_id`.
    ///
    /// An empty `run_id` leaves the segment without `@`.
    pub fn child(parent: Option<&Self>, name: &str, run_id: &str) -> Self {
        let parent = parent.map_or("", Self::as_str);
        let mut text = String::with_capacity(parent.len() + name.len() + run_id.len() + 2);
        if !parent.is_empty() {
            text.push_str(parent);
            text.push('.');
        }
        text.push_str(name);
        if !run_id.is_empty() {
            text.push('@');
            text.push_str(run_id);
        }
        Self(text.into())
    }

    /// Creates the sub-branch of `parent` for a run, given the last segment of the run's path.
    pub fn below(parent: Option<&Self>, segment: &str) -> Self {
        let Some(parent) = parent.filter(|parent| !parent.is_empty()) else { return Self(segment.into()) };
        let mut text = String::with_capacity(parent.as_str().len() + segment.len() + 1);
        text.push_str(parent.as_str());
        text.push('.');
        text.push_str(segment);
        Self(text.into())
    }

    /// Returns the longest branch that all the given branches start with, by whole segments.
    ///
    /// Returns `None` (the root) if they share nothing, if one of them is the root, or if there are no branches.
    pub fn common_prefix<'a>(branches: impl IntoIterator<Item = Option<&'a Self>>) -> Option<Self> {
        let mut branches = branches.into_iter();
        let mut common: Vec<&str> = branches.next()??.segments().collect();
        for branch in branches {
            let shared = common.iter().zip(branch?.segments()).take_while(|(ours, theirs)| **ours == *theirs).count();
            common.truncate(shared);
        }
        (!common.is_empty()).then(|| Self(common.join(".").into()))
    }

    /// Iterates over the segments, outermost first.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('.').filter(|segment| !segment.is_empty())
    }

    /// Iterates over the run ids: in each segment that has an `@`, the part after the last one.
    pub fn run_ids(&self) -> impl Iterator<Item = &str> {
        self.segments().filter_map(|segment| segment.rsplit_once('@').map(|(_, run)| run))
    }

    /// Returns the branch as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `true` if the name is empty. A node sets an empty branch on an event to put the event on the root
    /// thread.
    // R150
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Branch {
    fn from(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

impl From<String> for Branch {
    fn from(text: String) -> Self {
        Self(Arc::from(text))
    }
}

impl AsRef<str> for Branch {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Branch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Branch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::json::text(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::Branch;

    // R150
    #[test]
    fn sub_branches() {
        let first = Branch::child(None, "a", "1");
        assert_eq!(first.as_str(), "a@1");
        let second = Branch::child(Some(&first), "b", "2");
        assert_eq!(second.as_str(), "a@1.b@2");
        assert_eq!(Branch::child(Some(&first), "b", "").as_str(), "a@1.b");
        assert_eq!(second.run_ids().collect::<Vec<_>>(), ["1", "2"]);
    }

    // R150: the common prefix consists of whole segments.
    #[test]
    fn common_prefix() {
        let check = |branches: &[Option<&str>], expected: Option<&str>| {
            let branches: Vec<_> = branches.iter().map(|text| text.map(Branch::from)).collect();
            let common = Branch::common_prefix(branches.iter().map(Option::as_ref));
            assert_eq!(common.as_ref().map(Branch::as_str), expected);
        };
        check(&[Some("a@1.b@1.c@1"), Some("a@1.b@1.d@1")], Some("a@1.b@1"));
        check(&[Some("a@1"), Some("a@12")], None);
        check(&[Some("a@1"), None], None);
        check(&[None, Some("a@1")], None);
        check(&[Some("a@1.b@1")], Some("a@1.b@1"));
        check(&[], None);
    }
}
