//! Node paths: the position of an event or a context in the tree of runs.
// R105, R106

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::Present;
use crate::text::Text;

/// The path from the root to a run of a node, for example `triage@1/answer@2`.
///
/// Segments are joined by `/`. Each segment is `name@run_id`, split at its **last** `@`. The root path is empty.
/// Relations between paths compare whole segments, never text prefixes. Cloning is cheap.
///
/// ADK: `_NodePathBuilder`
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePath(Text);

impl NodePath {
    /// Creates the empty path, the parent of all paths.
    pub fn root() -> Self {
        Self::default()
    }

    /// Creates the path of a child run. An empty `run_id` leaves the segment without `@`.
    pub fn child(&self, name: &str, run_id: &str) -> Self {
        let mut text = String::with_capacity(self.as_str().len() + name.len() + run_id.len() + 2);
        self.push_parent(&mut text);
        text.push_str(name);
        if !run_id.is_empty() {
            text.push('@');
            text.push_str(run_id);
        }
        Self(text.into())
    }

    /// Creates the path of a numbered child run. It is formatted into `buf`, so that only the final text is allocated.
    pub fn child_in(&self, buf: &mut String, name: &str, run: u32) -> Self {
        buf.clear();
        self.push_parent(buf);
        buf.push_str(name);
        buf.push('@');
        buf.push_str(itoa::Buffer::new().format(run));
        Self(buf.as_str().into())
    }

    fn push_parent(&self, text: &mut String) {
        if !self.is_root() {
            text.push_str(self.as_str());
            text.push('/');
        }
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns `true` if this is the empty path.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if this is the empty path.
    pub fn is_empty(&self) -> bool {
        self.is_root()
    }

    /// Iterates over the segments, starting at the root.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.as_str().split('/').filter(move |_| !self.is_root())
    }

    /// Returns the last segment with its run id; empty for the root.
    pub fn leaf(&self) -> &str {
        let text = self.as_str();
        split_last(text, b'/').map_or(text, |(_, leaf)| leaf)
    }

    /// Returns the name of the last segment, without its run id; empty for the root.
    pub fn name(&self) -> &str {
        split_segment(self.leaf()).0
    }

    /// Returns the run id of the last segment; empty if there is none.
    pub fn run_id(&self) -> &str {
        split_segment(self.leaf()).1.unwrap_or("")
    }

    /// Returns the path without its last segment; `None` for the root and for paths of one segment.
    pub fn parent(&self) -> Option<Self> {
        self.parent_str().map(Self::from)
    }

    /// Returns the text of [`parent`](Self::parent) without creating a path.
    pub fn parent_str(&self) -> Option<&str> {
        split_last(self.as_str(), b'/').map(|(parent, _)| parent)
    }

    /// Returns the run id of the parent's segment; `None` if there is no parent, or if the parent has no run id.
    pub fn parent_run_id(&self) -> Option<&str> {
        let parent = self.parent_str()?;
        let leaf = split_last(parent, b'/').map_or(parent, |(_, leaf)| leaf);
        split_segment(leaf).1
    }

    /// Returns `true` if this path lies strictly below `other`.
    pub fn is_descendant_of(&self, other: &Self) -> bool {
        self.below(other).is_some()
    }

    /// Returns `true` if this path is one segment longer than `other` and starts with it.
    pub fn is_direct_child_of(&self, other: &Self) -> bool {
        self.below(other).is_some_and(|rest| !rest.contains('/'))
    }

    /// Returns the text after `other` and its slash, if this path lies strictly below `other`.
    pub fn below(&self, other: &Self) -> Option<&str> {
        if other.is_root() {
            return (!self.is_root()).then_some(self.as_str());
        }
        self.as_str().strip_prefix(other.as_str())?.strip_prefix('/')
    }

    /// Returns the path without run ids, which is the node's position in the graph.
    pub fn static_path(&self) -> String {
        let mut text = String::with_capacity(self.as_str().len());
        for (index, segment) in self.segments().enumerate() {
            if index > 0 {
                text.push('/');
            }
            text.push_str(split_segment(segment).0);
        }
        text
    }
}

/// Splits `name@run_id` at the last `@`.
fn split_segment(segment: &str) -> (&str, Option<&str>) {
    split_last(segment, b'@').map_or((segment, None), |(name, run)| (name, Some(run)))
}

/// Does the same as `rsplit_once`, which is slower for short strings.
fn split_last(text: &str, at: u8) -> Option<(&str, &str)> {
    let place = text.bytes().rposition(|byte| byte == at)?;
    Some((&text[..place], &text[place + 1..]))
}

impl From<&str> for NodePath {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for NodePath {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl AsRef<str> for NodePath {
    fn as_ref(&self) -> &str {
        self.0.as_str()
    }
}

impl std::borrow::Borrow<str> for NodePath {
    fn borrow(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for NodePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Present for NodePath {}

impl<'de> Deserialize<'de> for NodePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::json::text(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::NodePath;

    fn path(text: &str) -> NodePath {
        text.into()
    }

    // R106: a segment is split at its last `@`.
    #[test]
    fn segments_split_at_the_last_at() {
        let deep = path("wf@1/odd@name@2");
        assert_eq!((deep.name(), deep.run_id(), deep.parent_run_id()), ("odd@name", "2", Some("1")));
        assert_eq!(deep.parent(), Some(path("wf@1")));
        assert_eq!(path("wf@1").parent(), None);
        assert_eq!(deep.static_path(), "wf/odd@name");
        let root = NodePath::root();
        assert_eq!((root.name(), root.run_id(), root.parent_run_id()), ("", "", None));
        assert_eq!(root.segments().count(), 0);
        assert_eq!(deep.segments().collect::<Vec<_>>(), ["wf@1", "odd@name@2"]);
    }

    #[test]
    fn children_are_built_alike_both_ways() {
        let mut buffer = String::from("old");
        for parent in [NodePath::root(), path("wf@1")] {
            assert_eq!(parent.child_in(&mut buffer, "a", 12), parent.child("a", "12"));
        }
        assert_eq!(path("wf@1").child("a", "").as_str(), "wf@1/a");
        assert_eq!(NodePath::root().child("wf", "1").as_str(), "wf@1");
    }

    // R106: relations compare segments, never texts.
    #[test]
    fn relations_are_by_segment() {
        let wf = path("wf@1");
        assert!(path("wf@1/a@1").is_direct_child_of(&wf));
        assert!(path("wf@1/a@1/b@1").is_descendant_of(&wf));
        assert!(!path("wf@1/a@1/b@1").is_direct_child_of(&wf));
        assert!(!path("wf@11").is_descendant_of(&wf) && !path("wf@11/a@1").is_descendant_of(&wf));
        assert!(!wf.is_descendant_of(&wf));
        assert!(wf.is_direct_child_of(&NodePath::root()) && !NodePath::root().is_descendant_of(&wf));
    }
}
