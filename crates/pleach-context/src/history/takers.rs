//! [`Takers`]: an index of the completed runs by place and branch. It decides whether a run may have used an answer
//! without reading every run.

use foldhash::HashMap;
use pleach_core::Branch;
use smol_str::SmolStr;

use super::runs::{Run, RunKey, Runs};

/// The number of a branch or of a prefix of one. The root's number is the first.
type Prefix = u32;
const ROOT: Prefix = 0;

/// The number of segments of a branch that are considered. Branches come from outside, and each segment of each branch
/// takes an entry.
const MAX_SEGMENTS: usize = 256;

/// The completed runs of a history.
#[derive(Debug)]
pub(super) struct Takers {
    /// For each run, when the last run below it completed; 0 if none did.
    below: Vec<u32>,
    /// For a prefix and a segment, the number of the prefix that is longer by this segment.
    prefixes: HashMap<(Prefix, SmolStr), Prefix>,
    /// For each run (or `None` for the top) and each branch: the time at which a child last began, of those children
    /// that lead to a completed run on this branch.
    on: HashMap<(Option<RunKey>, Prefix), u32>,
    /// The same for completed runs on this branch or on a branch below it.
    within: HashMap<(Option<RunKey>, Prefix), u32>,
}

impl Takers {
    /// Reads all runs. `completed_at` returns when a run completed, or 0 if it did not.
    pub(super) fn of(runs: &Runs, completed_at: impl Fn(&Run) -> u32) -> Self {
        let mut takers = Self {
            below: vec![0; runs.len()],
            prefixes: HashMap::default(),
            on: HashMap::default(),
            within: HashMap::default(),
        };
        for run in runs.iter() {
            let time = completed_at(run);
            if time > 0 {
                takers.add(runs, run, time);
            }
        }
        takers
    }

    fn add(&mut self, runs: &Runs, run: &Run, time: u32) {
        let prefixes = self.intern(run.record.branch.as_ref());
        let branch = prefixes.last().copied().unwrap_or(ROOT);
        let mut lane = run;
        loop {
            // If only the completion of a run is recorded, it may have begun at any time before that.
            let began = lane.record.began().unwrap_or(time).min(time);
            let parent = lane.parent;
            latest(&mut self.on, (parent, branch), began);
            for prefix in &prefixes {
                latest(&mut self.within, (parent, *prefix), began);
            }
            let Some(parent) = parent else { return };
            let below = &mut self.below[parent.place()];
            *below = time.max(*below);
            lane = runs.at(parent);
        }
    }

    /// Returns `true` if a run below the asking run has completed after `time`. Also returns `true` if another run
    /// has completed that began after `time`, on a branch that leads to `branch` or from it.
    pub(super) fn took(&self, runs: &Runs, asking: RunKey, branch: Option<&Branch>, time: u32) -> bool {
        let (prefixes, whole) = self.known(branch);
        let mut run = runs.at(asking);
        if self.below[asking.place()] > time {
            return true;
        }
        // The child that leads to the asking run began before it asked, so it does not match.
        loop {
            let parent = run.parent;
            let after = |map: &HashMap<_, u32>, prefix| map.get(&(parent, prefix)).is_some_and(|began| *began > time);
            if prefixes.iter().any(|prefix| after(&self.on, *prefix)) || whole.is_some_and(|b| after(&self.within, b)) {
                return true;
            }
            let Some(above) = parent else { return false };
            run = runs.at(above);
        }
    }

    /// Numbers the prefixes of a branch, the root's first.
    fn intern(&mut self, branch: Option<&Branch>) -> Vec<Prefix> {
        let mut prefixes = vec![ROOT];
        for segment in segments(branch) {
            let next = self.prefixes.len() as Prefix + 1;
            let above = prefixes.last().copied().unwrap_or(ROOT);
            prefixes.push(*self.prefixes.entry((above, SmolStr::new(segment))).or_insert(next));
        }
        prefixes
    }

    /// Returns the known prefixes of a branch, and the number of the whole branch if it is known.
    fn known(&self, branch: Option<&Branch>) -> (Vec<Prefix>, Option<Prefix>) {
        let mut prefixes = vec![ROOT];
        let mut last = ROOT;
        for segment in segments(branch) {
            let Some(next) = self.prefixes.get(&(last, SmolStr::new(segment))) else { return (prefixes, None) };
            last = *next;
            prefixes.push(last);
        }
        (prefixes, Some(last))
    }
}

