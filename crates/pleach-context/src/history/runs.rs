//! [`Runs`]: the recorded runs as a tree in which each is found by its path.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use pleach_core::NodePath;
use rustc_hash::FxBuildHasher;

use super::RunRecord;

/// The runs, in the order of their first events. Neighbours in the tree find each other by place, without a hash.
#[derive(Debug, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    /// The runs by path, which stands in the run alone.
    index: HashTable<RunKey>,
    /// The runs directly below the root.
    pub(super) top: Vec<RunKey>,
}

#[derive(Debug)]
pub(super) struct Run {
    pub(super) path: NodePath,
    pub(super) parent: Option<RunKey>,
    pub(super) children: Vec<RunKey>,
    pub(super) record: RunRecord,
}

/// Where a history keeps a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey(u32);

impl RunKey {
    fn of(place: usize) -> Self {
        Self(u32::try_from(place).expect("a session has fewer than 2^32 events"))
    }

    fn place(self) -> usize {
        self.0 as usize
    }
}

impl Runs {
    pub(super) fn with_capacity(runs: usize) -> Self {
        Self { runs: Vec::with_capacity(runs), index: HashTable::with_capacity(runs), top: Vec::new() }
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

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Run> {
        self.runs.iter_mut()
    }

    /// Where the run at `path` is kept, if there is one.
    pub(super) fn find(&self, path: &NodePath) -> Option<RunKey> {
        self.index.find(hash(path), |key| self.at(*key).path == *path).copied()
    }

    /// Where the run at `path` is kept; it and the runs above it are added if they are new.
    pub(super) fn key_of(&mut self, path: &NodePath) -> RunKey {
        // Siblings often come one after the other.
        let neighbour = self.runs.last().and_then(|run| run.parent);
        let (key, new) = self.entry(path);
        let (mut added, mut above) = (key, if new { path.parent_str() } else { return key });
        while let Some(path) = above {
            let known = neighbour.filter(|parent| self.at(*parent).path.as_str() == path);
            let (parent, new) = known.map_or_else(|| self.entry(&path.into()), |parent| (parent, false));
            self.at_mut(added).parent = Some(parent);
            self.at_mut(parent).children.push(added);
            if !new {
                return key;
            }
            added = parent;
            above = path.rsplit_once('/').map(|(above, _)| above);
        }
        self.top.push(added);
        key
    }

    /// Where the run at `path` is kept, and whether it is new.
    fn entry(&mut self, path: &NodePath) -> (RunKey, bool) {
        let runs = &mut self.runs;
        let same = |key: &RunKey| runs[key.place()].path == *path;
        match self.index.entry(hash(path), same, |key| hash(&runs[key.place()].path)) {
            Entry::Occupied(run) => (*run.get(), false),
            Entry::Vacant(vacant) => {
                let key = RunKey::of(runs.len());
                vacant.insert(key);
                runs.push(Run { path: path.clone(), parent: None, children: Vec::new(), record: RunRecord::default() });
                (key, true)
            }
        }
    }
}

fn hash(path: &NodePath) -> u64 {
    FxBuildHasher.hash_one(path.as_str())
}
