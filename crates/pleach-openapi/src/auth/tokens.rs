//! [`Tokens`]: requests tokens and caches them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::lock::Mutex as AsyncMutex;
use pleach_auth::AuthCredential;
use pleach_core::{AuthDocument, Clock};

use super::fields::{access_token, has_expired};
use super::token::{Source, TokenError, TokenRequest};
use crate::http::Client;

/// The maximum number of cached tokens. Beyond that, the oldest token of a user is dropped from the cache; the user's
/// credential still has it.
const MOST: usize = 1_000;

/// The tokens that were issued for codes, refresh tokens and the program. A code can be used only once, so parallel
/// calls share its token. Debug output shows no token.
#[derive(Default)]
pub(crate) struct Tokens(Mutex<VecDeque<(Source, Place)>>);

/// The token of one source. It is locked during a request to the endpoint.
type Place = Arc<AsyncMutex<Option<AuthCredential>>>;

impl Tokens {
    /// Returns the credential for a request. If it is not cached or has expired, requests a token from the endpoint,
    /// with the last refresh token if there is one. Parallel calls with the same code make one request.
    ///
    /// # Errors
    /// The reason why the endpoint issued no token, for the model.
    ///
    /// # Cancel safety
    /// Dropping the future drops the request; a code that was sent may be used up.
    pub(crate) async fn of(
        &self,
        request: TokenRequest,
        client: &Client,
        clock: &Arc<dyn Clock>,
    ) -> Result<AuthCredential, TokenError> {
        let now = clock.now();
        let source = request.source.clone();
        let place = self.place(&source);
        let mut kept = place.lock().await;
        let request = match kept.as_ref() {
            Some(credential) if access_token(credential).is_some() && !has_expired(credential, now) => {
                return Ok(credential.clone());
            }
            Some(credential) => request.after(credential),
            None => request,
        };
        let (outgoing, endpoint) = request.outgoing();
        let answer = client.send(outgoing, endpoint, clock).await;
        let answer = answer.map_err(|error| TokenError::Failed(format!("the token endpoint: {error}")));
        match answer.and_then(|answer| request.answered(&answer, now)) {
            Ok(credential) => {
                *kept = Some(credential.clone());
                Ok(credential)
            }
            Err(error) => {
                // A source without a token, such as a made-up code, is not kept.
                if kept.is_none() || matches!(error, TokenError::Refused(_)) {
                    self.places(|places| places.retain(|(other, _)| *other != source));
                }
                Err(error)
            }
        }
    }

    /// Treats a token that a server has refused as expired, so that the next call asks the endpoint again.
    pub(crate) fn expire(&self, token: &str) {
        let places: Vec<Place> = self.places(|places| places.iter().map(|(_, place)| Arc::clone(place)).collect());
        for place in places {
            // A locked token is being replaced.
            let Some(mut kept) = place.try_lock() else { continue };
            if let Some(credential) = kept.as_mut().filter(|credential| access_token(credential) == Some(token)) {
                remove_access_token(credential);
            }
        }
    }

    fn place(&self, source: &Source) -> Place {
        self.places(|places| {
            if let Some((_, place)) = places.iter().find(|(other, _)| other == source) {
                return Arc::clone(place);
            }
            let place = Place::default();
            places.push_back((source.clone(), Arc::clone(&place)));
            if places.len() > MOST
                && let Some(oldest) = places.iter().position(|(source, _)| source.owner.is_some())
            {
                places.remove(oldest);
            }
            place
        })
    }

    fn places<T>(&self, change: impl FnOnce(&mut VecDeque<(Source, Place)>) -> T) -> T {
        // Entries are inserted and removed whole, so a panic leaves nothing half done.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

/// Removes the access token of a credential, and leaves the refresh token.
pub(super) fn remove_access_token(credential: &mut AuthCredential) {
    let mut oauth2 = credential.oauth2.take().map(AuthDocument::into_value).unwrap_or_default();
    if let Some(members) = oauth2.as_object_mut() {
        for name in ["access_token", "id_token", "expires_at", "expires_in"] {
            members.remove(name);
        }
    }
    credential.oauth2 = Some(AuthDocument::new(oauth2));
}
