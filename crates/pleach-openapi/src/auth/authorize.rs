//! [`Authorizer`]: finds the credentials of a call, or asks the client for one.

use http::StatusCode;
use pleach_auth::{AuthCredential, ClientFields, with_client};
use pleach_context::{NodeError, ToolContext};
use pleach_core::AuthConfig;

use super::access::{config, flow_of_refresh, has_client};
use super::endpoints::has_sign_in;
use super::fields::{access_token, has_token, identity, of_oauth2};
use super::grant::Grant;
use super::kept::Kept;
use super::token::{Owner, TokenError, TokenRequest};
use super::tokens::remove_access_token;
use super::{Access, Tokens};
use crate::document::{Alternative, Plan, Requirement, Scheme, SchemeKind};
use crate::http::Client;

/// Finds the credentials of one call.
pub(crate) struct Authorizer<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) access: &'a Access,
    pub(crate) tokens: &'a Tokens,
    pub(crate) client: &'a Client,
    pub(crate) ctx: &'a ToolContext,
}

/// The credentials to send with a call, or the reason why there are none.
pub(crate) enum Authorized {
    /// The call is sent with these credentials. The list is empty if none is needed.
    With(Vec<Granted>),
    /// The client was asked for a credential.
    Pending,
    /// There is no credential, for this reason.
    Failed(String),
}

/// A credential and its origin.
pub(crate) struct Granted {
    pub(crate) grant: Grant,
    credential: AuthCredential,
    /// The config that a client was asked with; `None` for a credential of the program.
    asked: Option<AuthConfig>,
}

/// The result of the search for the credential of a scheme, or for the credentials of an alternative.
enum Found<T> {
    Here(T),
    /// The client can be asked with this config.
    Missing(AuthConfig),
    /// The credential is not available, for this reason.
    Failed(String),
}

