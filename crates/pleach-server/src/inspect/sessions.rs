//! Lists the sessions of an app; those with the newest events come first.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::Uri;
use pleach_core::{AppName, Session, UserId};
use pleach_session::{ListSessions, SessionFault};
use serde_json::{Value, json};

use super::load::limit;
use crate::Caller;
use crate::api::Api;
use crate::error::ApiError;
use crate::json::plain;
use crate::path::AppPath;
use crate::query;

/// The number of sessions that are shown by default. The maximum is [`MOST`].
const SHOWN: usize = 200;
const MOST: usize = 5000;
/// The number of sessions that are read from the store at once.
const PAGE: usize = 100;

pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    AppPath(app): AppPath,
    uri: Uri,
) -> Result<Response, ApiError> {
    let user = query::text(&uri, "user").filter(|user| !user.is_empty()).map(UserId::from);
    let user = match (&caller, user) {
        (Caller::User(own), None) => Some(own.clone()),
        (caller, Some(user)) => {
            caller.check(&user)?;
            Some(user)
        }
        (_, None) => None,
    };
    let words = query::text(&uri, "search").unwrap_or_default().to_lowercase();
    let most = limit(&uri, SHOWN, MOST)?;
    let (sessions, total) = newest(&api, &app.into(), user, &words, most).await?;
    Ok(plain(&json!({ "sessions": sessions, "total": total })))
}

/// Describes the newest sessions that match, and returns how many sessions match. The whole listing is read, because it
/// begins with the oldest session.
async fn newest(
    api: &Api,
    app: &AppName,
    user: Option<UserId>,
    words: &str,
    most: usize,
) -> Result<(VecDeque<Value>, usize), ApiError> {
    let mut kept = VecDeque::new();
    let mut total = 0;
    let mut after = None;
    loop {
        let mut wanted = ListSessions::new(app.clone()).with_limit(PAGE).without_state();
        wanted.user_id.clone_from(&user);
        wanted.after = after;
        let page = api.sessions.list_sessions(wanted).await?;
        let matches = |session: &Session| {
            let key = session.key();
            words.is_empty()
                || [key.user_id.as_str(), key.session_id.as_str()]
                    .iter()
                    .any(|text| text.to_lowercase().contains(words))
        };
        for session in page.sessions.into_iter().filter(matches) {
            total += 1;
            let fault = page.faults.iter().find(|fault| fault.session == *session.key());
            kept.push_front(described(&session, fault));
            kept.truncate(most);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok((kept, total)),
        }
    }
}

/// Describes a session. If it cannot be loaded, the description has a `fault`.
fn described(session: &Session, fault: Option<&SessionFault>) -> Value {
    let key = session.key();
    let mut described = json!({
        "appName": key.app_name,
        "userId": key.user_id,
        "id": key.session_id,
        "lastUpdateTime": session.last_update_time(),
    });
    if let Some(fault) = fault {
        described["fault"] = fault.error.to_string().into();
    }
    described
}
