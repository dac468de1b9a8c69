//! Credentials that clients have sent. They are kept in this process and never stored.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_core::{Content, Event, FunctionResponse, InvocationId, Map, REQUEST_CREDENTIAL, SessionKey};
use serde_json::Value;

/// The text that replaces the credential in a stored answer.
pub(super) const REDACTED: &str = "[redacted credential]";

/// The maximum number of invocations whose answers are kept. Beyond it, the oldest is removed and its user is asked
/// again.
const MAX_INVOCATIONS: usize = 1_000;

/// The credentials that clients have sent to invocations that have not ended, by question id.
///
/// The stored events hold a placeholder instead. Debug output shows no credential.
#[derive(Default)]
pub struct KeptCredentials(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The number of invocations added so far. Each invocation is kept with its number, which orders them by age.
    count: u64,
    invocations: BTreeMap<(SessionKey, InvocationId), (u64, BTreeMap<String, Map>)>,
}

/// Credentials that were taken out of a message, by question id, for [`KeptCredentials::keep`].
///
/// Debug output shows no credential.
#[derive(Default)]
pub struct TakenCredentials(Vec<(String, Map)>);

impl TakenCredentials {
    /// Replaces every answer to a request for a credential in `message` by a placeholder, and returns the answers.
    ///
    /// `events` returns the session's events, which hold the requests. An answer without a value stays in the message,
    /// because it answers nothing.
    #[must_use]
    pub fn take_from(message: &mut Content, events: impl Fn() -> Vec<Arc<Event>>) -> Self {
        let mut sent = Vec::new();
        if message.function_responses().next().is_none() {
            return Self(sent);
        }
        let asked = asked_for(&events());
        for part in message.parts_mut() {
            let Some(response) = part.function_response.as_mut().filter(|response| is_credential(response, &asked))
            else {
                continue;
            };
            let Some(answer) = response.response.take() else { continue };
            if pleach_schema::unwrap_response(&answer).is_null() {
                response.response = Some(answer);
                continue;
            }
            let name = response.name.clone().unwrap_or_else(|| REQUEST_CREDENTIAL.to_owned());
            let id = response.id.take();
            **response = FunctionResponse::new(id.as_deref().unwrap_or_default(), name, placeholder());
            match id {
                Some(id) => sent.push((id, answer)),
                // Without an id, the response answers no question.
                None => response.id = None,
            }
        }
        Self(sent)
    }
}

impl fmt::Debug for TakenCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TakenCredentials")
    }
}

impl KeptCredentials {
    /// Keeps the credentials that were sent to the invocation. Call it after their message is stored, so that a refused
    /// answer does not replace an accepted one.
    pub fn keep(&self, session: &SessionKey, invocation: &InvocationId, sent: TakenCredentials) {
        if sent.0.is_empty() {
            return;
        }
        let mut kept = self.kept();
        kept.count += 1;
        let count = kept.count;
        kept.invocations
            .entry((session.clone(), invocation.clone()))
            .or_insert_with(|| (count, BTreeMap::new()))
            .1
            .extend(sent.0);
        if kept.invocations.len() > MAX_INVOCATIONS
            && let Some(oldest) =
                kept.invocations.iter().min_by_key(|(_, (count, _))| *count).map(|(key, _)| key.clone())
        {
            kept.invocations.remove(&oldest);
        }
    }

    /// Returns the answer to the question `id` of an invocation, as the client sent it.
    pub(crate) fn get(&self, session: &SessionKey, invocation: &InvocationId, id: &str) -> Option<Map> {
        self.kept().invocations.get(&(session.clone(), invocation.clone()))?.1.get(id).cloned()
    }

    /// Returns `true` if this answer to the question `id` is kept for an invocation.
    #[must_use]
    pub fn is_kept(&self, session: &SessionKey, invocation: &InvocationId, id: &str, answer: &Map) -> bool {
        let kept = self.kept();
        let answers = kept.invocations.get(&(session.clone(), invocation.clone()));
        answers.and_then(|(_, answers)| answers.get(id)) == Some(answer)
    }

    /// Removes the credentials that were sent to an invocation that has ended.
    pub fn forget(&self, session: &SessionKey, invocation: &InvocationId) {
        self.kept().invocations.remove(&(session.clone(), invocation.clone()));
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Entries are inserted and removed whole, so a panic leaves nothing half-done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for KeptCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeptCredentials")
    }
}

fn placeholder() -> Map {
    Map::from_iter([("result".to_owned(), Value::from(REDACTED))])
}

/// Returns `true` if the response answers a request for a credential, whatever function name the client uses.
fn is_credential(response: &FunctionResponse, asked: &HashSet<Option<String>>) -> bool {
    response.name.as_deref() == Some(REQUEST_CREDENTIAL) || asked.contains(&response.id)
}

/// Returns the ids of the requests for credentials among the events.
fn asked_for(events: &[Arc<Event>]) -> HashSet<Option<String>> {
    let calls = events.iter().filter(|event| !event.is_from_user()).flat_map(|event| event.function_calls());
    calls.filter(|call| call.name.as_deref() == Some(REQUEST_CREDENTIAL)).map(|call| call.id.clone()).collect()
}
