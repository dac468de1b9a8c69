//! The expected outcome of a case.

use serde_json::Value;

use super::case::Case;
use super::play::Played;

/// The expected outcome of a case. A field that is not set must be absent from the outcome.
#[derive(Debug, Default)]
pub(super) struct Expected {
    says: String,
    thinks: String,
    calls: Vec<(String, Value)>,
    ran: Option<Vec<(String, Value)>>,
    error: Option<(String, String)>,
}

/// Expects that the agent ends without an error and has said `text`.
pub(super) fn says(text: &str) -> Expected {
    Expected { says: text.to_owned(), ..Expected::default() }
}

/// Expects that the agent ends with an error of this code whose message contains `text`.
pub(super) fn fails(code: &str, text: &str) -> Expected {
    Expected { error: Some((code.to_owned(), text.to_owned())), ..Expected::default() }
}

fn owned<const N: usize>(calls: [(&str, Value); N]) -> Vec<(String, Value)> {
    calls.map(|(name, arguments)| (name.to_owned(), arguments)).into()
}

impl Expected {
    /// Expects these calls: each runs once and is in the history.
    pub(super) fn calling<const N: usize>(mut self, calls: [(&str, Value); N]) -> Self {
        self.calls = owned(calls);
        self
    }

    /// Expects that the tools get these arguments instead of the arguments of the calls.
    pub(super) fn running<const N: usize>(mut self, ran: [(&str, Value); N]) -> Self {
        self.ran = Some(owned(ran));
        self
    }

    /// Expects that the thoughts of the agent are `text`.
    pub(super) fn thinking(mut self, text: &str) -> Self {
        text.clone_into(&mut self.thinks);
        self
    }

    /// Expects that the agent has said `text` before its error.
    pub(super) fn after_saying(mut self, text: &str) -> Self {
        text.clone_into(&mut self.says);
        self
    }

    pub(super) fn compare(&self, name: &str, case: &Case, played: &Played) {
        match (&self.error, &played.error) {
            (None, None) => assert_eq!(played.requests.len(), case.replies.len(), "{name}: all replies are asked for"),
            (Some((code, part)), Some((played, text))) => {
                assert!(code == played && text.contains(part), "{name}: {played}: {text}");
            }
            _ => panic!("{name}: {played:#?}"),
        }
        assert_eq!((&played.said, &played.thought), (&self.says, &self.thinks), "{name}: {played:#?}");
        assert_eq!(played.calls, self.calls, "{name}");
        assert_eq!(&played.ran, self.ran.as_ref().unwrap_or(&self.calls), "{name}: the tools that ran");
        if case.streaming && self.error.is_none() {
            // An answer that is not streamed is one event.
            let is_shown = played.shown.is_empty() || played.shown == played.said;
            assert!(is_shown, "{name}: the fragments are {:?}", played.shown);
        }
    }
}
