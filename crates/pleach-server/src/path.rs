//! Extractors for the app, user, session, event or artifact that the path of a request names.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use pleach_artifact::{ArtifactScope, PAYLOADS_APP_SUFFIX};
use pleach_core::{AppName, SessionKey, UserId};

use crate::CallerRights;
use crate::api::Api;
use crate::caller::Caller;
use crate::error::ApiError;

/// The app of a path.
pub(crate) struct AppPath(pub(crate) String);

/// The user that a path names. The caller may act for this user.
pub(crate) struct UserPath {
    pub(crate) app: AppName,
    pub(crate) user: UserId,
}

/// The session that a path names. The caller may act for its user.
pub(crate) struct SessionPath(pub(crate) SessionKey);

/// An event of a session.
#[cfg(feature = "dev")]
pub(crate) struct EventPath {
    pub(crate) key: SessionKey,
    pub(crate) event: String,
}

/// The id of an event or a session of an app, without its user, and the user to whom the caller is bound, if any.
#[cfg(feature = "dev")]
pub(crate) struct TracePath {
    pub(crate) app: String,
    pub(crate) id: String,
    pub(crate) user: Option<UserId>,
}

/// The name of something that belongs to an app.
#[cfg(feature = "dev")]
pub(crate) struct NamePath {
    pub(crate) app: String,
    pub(crate) name: String,
}

/// The name of an artifact, and the rest of its path.
pub(crate) struct ArtifactPath {
    pub(crate) scope: ArtifactScope,
    /// The path after `artifacts/`.
    pub(crate) rest: String,
}

impl FromRequestParts<Arc<Api>> for AppPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        Segments::of(parts, api).await?.take("app").map(Self)
    }
}

impl FromRequestParts<Arc<Api>> for UserPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        Segments::of(parts, api).await?.user(parts, api)
    }
}

impl FromRequestParts<Arc<Api>> for SessionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        let mut segments = Segments::of(parts, api).await?;
        let UserPath { app, user } = segments.user(parts, api)?;
        Ok(Self(SessionKey::new(app, user, segments.take("session")?)))
    }
}

#[cfg(feature = "dev")]
impl FromRequestParts<Arc<Api>> for EventPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        let SessionPath(key) = SessionPath::from_request_parts(parts, api).await?;
        Ok(Self { key, event: Segments::of(parts, api).await?.take("event")? })
    }
}

#[cfg(feature = "dev")]
impl FromRequestParts<Arc<Api>> for TracePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        let NamePath { app, name } = NamePath::from_request_parts(parts, api).await?;
        let user = match caller(parts) {
            Caller::Anyone => None,
            Caller::User(user) => Some(user.clone()),
            Caller::Unknown => return Err(ApiError::unauthorized()),
        };
        Ok(Self { app, id: name, user })
    }
}

#[cfg(feature = "dev")]
impl FromRequestParts<Arc<Api>> for NamePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        let mut segments = Segments::of(parts, api).await?;
        Ok(Self { app: segments.take("app")?, name: segments.take("name")? })
    }
}

impl FromRequestParts<Arc<Api>> for ArtifactPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        let SessionPath(key) = SessionPath::from_request_parts(parts, api).await?;
        if key.app_name.as_str().ends_with(PAYLOADS_APP_SUFFIX) {
            return Err(ApiError::no_route());
        }
        let rest = Segments::of(parts, api).await?.find("rest").unwrap_or_default();
        Ok(Self { scope: ArtifactScope::session(&key), rest })
    }
}

/// The rights of a request's caller.
impl FromRequestParts<Arc<Api>> for CallerRights {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        Ok(api.caller_rights.of(caller(parts)))
    }
}

/// The decoded segments of a path, by the parameter names of the route.
struct Segments(Vec<(String, String)>);

impl Segments {
    async fn of(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, api).await.map_err(|_| ApiError::no_route())?;
        Ok(Self(params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }

    fn find(&mut self, name: &str) -> Option<String> {
        let place = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(place).1)
    }

    /// Takes one segment. If the segment is empty or has an encoded slash, the error is "no route".
    fn take(&mut self, name: &str) -> Result<String, ApiError> {
        let is_one = |value: &String| !value.is_empty() && !value.contains(['/', '\0']);
        self.find(name).filter(is_one).ok_or_else(ApiError::no_route)
    }

    /// Takes the app and the user. The caller must be allowed to act for the user and, if the request writes, in the
    /// app.
    fn user(&mut self, parts: &Parts, api: &Api) -> Result<UserPath, ApiError> {
        let path = UserPath { app: self.take("app")?.into(), user: self.take("user")?.into() };
        let caller = caller(parts);
        caller.check(&path.user)?;
        let writes = !parts.method.is_safe();
        if writes && !api.caller_rights.of(caller).may_write_other_apps() {
            api.runner(path.app.as_str())?;
        }
        Ok(path)
    }
}

/// Returns the caller that `entry.rs` has put into the extensions. If there is none, the caller is unknown.
pub(crate) fn caller(parts: &Parts) -> &Caller {
    parts.extensions.get::<Caller>().unwrap_or(&Caller::Unknown)
}
