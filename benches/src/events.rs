//! The event of the storage workloads: 220 characters of text and a state delta of two keys, about 520 bytes as JSON.

use pleach::{Content, Event, EventId, IdGen as _, RandomIds};

const SENTENCE: &str = "The order left the warehouse this morning and will be delivered tomorrow. ";
const TEXT_LENGTH: usize = 220;

/// The `index`-th event of a session, complete with id and time.
pub(crate) fn event(index: usize) -> Event {
    let text: String = SENTENCE.chars().cycle().take(TEXT_LENGTH).collect();
    let mut event = Event::from_author("support")
        .with_content(Content::model(text))
        .with_state("last_topic", "delivery")
        .with_state("turns", index);
    event.set_invocation_id("e-8f14e45f");
    event.set_id(EventId::from(RandomIds.uuid()));
    // Events are a second apart; real ones are not closer.
    event.set_timestamp(1_760_000_000.0 + index as f64);
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_size_of_the_comparison() {
        let length = serde_json::to_string(&event(7)).unwrap().len();
        assert!((500..=560).contains(&length), "{length}");
    }
}