fn segments(branch: Option<&Branch>) -> impl Iterator<Item = &str> {
    branch.into_iter().flat_map(Branch::segments).take(MAX_SEGMENTS)
}

fn latest<K: std::hash::Hash + Eq>(map: &mut HashMap<K, u32>, key: K, time: u32) {
    let known = map.entry(key).or_default();
    *known = time.max(*known);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pleach_core::{Content, Event, FunctionResponse, Map, NodePath, OutputFor, Part, REQUEST_INPUT, RequestInput};
    use serde_json::{Value, json};

    use super::super::{Asker, History, mark_completed};
    use super::*;

    /// The same decision as its definition says, by reading every run.
    fn is_final(history: &History, asker: &Asker) -> bool {
        let (own, time) = (history.runs.at(asker.run), history.runs.at(asker.run).record.answered());
        history.runs.iter().any(|run| match run.path == own.path {
            true => history.gave_at(run) > time,
            false => history.completed_at(run) > time && may_take(history, asker, &own.path, run, time),
        })
    }

    fn may_take(history: &History, asker: &Asker, asked: &NodePath, run: &Run, time: u32) -> bool {
        let shared = asked.segments().zip(run.path.segments()).take_while(|(one, other)| one == other).count();
        let depth = run.path.segments().count();
        if shared == depth || shared == asked.segments().count() {
            return true;
        }
        let mut lane = run;
        for _ in shared + 1..depth {
            lane = history.runs.at(lane.parent.unwrap());
        }
        !are_apart(asker.branch.as_ref(), run.record.branch.as_ref()) && lane.record.began().is_none_or(|b| b > time)
    }

    /// Returns `true` if neither of two branches leads to the other.
    fn are_apart(one: Option<&Branch>, other: Option<&Branch>) -> bool {
        let (Some(one), Some(other)) = (one, other) else { return false };
        let shared = one.segments().zip(other.segments()).take_while(|(one, other)| one == other).count();
        shared < one.segments().count() && shared < other.segments().count()
    }

    /// Numbers that look random and are the same in each run of the test.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, bound: u64) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % bound) as usize
        }

        fn path(&mut self) -> String {
            let depth = 1 + self.below(3);
            let segments: Vec<&str> = (0..depth).map(|_| ["a@1", "b@1", "b@2"][self.below(3)]).collect();
            format!("wf@1/{}", segments.join("/"))
        }

        fn event(&mut self) -> Event {
            let path = self.path();
            let id = ["p", "q", "r"][self.below(3)];
            let mut event = match self.below(8) {
                0 | 1 => RequestInput::<Value>::new().into_event(id),
                2 | 3 => {
                    let answer = Map::from_iter([("result".to_owned(), json!(self.below(2)))]);
                    let part = Part::function_response(FunctionResponse::new(id, REQUEST_INPUT, answer));
                    return Event::from_author("user").with_content(Content::new("user", [part]));
                }
                4 => Event::message("working"),
                5 => Event::from_author("n").with_error("ValueError", "down"),
                6 => {
                    let mut event = Event::from_author("n");
                    mark_completed(&mut event, &[self.path().as_str().into()]);
                    event
                }
                _ => {
                    let mut event = Event::of(1);
                    event.set_output_for(OutputFor::Own);
                    event
                }
            };
            event.set_branch([None, Some("l@1"), Some("l@1.m@1"), Some("r@1")][self.below(4)].map(Branch::from));
            event.with_node_path(path.as_str())
        }
    }

    #[test]
    fn r910_what_took_an_answer_is_found_as_its_definition_says() {
        let mut finals = [0, 0];
        for seed in 0..2000 {
            let mut dice = Dice(seed);
            let completes = seed % 2 == 0;
            let mut history = History::with_rule(&[], Some(Box::new(move |_| completes)));
            let mut log = Vec::new();
            for _ in 0..30 {
                let event = Arc::new(dice.event());
                history.add(&event);
                log.push(event);
                let asked = history.askers.values().flat_map(|askers| askers.all.last());
                for asker in asked.filter(|asker| history.runs.at(asker.run).record.answered() > 0) {
                    let expected = is_final(&history, asker);
                    finals[usize::from(expected)] += 1;
                    assert_eq!(
                        history.is_final(asker),
                        expected,
                        "{seed}: {:?} in {log:#?}",
                        history.at(asker.run).path
                    );
                }
            }
        }
        assert!(finals.iter().all(|count| *count > 1000), "both cases occur: {finals:?}");
    }
}
