//! The pending triggers of all nodes of a run: queues in one arena, so that a trigger needs no allocation of its own.

use pleach_context::NodeInput;
use pleach_core::Branch;

/// A reason for a node to run.
#[derive(Clone, Debug)]
pub(crate) struct Trigger {
    pub(crate) input: NodeInput,
    pub(crate) use_sub_branch: bool,
    /// The branch to start from: `None` is the workflow's branch, `Some(None)` the root branch.
    pub(crate) branch: Option<Option<Branch>>,
    /// The predecessor that caused the trigger; `None` for START.
    pub(crate) by: Option<u32>,
}

/// The pending triggers of one node, first in, first out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Queue {
    /// The first and last entry.
    ends: Option<(u32, u32)>,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_none()
    }
}

/// The arena of all queues.
#[derive(Debug, Default)]
pub(crate) struct Triggers {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    trigger: Option<Trigger>,
    next: Option<u32>,
}

impl Triggers {
    pub(crate) fn push(&mut self, queue: &mut Queue, trigger: Trigger) {
        let entry = Entry { trigger: Some(trigger), next: None };
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                u32::try_from(self.entries.len() - 1)
                    .expect("pending triggers fit into memory long before this overflows")
            }
        };
        queue.ends = match queue.ends {
            None => Some((index, index)),
            Some((first, last)) => {
                self.entries[last as usize].next = Some(index);
                Some((first, index))
            }
        };
    }

    pub(crate) fn pop(&mut self, queue: &mut Queue) -> Option<Trigger> {
        let (first, last) = queue.ends?;
        let entry = &mut self.entries[first as usize];
        queue.ends = entry.next.map(|next| (next, last));
        self.free.push(first);
        entry.trigger.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(by: u32) -> Trigger {
        Trigger { input: NodeInput::Null, use_sub_branch: false, branch: None, by: Some(by) }
    }

    #[test]
    fn r621_each_node_has_a_queue_and_entries_are_used_again() {
        let mut triggers = Triggers::default();
        let (mut a, mut b) = (Queue::default(), Queue::default());
        for by in 0..3 {
            triggers.push(&mut a, trigger(by));
            triggers.push(&mut b, trigger(by + 10));
        }
        let popped: Vec<_> = std::iter::from_fn(|| triggers.pop(&mut a)).map(|trigger| trigger.by.unwrap()).collect();
        assert_eq!(popped, [0, 1, 2]);
        triggers.push(&mut a, trigger(7));
        assert_eq!(triggers.entries.len(), 6);
        assert_eq!(triggers.pop(&mut b).unwrap().by, Some(10));
        assert_eq!(triggers.pop(&mut a).unwrap().by, Some(7));
        assert!(a.is_empty() && !b.is_empty());
    }
}
