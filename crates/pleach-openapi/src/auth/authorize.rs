//! [`Authorizer`]: the credentials of a call, or a request for one.

use http::StatusCode;
use pleach_auth::{AuthCredential, ClientFields, credential_key, with_client};
use pleach_context::engine::Engine as _;
use pleach_context::{NodeError, ToolContext};
use pleach_core::AuthConfig;
use serde_json::Value;

use super::access::{config, has_sign_in};
use super::grant::Grant;
use super::token::{Source, TokenRequest};
use super::{Access, Tokens};
use crate::document::{Alternative, Plan, Scheme};
use crate::http::Client;

/// Finds the credentials of one call.
pub(crate) struct Authorizer<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) access: &'a Access,
    pub(crate) tokens: &'a Tokens,
    pub(crate) client: &'a Client,
    pub(crate) ctx: &'a ToolContext,
}

/// What a call may be sent with.
pub(crate) enum Authorized {
    /// The credentials; none where none is needed.
    With(Vec<Granted>),
    /// The client was asked for one.
    Pending,
    /// There is none, for this reason.
    Failed(String),
}

/// A credential and where it comes from.
pub(crate) struct Granted {
    pub(crate) grant: Grant,
    /// Of one that a client has sent: its config and itself.
    sent: Option<(AuthConfig, AuthCredential)>,
    /// Of a token that an endpoint gave.
    source: Option<Source>,
}

/// What there is for a scheme, or for all of an alternative.
enum Found<T> {
    Here(T),
    /// The client can be asked with this config.
    Missing(AuthConfig),
    /// It can be had no more, for this reason.
    Failed(String),
}

impl Authorizer<'_> {
    /// Finds the credentials: those of the first alternative that has all. Where there is none, and the operation needs one, the client is asked for
    /// the first missing one of the first alternative.
    ///
    /// # Errors
    /// The credential service fails, or the client cannot be asked.
    pub(crate) async fn authorize(&self) -> Result<Authorized, NodeError> {
        let (mut missing, mut failure) = (None, None);
        let is_optional = self.plan.security.iter().any(|alternative| alternative.0.is_empty());
        for alternative in self.plan.security.iter().filter(|alternative| !alternative.0.is_empty()) {
            match self.of_alternative(alternative).await? {
                Found::Here(granted) => return Ok(Authorized::With(granted)),
                Found::Missing(config) => missing = missing.or(Some(config)),
                Found::Failed(reason) => failure = failure.or(Some(reason)),
            }
        }
        match (failure, missing) {
            _ if is_optional => Ok(Authorized::With(Vec::new())),
            (Some(reason), _) => Ok(Authorized::Failed(reason)),
            (None, Some(config)) => {
                self.ctx.request_credential(config)?;
                Ok(Authorized::Pending)
            }
            (None, None) => Ok(Authorized::With(Vec::new())),
        }
    }

    async fn of_alternative(&self, alternative: &Alternative) -> Result<Found<Vec<Granted>>, NodeError> {
        let mut all = Vec::new();
        for scheme in &alternative.0 {
            match self.of_scheme(scheme).await? {
                Found::Here(granted) => all.push(granted),
                Found::Missing(config) => return Ok(Found::Missing(config)),
                Found::Failed(reason) => return Ok(Found::Failed(reason)),
            }
        }
        Ok(Found::Here(all))
    }

    async fn of_scheme(&self, scheme: &Scheme) -> Result<Found<Granted>, NodeError> {
        let now = self.ctx.invocation().clock().now();
        let configured = self.access.of(scheme);
        if let Some(grant) = configured.and_then(|credential| Grant::of(scheme, credential, now)) {
            return Ok(Found::Here(Granted { grant, sent: None, source: None }));
        }
        let own = configured.filter(|_| !has_sign_in(&scheme.json));
        if let Some(request) = own.and_then(|own| TokenRequest::of_client(scheme, own)) {
            return Ok(match self.token(scheme, request, now).await {
                Ok((grant, _, source)) => Found::Here(Granted { grant, sent: None, source: Some(source) }),
                Err(reason) => Found::Failed(reason),
            });
        }
        let config = config(scheme, &self.plan.base, configured);
        for sent in [self.ctx.get_auth_response(&config), self.stored(&config).await?].into_iter().flatten() {
            if let Some(grant) = Grant::of(scheme, &sent, now) {
                return Ok(Found::Here(Granted { grant, sent: Some((config, sent)), source: None }));
            }
            let own = with_client(sent, &config, ClientFields::IdAndSecret);
            let Some(request) = TokenRequest::of_user(scheme, own) else { continue };
            match self.token(scheme, request, now).await {
                Ok((grant, credential, source)) => {
                    return Ok(Found::Here(Granted { grant, sent: Some((config, credential)), source: Some(source) }));
                }
                Err(reason) => {
                    self.forget(&config).await?;
                    return Ok(Found::Failed(reason));
                }
            }
        }
        Ok(Found::Missing(config))
    }

    async fn token(
        &self,
        scheme: &Scheme,
        request: TokenRequest,
        now: f64,
    ) -> Result<(Grant, AuthCredential, Source), String> {
        let source = request.source.clone();
        let fault =
            |reason: String| format!("no token could be had for the security scheme `{}`: {reason}", scheme.name);
        let credential = self.tokens.of(request, self.client, now).await.map_err(fault)?;
        let grant = Grant::of(scheme, &credential, now).ok_or_else(|| fault("it has expired already".to_owned()))?;
        Ok((grant, credential, source))
    }

    async fn stored(&self, config: &AuthConfig) -> Result<Option<AuthCredential>, NodeError> {
        if self.keeps_credentials() { self.ctx.load_credential(config).await } else { Ok(None) }
    }

    /// Keeps the credentials of a call for later ones, or forgets them when the server has refused them, so that the next call asks again.
    ///
    /// # Errors
    /// The credential service fails.
    pub(crate) async fn settle(&self, granted: &[Granted], status: StatusCode) -> Result<(), NodeError> {
        let is_refused = status == StatusCode::UNAUTHORIZED;
        for granted in granted {
            if let Some(source) = granted.source.as_ref().filter(|_| is_refused) {
                self.tokens.forget(source);
            }
            let Some((config, credential)) = &granted.sent else { continue };
            if is_refused {
                self.forget(config).await?;
            } else if self.keeps_credentials() && self.ctx.load_credential(config).await?.as_ref() != Some(credential) {
                self.save(config, serde_json::to_value(credential).unwrap_or_default()).await?;
            }
        }
        Ok(())
    }

    async fn forget(&self, config: &AuthConfig) -> Result<(), NodeError> {
        self.ctx.state().set(format!("temp:{}", credential_key(config)), Value::Null)?;
        if self.keeps_credentials() { self.save(config, Value::Null).await } else { Ok(()) }
    }

    async fn save(&self, config: &AuthConfig, credential: Value) -> Result<(), NodeError> {
        let mut kept = config.as_value().clone();
        kept["exchanged_auth_credential"] = credential;
        self.ctx.save_credential(&AuthConfig::new(kept)).await
    }

    /// Whether the app has a service that keeps credentials beyond the invocation.
    fn keeps_credentials(&self) -> bool {
        self.ctx.invocation().engine().services().credentials.is_some()
    }
}
