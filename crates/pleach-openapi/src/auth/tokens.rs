//! [`Tokens`]: asks token endpoints, and keeps what they gave.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::lock::Mutex as AsyncMutex;
use pleach_auth::AuthCredential;
use serde_json::Value;

use super::token::{Source, TokenRequest};
use crate::http::Client;

/// How many tokens are kept. Of more the oldest is forgotten: its user signs in again.
const MOST: usize = 1_000;

/// The tokens that were given for codes, refresh tokens and clients: a code counts once, and one token serves many calls. Debug output shows none.
#[derive(Default)]
pub(crate) struct Tokens(Mutex<VecDeque<(Source, Place)>>);

/// Where the token of one source is kept. It is locked while the endpoint is asked.
type Place = Arc<AsyncMutex<Option<AuthCredential>>>;

impl Tokens {
    /// Returns the credential for a request: the one that is kept and has not expired, else that of the endpoint. Parallel calls with one code
    /// make one request.
    ///
    /// # Errors
    /// Why the endpoint gave none, for the model.
    ///
    /// # Cancel safety
    /// Dropping the future drops the request; a code that was sent may be used up.
    pub(crate) async fn of(&self, request: TokenRequest, client: &Client, now: f64) -> Result<AuthCredential, String> {
        let place = self.place(&request.source);
        let mut kept = place.lock().await;
        if let Some(credential) = kept.as_ref().filter(|credential| !has_expired(credential, now)) {
            return Ok(credential.clone());
        }
        let (outgoing, is_loopback) = request.outgoing();
        let answer =
            client.send(outgoing, is_loopback).await.map_err(|error| format!("the token endpoint: {error}"))?;
        let credential = request.answered(&answer, now)?;
        *kept = Some(credential.clone());
        Ok(credential)
    }

    /// Forgets a token that a server has refused.
    pub(crate) fn forget(&self, source: &Source) {
        self.places(|places| places.retain(|(other, _)| other != source));
    }

    fn place(&self, source: &Source) -> Place {
        self.places(|places| {
            if let Some((_, place)) = places.iter().find(|(other, _)| other == source) {
                return Arc::clone(place);
            }
            let place = Place::default();
            places.push_back((source.clone(), Arc::clone(&place)));
            if places.len() > MOST {
                places.pop_front();
            }
            place
        })
    }

    fn places<T>(&self, change: impl FnOnce(&mut VecDeque<(Source, Place)>) -> T) -> T {
        // Entries are inserted and removed whole, so a panic leaves nothing half-done.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

fn has_expired(credential: &AuthCredential, now: f64) -> bool {
    let expires_at = credential.oauth2.as_ref().and_then(|oauth2| oauth2.get("expires_at")).and_then(Value::as_f64);
    expires_at.is_some_and(|expires_at| expires_at <= now)
}
