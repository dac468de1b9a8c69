//! [`Summaries`]: which summaries of a log are effective, and which times they cover.
// R1150, L46

use pleach_core::{Event, EventCompaction};

/// The effective summaries among some events. A summary whose range lies inside another one's is superseded. If two
/// ranges are equal, the later summary is effective. Summarizers and prompts of agents both use this.
#[derive(Clone, Debug, Default)]
pub struct Summaries<'e> {
    effective: Vec<(usize, &'e EventCompaction)>,
    /// The ranges of time, in order and joined where they overlap.
    covered: Vec<(f64, f64)>,
}

impl<'e> Summaries<'e> {
    /// Finds the effective summaries among `events`.
    pub fn of(events: impl IntoIterator<Item = &'e Event>) -> Self {
        let events = events.into_iter().enumerate();
        let mut effective: Vec<(usize, &EventCompaction)> =
            events.filter_map(|(place, event)| Some((place, event.actions().compaction()?))).collect();
        // Each summary comes after all summaries that can contain it, so comparing it with the latest end so far is
        // enough.
        effective.sort_by(|(left, a), (right, b)| {
            let by_range =
                a.start_timestamp.total_cmp(&b.start_timestamp).then(b.end_timestamp.total_cmp(&a.end_timestamp));
            by_range.then(right.cmp(left))
        });
        let mut farthest: Option<f64> = None;
        effective.retain(|(_, summary)| {
            let is_effective = farthest.is_none_or(|farthest| summary.end_timestamp > farthest);
            if is_effective {
                farthest = Some(summary.end_timestamp);
            }
            is_effective
        });
        // The summaries are still ordered by start.
        let spans = effective.iter().map(|(_, summary)| (summary.start_timestamp, summary.end_timestamp));
        let mut covered: Vec<(f64, f64)> = Vec::new();
        for (start, end) in spans.filter(|(start, end)| start <= end) {
            match covered.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => covered.push((start, end)),
            }
        }
        effective.sort_unstable_by_key(|(place, _)| *place);
        Self { effective, covered }
    }

    /// Returns the effective summaries with their places among the events, in the order of the events.
    #[must_use]
    pub fn effective(&self) -> &[(usize, &'e EventCompaction)] {
        &self.effective
    }

    /// Returns `true` if a summary covers an event of this time, in seconds.
    #[must_use]
    pub fn covers(&self, time: f64) -> bool {
        let place = self.covered.partition_point(|(start, _)| *start <= time);
        place.checked_sub(1).is_some_and(|place| time <= self.covered[place].1)
    }
}

#[cfg(test)]
mod tests {
    use pleach_core::Content;

    use super::*;

    fn summary((start, end): (f64, f64)) -> Event {
        let mut event = Event::from_author("user");
        event.actions_mut().set_compaction(Some(EventCompaction {
            start_timestamp: start,
            end_timestamp: end,
            compacted_content: Content::model("summary"),
        }));
        event
    }

    #[test]
    fn r1150_a_summary_inside_another_one_is_superseded() {
        for (rule, ranges, effective, covered) in [
            ("one", vec![(1.0, 2.0)], vec![0], vec![1, 2]),
            ("apart", vec![(1.0, 2.0), (4.0, 5.0)], vec![0, 1], vec![1, 2, 4, 5]),
            ("inside", vec![(2.0, 3.0), (1.0, 4.0)], vec![1], vec![1, 2, 3, 4]),
            ("overlapping", vec![(1.0, 3.0), (2.0, 5.0)], vec![0, 1], vec![1, 2, 3, 4, 5]),
            ("equal", vec![(1.0, 2.0), (1.0, 2.0)], vec![1], vec![1, 2]),
            ("the wrong way round", vec![(3.0, 1.0)], vec![0], vec![]),
        ] {
            let events: Vec<Event> = ranges.into_iter().map(summary).collect();
            let summaries = Summaries::of(&events);
            let places: Vec<usize> = summaries.effective().iter().map(|(place, _)| *place).collect();
            let times: Vec<i32> = (0..7).filter(|time| summaries.covers(f64::from(*time))).collect();
            assert_eq!((places, times), (effective, covered), "{rule}");
        }
    }
}
