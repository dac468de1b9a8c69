//! `interop dump`: prints the contents of a database, as google-adk would read them.

use anyhow::Context as _;
use pleach::{GetSessionConfig, ListSessions, Session, SessionKey, SessionService, connect, to_camel};
use serde_json::{Value, json};

use super::database::{Database, Names};

/// Returns an object with the arrays `get_session`, `list_sessions` and `user_state`.
///
/// `get_session` has every session. `list_sessions` has every app, once with `user` null and once with each user.
/// `user_state` has every app with each user. Each is sorted by app, user and id, with `null` first. Sessions are
/// written as in the HTTP API.
///
/// # Errors
/// There is no such database, or it cannot be read.
pub async fn dump(url: &str) -> anyhow::Result<Value> {
    let database = Database::of(url)?;
    database.ensure_exists()?;
    let service = connect(url).await?;
    let names = database.names().await?;
    let answer = json!({
        "get_session": sessions(&*service, &names).await?,
        "list_sessions": lists(&*service, &names).await?,
        "user_state": user_states(&*service, &names).await?,
    });
    service.close().await?;
    Ok(answer)
}

async fn sessions(service: &dyn SessionService, names: &Names) -> anyhow::Result<Vec<Value>> {
    let mut keys = Vec::new();
    for app in &names.apps {
        let listed = service.list_sessions(ListSessions::new(app.as_str())).await?.sessions;
        keys.extend(listed.iter().map(|session| session.key().clone()));
    }
    keys.sort();
    let mut entries = Vec::new();
    for key in keys {
        let session = service.get_session(&key, GetSessionConfig::all()).await;
        let session = session.with_context(|| format!("cannot read session {key}"))?;
        // `None` if the session was deleted in the meantime.
        entries.extend(session.map(|session| whole(&key, &session)).transpose()?);
    }
    Ok(entries)
}

fn whole(key: &SessionKey, session: &Session) -> anyhow::Result<Value> {
    let session = to_camel(session)?;
    Ok(json!({"app": key.app_name, "user": key.user_id, "id": key.session_id, "session": session}))
}

async fn lists(service: &dyn SessionService, names: &Names) -> anyhow::Result<Vec<Value>> {
    let mut entries = Vec::new();
    for app in &names.apps {
        let users = names.users.iter().filter(|(of, _)| of == app).map(|(_, user)| user.as_str());
        for user in std::iter::once(None).chain(users.map(Some)) {
            let mut request = ListSessions::new(app.as_str());
            request.user_id = user.map(Into::into);
            let listed = service.list_sessions(request).await?.sessions;
            let listed = listed.iter().map(to_camel).collect::<Result<Vec<_>, _>>()?;
            entries.push(json!({"app": app, "user": user, "sessions": listed}));
        }
    }
    Ok(entries)
}

async fn user_states(service: &dyn SessionService, names: &Names) -> anyhow::Result<Vec<Value>> {
    let mut entries = Vec::new();
    for (app, user) in &names.users {
        let state = service.user_state(&app.as_str().into(), &user.as_str().into()).await?;
        entries.push(json!({"app": app, "user": user, "state": state}));
    }
    Ok(entries)
}
