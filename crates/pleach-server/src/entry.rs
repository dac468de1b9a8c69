//! The steps before routing, for every request: the default app, the guards, CORS, and the caller.
// H93

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::header::{ALLOW, HOST, ORIGIN};
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, StatusCode, Uri, Version};

use crate::api::Api;
use crate::caller::Caller;
use crate::cors;
#[cfg(feature = "dev")]
use crate::error::InternalApp;
use crate::error::{ApiError, text_response};
use crate::guard::{Bind, check};
#[cfg(feature = "dev")]
use crate::names::not_served;
use crate::routes::service::HEALTH;

/// The paths that every caller may request.
const PUBLIC: &[&str] = &[HEALTH];

/// The state of [`enter`]: the server, and the kind of address that it listens on.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) api: Arc<Api>,
    pub(crate) bind: Bind,
}

/// Checks a request and passes it to its route.
pub(crate) async fn enter(State(entry): State<Entry>, mut request: Request, next: Next) -> Response {
    let Entry { api, bind } = entry;
    // If the routes are nested, the outer service may have removed the header.
    if bind != Bind::Unknown && request.version() == Version::HTTP_11 && !request.headers().contains_key(HOST) {
        return ApiError::bad_request("The header Host is missing.").into_response();
    }
    if let Some(app) = &api.default_app {
        rewrite(&mut request, app);
    }
    if let Err(refusal) = check(request.headers(), request.uri(), bind, &api.origins) {
        return text_response(StatusCode::FORBIDDEN, refusal.text(), "text/plain");
    }
    if let Some(answer) = cors::preflight(request.method(), request.headers(), &api.origins) {
        return answer;
    }
    let origin = request.headers().get(ORIGIN).cloned();
    let mut response = match authenticate(&api, request) {
        Ok(request) => answer(request, next).await,
        Err(refused) => refused.into_response(),
    };
    #[cfg(feature = "dev")]
    if bind == Bind::Loopback
        && api.is_dev
        && let Some(InternalApp(name)) = response.extensions_mut().remove()
    {
        response = not_served(&name).into_response();
    }
    cors::mark(&mut response, origin.as_ref(), &api.origins);
    response
}

/// Finds the caller, and puts it into the extensions of the request.
fn authenticate(api: &Api, request: Request) -> Result<Request, ApiError> {
    let (mut parts, body) = request.into_parts();
    let caller = api.caller.of(&parts);
    if caller == Caller::Unknown && !PUBLIC.contains(&parts.uri.path()) {
        return Err(ApiError::unauthorized());
    }
    parts.extensions.insert(caller);
    Ok(Request::from_parts(parts, body))
}

/// Returns true if a path belongs to a UI file, and not to a route of the API.
// H100
#[cfg_attr(not(feature = "dev"), expect(unused_variables, reason = "only the development server has files"))]
fn answers_head(path: &str) -> bool {
    #[cfg(feature = "dev")]
    return crate::dev::is_file(path);
    #[cfg(not(feature = "dev"))]
    false
}

/// Runs the route. A panic fails only its own request.
async fn answer(mut request: Request, next: Next) -> Response {
    // H7: the routes would answer HEAD as they answer GET.
    if request.method() == Method::HEAD && !answers_head(request.uri().path()) {
        *request.method_mut() = Method::TRACE;
    }
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answered.unwrap_or_else(|_| {
        tracing::error!("a route panicked");
        ApiError::Internal.into_response()
    });
    if let Some(allowed) = response.headers().get(ALLOW).and_then(|allowed| allowed.to_str().ok()) {
        let methods: Vec<&str> = allowed.split(',').map(str::trim).filter(|method| *method != "HEAD").collect();
        if let Ok(methods) = HeaderValue::from_str(&methods.join(", ")) {
            response.headers_mut().insert(ALLOW, methods);
        }
    }
    response
}

/// Inserts the default app into paths that begin with a user.
// H10
fn rewrite(request: &mut Request, app: &str) {
    let path = request.uri().path();
    let lacks_app = path == "/app-info" || path.starts_with("/users/") || path.starts_with("/trigger/");
    if !lacks_app {
        return;
    }
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(format!("/apps/{app}{path}{query}")).ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}
