//! [`Runs`]: the recorded runs as a tree, in which each run is found by its path.

use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use pleach_core::NodePath;

use super::RunRecord;

/// The runs as a tree. Parents and siblings are found by their index in the list, without hashing.
#[derive(Debug, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    /// The index of the runs by path. Only the run itself holds the path.
    index: HashTable<RunKey>,
    /// The runs directly below the root.
    top: Children,
    /// The total length of all paths, in bytes.
    path_bytes: usize,
}

#[derive(Debug)]
pub(super) struct Run {
    pub(super) path: NodePath,
    pub(super) parent: Option<RunKey>,
    children: Children,
    /// The next run below the same parent.
    next: Option<RunKey>,
    pub(super) record: RunRecord,
}

/// The runs directly below another run, chained by their `next`.
#[derive(Clone, Copy, Debug, Default)]
struct Children {
    /// The first and the last run.
    ends: Option<(RunKey, RunKey)>,
    count: u32,
}

/// The place of a run in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey(NonZeroU32);

impl RunKey {
    fn of(place: usize) -> Self {
        let number = u32::try_from(place + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("a session has fewer than 2^32 events"))
    }

    pub(super) fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl Runs {
    pub(super) fn with_capacity(runs: usize) -> Self {
        let (runs, index) = (Vec::with_capacity(runs), HashTable::with_capacity(runs));
        Self { runs, index, ..Self::default() }
    }

    /// Returns the total length of the paths of all runs, in bytes.
    pub(super) fn path_bytes(&self) -> usize {
        self.path_bytes
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn at(&self, key: RunKey) -> &Run {
        &self.runs[key.place()]
    }

    pub(super) fn at_mut(&mut self, key: RunKey) -> &mut Run {
        &mut self.runs[key.place()]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter()
    }

    /// Returns the key of the run at `path`, if there is one.
    pub(super) fn find(&self, path: &NodePath) -> Option<RunKey> {
        self.index.find(hash(path), |key| self.at(*key).path == *path).copied()
    }

    /// Returns the key of the run at `path`. The run and the runs above it are added if they are new.
    pub(super) fn key_of(&mut self, path: &NodePath) -> RunKey {
        // Siblings often come one after the other.
        let neighbour = self.runs.last().and_then(|run| run.parent);
        let (key, new) = self.entry(path);
        let (mut added, mut above) = (key, if new { path.parent_str() } else { return key });
        // A path that begins with a slash is at the top. Only another program can have written it.
        while let Some(path) = above.filter(|path| !path.is_empty()) {
            let known = neighbour.filter(|parent| self.at(*parent).path.as_str() == path);
            let (parent, new) = known.map_or_else(|| self.entry(&path.into()), |parent| (parent, false));
            self.at_mut(added).parent = Some(parent);
            self.append(Some(parent), added);
            if !new {
                return key;
            }
            added = parent;
            above = path.rsplit_once('/').map(|(above, _)| above);
        }
        self.append(None, added);
        key
    }

    /// Iterates over the runs directly below `parent`, in the order of their first events.
    pub(super) fn children(&self, parent: &NodePath) -> impl ExactSizeIterator<Item = RunKey> {
        let Children { ends, count } = match self.find(parent) {
            Some(parent) => self.at(parent).children,
            None if parent.is_root() => self.top,
            None => Children::default(),
        };
        let mut next = ends.map(|(first, _)| first);
        (0..count).map(move |_| {
            let key = next.expect("the chain has as many runs as were counted");
            next = self.at(key).next;
            key
        })
    }

    /// Appends a run to the children of `parent`, or of the root.
    fn append(&mut self, parent: Option<RunKey>, child: RunKey) {
        let children = match parent {
            Some(parent) => &mut self.at_mut(parent).children,
            None => &mut self.top,
        };
        children.count += 1;
        let last = children.ends.map(|(_, last)| last);
        children.ends = Some((children.ends.map_or(child, |(first, _)| first), child));
        if let Some(last) = last {
            self.at_mut(last).next = Some(child);
        }
    }

    /// Returns the key of the run at `path`, and whether it is new.
    fn entry(&mut self, path: &NodePath) -> (RunKey, bool) {
        let runs = &mut self.runs;
        let same = |key: &RunKey| runs[key.place()].path == *path;
        match self.index.entry(hash(path), same, |key| hash(&runs[key.place()].path)) {
            Entry::Occupied(run) => (*run.get(), false),
            Entry::Vacant(vacant) => {
                let key = RunKey::of(runs.len());
                vacant.insert(key);
                self.path_bytes += path.as_str().len();
                let (children, record) = (Children::default(), RunRecord::default());
                runs.push(Run { path: path.clone(), parent: None, children, next: None, record });
                (key, true)
            }
        }
    }
}

fn hash(path: &NodePath) -> u64 {
    // Paths come from outside. Without a seed for each process, a client could choose paths that all collide.
    static SEEDED: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    SEEDED.hash_one(path.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children(runs: &Runs, parent: &str) -> Vec<String> {
        runs.children(&parent.into()).map(|key| runs.at(key).path.to_string()).collect()
    }

    #[test]
    fn r1003_runs_form_a_tree_whichever_event_comes_first() {
        let mut runs = Runs::default();
        let paths = ["w@1/a@1", "w@1/b@1/c@1", "w@1/a@1", "w@1/b@1", "w@1/a@2", "v@1", "w@1/b@1/c@2", "w@1", "/x@1"];
        for path in paths {
            let key = runs.key_of(&path.into());
            assert_eq!((runs.find(&path.into()), runs.at(key).path.as_str()), (Some(key), path));
        }
        assert_eq!(children(&runs, ""), ["w@1", "v@1", "/x@1"]);
        assert_eq!(children(&runs, "w@1"), ["w@1/a@1", "w@1/b@1", "w@1/a@2"]);
        assert_eq!(children(&runs, "w@1/b@1"), ["w@1/b@1/c@1", "w@1/b@1/c@2"]);
        assert_eq!(children(&runs, "w@1/a@1"), [""; 0]);
        assert_eq!(children(&runs, "x@1"), [""; 0]);
        assert_eq!(runs.children(&"w@1".into()).len(), 3);
    }
}
