//! [`turns`]: divides an invocation at the user's messages.

use std::collections::BTreeSet;
use std::sync::Arc;

use pleach_core::{Event, EventId};
use serde::Serialize;

/// A turn: a message or an answer of the user, and the invocation's events up to the next message or answer. A resume
/// without a message leaves no mark in the log, so it belongs to the previous turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// The number of the turn, from 1.
    pub number: usize,
    /// The position of the first event in the session, from 0.
    pub place: usize,
    /// The id of the first event.
    pub event: EventId,
    /// When the first event was stored, in seconds since the epoch.
    pub began: f64,
    /// When the last event was stored, in seconds since the epoch.
    pub ended: f64,
    /// The user's text.
    pub message: String,
    /// The ids of the questions that the user answered.
    pub answers: Vec<String>,
}

/// Divides the events of one invocation into turns. Each event comes with its position in the session.
#[must_use]
pub fn turns(own: &[(usize, &Arc<Event>)]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut was_user = false;
    let mut known: BTreeSet<(usize, String)> = BTreeSet::new();
    for (place, event) in own {
        let is_user = event.is_from_user() && event.content().is_some();
        match turns.last_mut() {
            Some(turn) if !is_user || was_user => turn.ended = event.timestamp(),
            _ => turns.push(Turn {
                number: turns.len() + 1,
                place: *place,
                event: event.id().clone(),
                began: event.timestamp(),
                ended: event.timestamp(),
                message: String::new(),
                answers: Vec::new(),
            }),
        }
        if let Some(turn) = turns.last_mut().filter(|_| is_user) {
            turn.message.push_str(&event.text());
            let answered = event.function_responses().filter_map(|response| response.id.clone());
            turn.answers.extend(answered.filter(|id| known.insert((turn.number, id.clone()))));
        }
        was_user = is_user;
    }
    turns
}