impl Authorizer<'_> {
    /// Returns the credentials of the first alternative that has all of its credentials. If no alternative has them all
    /// and the operation needs credentials, asks the client for one. It chooses the first alternative that the client
    /// can complete, and asks for the first credential that is missing there.
    ///
    /// # Errors
    /// The credential service fails, or the client cannot be asked.
    pub(crate) async fn authorize(&self) -> Result<Authorized, NodeError> {
        let (mut missing, mut failure) = (None, None);
        let is_optional = self.plan.security.iter().any(|alternative| alternative.0.is_empty());
        for alternative in self.plan.security.iter().filter(|alternative| !alternative.0.is_empty()) {
            match self.find_alternative(alternative).await? {
                Found::Here(granted) => return Ok(Authorized::With(granted)),
                Found::Missing(config) => missing = missing.or(Some(config)),
                Found::Failed(reason) => failure = failure.or(Some(reason)),
            }
        }
        match (missing.filter(|_| !is_optional), failure) {
            (Some(config), _) => {
                self.ctx.request_credential(config)?;
                Ok(Authorized::Pending)
            }
            // The call fails even if security is optional, because a call in a user's name must not become anonymous.
            (None, Some(reason)) => Ok(Authorized::Failed(reason)),
            (None, None) => Ok(Authorized::With(Vec::new())),
        }
    }

    async fn find_alternative(&self, alternative: &Alternative) -> Result<Found<Vec<Granted>>, NodeError> {
        let mut all = Vec::new();
        for requirement in &alternative.0 {
            match self.find_requirement(requirement).await? {
                Found::Here(granted) => all.push(granted),
                Found::Missing(config) => return Ok(Found::Missing(config)),
                Found::Failed(reason) => return Ok(Found::Failed(reason)),
            }
        }
        Ok(Found::Here(all))
    }

    async fn find_requirement(&self, requirement: &Requirement) -> Result<Found<Granted>, NodeError> {
        let scheme = &*requirement.scheme;
        let configured = self.access.of(scheme);
        if let Some(own) = configured
            && let Some(found) = self.find_program_credential(requirement, own).await
        {
            return Ok(found);
        }
        let config = config(scheme, &self.plan.base, configured);
        let kept = Kept { config: &config, ctx: self.ctx };
        let mut failure = None;
        for is_answer in [true, false] {
            let sent = if is_answer { kept.answered() } else { kept.stored().await? };
            let Some(sent) = sent else { continue };
            match self.check_sent(scheme, &kept, &sent).await? {
                Sent::Usable(grant, credential) => {
                    return Ok(Found::Here(Granted { grant, credential, asked: Some(config) }));
                }
                Sent::Unavailable(reason) => return Ok(Found::Failed(reason)),
                Sent::Useless(reason) => {
                    kept.replace(&sent, None).await?;
                    failure = failure.or(reason);
                }
            }
        }
        Ok(failure.map_or(Found::Missing(config), Found::Failed))
    }

    /// Returns the credential that the program configures; `None` if a client must be asked.
    async fn find_program_credential(&self, requirement: &Requirement, own: &AuthCredential) -> Option<Found<Granted>> {
        let scheme = &*requirement.scheme;
        match Grant::of(scheme, own, self.now()) {
            Ok(Some(grant)) => {
                let grant = grant.with_headers(own);
                return Some(Found::Here(Granted { grant, credential: own.clone(), asked: None }));
            }
            Ok(None) => {}
            Err(reason) => return Some(Found::Failed(no_credential(scheme, reason))),
        }
        let request = match self.request_of_program(requirement, own) {
            Ok(Some(request)) => request,
            Ok(None) if has_token(own) && !(has_sign_in(scheme) && has_client(own)) => {
                return Some(Found::Failed(no_credential(scheme, "the configured token has expired")));
            }
            Ok(None) => return None,
            Err(reason) => return Some(Found::Failed(no_credential(scheme, &reason))),
        };
        Some(match self.token(scheme, request).await {
            Ok((grant, credential)) => Found::Here(Granted { grant: grant.with_headers(own), credential, asked: None }),
            Err(TokenError::Refused(reason) | TokenError::Failed(reason)) => Found::Failed(reason),
        })
    }

    fn request_of_program(
        &self,
        requirement: &Requirement,
        own: &AuthCredential,
    ) -> Result<Option<TokenRequest>, String> {
        let Requirement { scheme, scopes } = requirement;
        let endpoints = |flow: &str| self.access.endpoints(scheme, flow, &self.plan.base);
        if scheme.kind != SchemeKind::OAuth2 || !has_client(own) {
            return Ok(None);
        }
        if of_oauth2(own, "refresh_token").is_some() {
            return Ok(TokenRequest::of(endpoints(flow_of_refresh(scheme))?, own.clone(), None)?);
        }
        if has_sign_in(scheme) || of_oauth2(own, "client_secret").is_none() {
            return Ok(None);
        }
        Ok(Some(TokenRequest::of_program(endpoints("clientCredentials")?, scopes, own)?))
    }

    /// Checks whether a credential from a client can be used, and exchanges its code for a token. The token is kept at
    /// once, because the server may never answer the call.
    async fn check_sent(&self, scheme: &Scheme, kept: &Kept<'_>, sent: &AuthCredential) -> Result<Sent, NodeError> {
        let useless = |reason: &str| {
            Ok(Sent::Useless(Some(format!(
                "the credential for the security scheme `{}` cannot be used: {reason}",
                scheme.name
            ))))
        };
        match Grant::of(scheme, sent, self.now()) {
            Ok(Some(grant)) => return Ok(Sent::Usable(grant, sent.clone())),
            Ok(None) => {}
            Err(reason) => return useless(reason),
        }
        let own = with_client(sent.clone(), kept.config, ClientFields::IdAndSecret);
        let request = match scheme.kind {
            SchemeKind::OAuth2 => {
                let endpoints = self.access.endpoints(scheme, "authorizationCode", &self.plan.base);
                endpoints.and_then(|endpoints| Ok(TokenRequest::of(endpoints, own, Some(self.owner()))?))
            }
            _ => Ok(None),
        };
        let request = match request {
            Ok(Some(request)) => request,
            // The token has expired, so the client is asked again.
            Ok(None) if access_token(sent).is_some() => return Ok(Sent::Useless(None)),
            Ok(None) => return useless("it is of another kind, or empty"),
            Err(reason) => return useless(&reason),
        };
        match self.token(scheme, request).await {
            Ok((grant, credential)) => {
                kept.keep(&credential).await?;
                Ok(Sent::Usable(grant, credential))
            }
            Err(TokenError::Refused(reason)) => Ok(Sent::Useless(Some(reason))),
            Err(TokenError::Failed(reason)) => Ok(Sent::Unavailable(reason)),
        }
    }

    async fn token(&self, scheme: &Scheme, request: TokenRequest) -> Result<(Grant, AuthCredential), TokenError> {
        let clock = self.ctx.invocation().clock();
        let credential = self.tokens.of(request, self.client, clock).await.map_err(|error| match error {
            TokenError::Refused(reason) => TokenError::Refused(no_token(scheme, &reason)),
            TokenError::Failed(reason) => TokenError::Failed(no_token(scheme, &reason)),
        })?;
        // A new token is sent even if it expires soon.
        match Grant::of(scheme, &credential, f64::NEG_INFINITY) {
            Ok(Some(grant)) => Ok((grant, credential)),
            Ok(None) => Err(TokenError::Failed(no_token(scheme, "the token endpoint answered without a token"))),
            Err(reason) => Err(TokenError::Refused(no_token(scheme, reason))),
        }
    }

    /// Keeps accepted credentials for later calls, and drops refused credentials, so that the next call asks again. If
    /// a refused token has a refresh token, only the access token is dropped.
    ///
    /// # Errors
    /// The credential service fails.
    pub(crate) async fn settle(&self, granted: &[Granted], status: StatusCode) -> Result<(), NodeError> {
        for Granted { credential, asked, .. } in granted {
            let kept = asked.as_ref().map(|config| Kept { config, ctx: self.ctx });
            if status == StatusCode::UNAUTHORIZED {
                if let Some(token) = access_token(credential) {
                    self.tokens.expire(token);
                }
                let rest = of_oauth2(credential, "refresh_token").map(|_| {
                    let mut rest = credential.clone();
                    remove_access_token(&mut rest);
                    rest
                });
                if let Some(kept) = kept {
                    kept.replace(credential, rest.as_ref()).await?;
                }
            } else if status.is_success()
                && let Some(kept) = kept
                && kept.stored().await?.is_none_or(|stored| identity(&stored) != identity(credential))
            {
                kept.store(Some(credential)).await?;
            }
        }
        Ok(())
    }

    fn owner(&self) -> Owner {
        let key = self.ctx.invocation().session_key();
        (key.app_name.clone(), key.user_id.clone())
    }

    fn now(&self) -> f64 {
        self.ctx.invocation().clock().now()
    }
}

/// The result of checking a credential from a client.
enum Sent {
    Usable(Grant, AuthCredential),
    /// The credential is dropped. The text is the reason, if the model should see one.
    Useless(Option<String>),
    /// The credential cannot be checked now, for this reason.
    Unavailable(String),
}

fn no_credential(scheme: &Scheme, reason: &str) -> String {
    format!("there is no credential for the security scheme `{}`: {reason}", scheme.name)
}

fn no_token(scheme: &Scheme, reason: &str) -> String {
    format!("no token could be had for the security scheme `{}`: {reason}", scheme.name)
}
