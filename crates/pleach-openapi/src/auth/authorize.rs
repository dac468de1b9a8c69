//! [`authorize`]: the credentials of a call, or a request for one.

use http::StatusCode;
use pleach_auth::{AuthCredential, credential_key};
use pleach_context::engine::Engine as _;
use pleach_context::{NodeError, ToolContext};
use pleach_core::AuthConfig;
use serde_json::Value;

use super::Access;
use super::access::config;
use super::grant::Grant;
use crate::document::{Alternative, Plan, Scheme};

/// What a call may be sent with.
pub(crate) enum Authorized {
    /// The credentials; none where none is needed.
    With(Vec<Granted>),
    /// The client was asked for one.
    Pending,
}

/// A credential and where it comes from.
pub(crate) struct Granted {
    pub(crate) grant: Grant,
    /// Of one that a client has sent: its config and itself.
    sent: Option<(AuthConfig, AuthCredential)>,
}

/// Finds the credentials of a call: those of the first alternative that has all. Where there is none, and the operation needs one, the client is
/// asked for the first missing one of the first alternative.
///
/// # Errors
/// The credential service fails, or the client cannot be asked.
pub(crate) async fn authorize(plan: &Plan, access: &Access, ctx: &ToolContext) -> Result<Authorized, NodeError> {
    let mut missing = None;
    let is_optional = plan.security.iter().any(|alternative| alternative.0.is_empty());
    for alternative in plan.security.iter().filter(|alternative| !alternative.0.is_empty()) {
        match of_alternative(alternative, plan, access, ctx).await? {
            Ok(granted) => return Ok(Authorized::With(granted)),
            Err(lacking) => missing = missing.or(Some(lacking)),
        }
    }
    match missing {
        Some(config) if !is_optional => {
            ctx.request_credential(config)?;
            Ok(Authorized::Pending)
        }
        _ => Ok(Authorized::With(Vec::new())),
    }
}

/// Returns the credentials of an alternative, or the config of the first one that is missing.
async fn of_alternative(
    alternative: &Alternative,
    plan: &Plan,
    access: &Access,
    ctx: &ToolContext,
) -> Result<Result<Vec<Granted>, AuthConfig>, NodeError> {
    let mut granted = Vec::new();
    for scheme in &alternative.0 {
        match of_scheme(scheme, plan, access, ctx).await? {
            Ok(grant) => granted.push(grant),
            Err(config) => return Ok(Err(config)),
        }
    }
    Ok(Ok(granted))
}

async fn of_scheme(
    scheme: &Scheme,
    plan: &Plan,
    access: &Access,
    ctx: &ToolContext,
) -> Result<Result<Granted, AuthConfig>, NodeError> {
    let now = ctx.invocation().clock().now();
    let configured = access.of(scheme);
    if let Some(grant) = configured.and_then(|credential| Grant::of(scheme, credential, now)) {
        return Ok(Ok(Granted { grant, sent: None }));
    }
    let config = config(scheme, &plan.base, configured);
    let mut sent = ctx.get_auth_response(&config);
    if sent.as_ref().and_then(|credential| Grant::of(scheme, credential, now)).is_none() && keeps_credentials(ctx) {
        sent = ctx.load_credential(&config).await?;
    }
    match sent.and_then(|credential| Some((Grant::of(scheme, &credential, now)?, credential))) {
        Some((grant, credential)) => Ok(Ok(Granted { grant, sent: Some((config, credential)) })),
        None => Ok(Err(config)),
    }
}

/// Keeps the credentials of a call for later ones, or forgets them when the server has refused them, so that the next call asks again.
///
/// # Errors
/// The credential service fails.
pub(crate) async fn settle(granted: &[Granted], status: StatusCode, ctx: &ToolContext) -> Result<(), NodeError> {
    let is_refused = status == StatusCode::UNAUTHORIZED;
    for (config, credential) in granted.iter().filter_map(|granted| granted.sent.as_ref()) {
        if is_refused {
            ctx.state().set(format!("temp:{}", credential_key(config)), Value::Null)?;
        }
        if !keeps_credentials(ctx) {
            continue;
        }
        if !is_refused && ctx.load_credential(config).await?.as_ref() == Some(credential) {
            continue;
        }
        let kept = if is_refused { Value::Null } else { serde_json::to_value(credential).unwrap_or_default() };
        let mut kept_config = config.as_value().clone();
        kept_config["exchanged_auth_credential"] = kept;
        ctx.save_credential(&AuthConfig::new(kept_config)).await?;
    }
    Ok(())
}

/// Whether the app has a service that keeps credentials beyond the invocation.
fn keeps_credentials(ctx: &ToolContext) -> bool {
    ctx.invocation().engine().services().credentials.is_some()
}
