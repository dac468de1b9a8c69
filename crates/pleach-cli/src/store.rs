//! Opens a database, and finds the sessions that a command names.

use std::path::Path;
use std::sync::Arc;

use pleach::{
    AppName, FileArtifactService, ListCursor, ListSessions, ListSessionsResponse, PayloadSessions, Session, SessionId,
    SessionKey, SessionService, SystemClock, connect, connect_read_only,
};

use crate::args::{One, SessionFilter, Store};
use crate::fault::Fault;

/// The number of sessions that are read at once for a listing.
const PAGE: usize = 200;

/// Opens an existing database. A missing SQLite file is an error.
pub(crate) async fn open(store: &Store) -> Result<Arc<dyn SessionService>, Fault> {
    open_existing(&store.url, store.payloads.as_deref()).await
}

/// Opens an existing database by its URL.
pub(crate) async fn open_existing(url: &str, payloads: Option<&Path>) -> Result<Arc<dyn SessionService>, Fault> {
    let is_file = url.starts_with("sqlite");
    let has_mode = url.split_once('?').is_some_and(|(_, query)| query.split('&').any(|pair| pair.starts_with("mode=")));
    let joint = if url.contains('?') { '&' } else { '?' };
    let existing = if is_file && !has_mode { format!("{url}{joint}mode=rw") } else { url.to_owned() };
    check_folder(payloads)?;
    with_payloads(connect(&existing).await?, payloads).await
}

/// Opens an existing database read-only.
pub(crate) async fn open_to_read(store: &Store) -> Result<Arc<dyn SessionService>, Fault> {
    check_folder(store.payloads.as_deref())?;
    with_payloads(connect_read_only(&store.url).await?, store.payloads.as_deref()).await
}

/// Opens a database for writing, and creates a missing SQLite file or payload folder.
pub(crate) async fn open_or_make(url: &str, payloads: Option<&Path>) -> Result<Arc<dyn SessionService>, Fault> {
    with_payloads(connect(url).await?, payloads).await
}

/// Refuses a folder that does not exist, because opening would create it.
fn check_folder(folder: Option<&Path>) -> Result<(), Fault> {
    let Some(folder) = folder else { return Ok(()) };
    let fault = |error| Fault::File { path: folder.to_owned(), error };
    std::fs::read_dir(folder).map(drop).map_err(fault)
}

async fn with_payloads(
    sessions: Arc<dyn SessionService>,
    folder: Option<&Path>,
) -> Result<Arc<dyn SessionService>, Fault> {
    let Some(folder) = folder else { return Ok(sessions) };
    let artifacts = FileArtifactService::open(folder, Arc::new(SystemClock)).await?;
    Ok(Arc::new(PayloadSessions::new(sessions, Arc::new(artifacts))))
}

/// Refuses a session with values that are neither in the database nor in a named folder, because a copy would lose them
/// when the original is deleted.
pub(crate) fn check_whole(session: &Session) -> Result<(), Fault> {
    match session.events.iter().find(|event| PayloadSessions::has_references(event)) {
        Some(event) => Err(Fault::Outside { session: session.key().clone(), event: event.id().to_string() }),
        None => Ok(()),
    }
}

/// Loads a session to copy it; `None` if it was deleted after it was listed.
///
/// # Errors
/// [`Fault::Outside`], as in [`check_whole`], or an error of the store.
pub(crate) async fn load_whole(store: &dyn SessionService, key: &SessionKey) -> Result<Option<Session>, Fault> {
    let session = store.get_session(key, Default::default()).await?;
    session.as_ref().map_or(Ok(()), check_whole)?;
    Ok(session)
}

/// Returns the named app, or all apps that have sessions.
pub(crate) async fn apps(store: &dyn SessionService, app: Option<&str>) -> Result<Vec<AppName>, Fault> {
    match app {
        Some(app) => Ok(vec![AppName::from(app)]),
        None => Ok(store.list_apps().await?),
    }
}

/// Finds the session that a command names.
pub(crate) async fn find(store: &dyn SessionService, one: &One) -> Result<SessionKey, Fault> {
    let id = SessionId::from(one.id.as_str());
    let mut keys = Vec::new();
    for app in apps(store, one.app.as_deref()).await? {
        keys.extend(store.find_sessions(&app, &id).await?);
    }
    keys.retain(|key| one.user.as_deref().is_none_or(|user| key.user_id.as_str() == user));
    match keys.len() {
        1 => Ok(keys.remove(0)),
        0 => Err(missing(one)),
        _ => Err(Fault::Ambiguous { id: one.id.clone(), keys }),
    }
}

/// Loads the session that a command names.
pub(crate) async fn load(store: &dyn SessionService, one: &One) -> Result<Session, Fault> {
    let key = find(store, one).await?;
    store.get_session(&key, Default::default()).await?.ok_or_else(|| missing(one))
}

fn missing(one: &One) -> Fault {
    let mut of = one.app.as_ref().map(|app| format!(" of app {app:?}")).unwrap_or_default();
    of.extend(one.user.as_ref().map(|user| format!(" of user {user:?}")));
    Fault::NoSession { id: one.id.clone(), of }
}

/// Reads a listing page by page.
pub(crate) struct Pages<'s> {
    store: &'s dyn SessionService,
    app: AppName,
    user: Option<String>,
    /// The number of sessions that may still be listed.
    left: usize,
    after: Option<ListCursor>,
    is_over: bool,
}

impl<'s> Pages<'s> {
    pub(crate) fn new(
        store: &'s dyn SessionService,
        app: AppName,
        whose: &SessionFilter,
        limit: Option<usize>,
    ) -> Self {
        let left = limit.unwrap_or(usize::MAX);
        Self { store, app, user: whose.user.clone(), left, after: None, is_over: left == 0 }
    }

    /// Returns the next sessions, without state and events.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Session>>, Fault> {
        let page = self.page(false).await?;
        Ok(page.map(|page| page.sessions))
    }

    /// Returns the next sessions without events, and the faults of the sessions that cannot be read.
    pub(crate) async fn next_judged(&mut self) -> Result<Option<ListSessionsResponse>, Fault> {
        self.page(true).await
    }

    async fn page(&mut self, with_state: bool) -> Result<Option<ListSessionsResponse>, Fault> {
        if self.is_over {
            return Ok(None);
        }
        let mut request = ListSessions::new(self.app.clone()).with_limit(PAGE.min(self.left));
        request.with_state = with_state;
        request.user_id = self.user.as_deref().map(Into::into);
        request.after = self.after.take();
        let page = self.store.list_sessions(request).await?;
        self.left -= page.sessions.len().min(self.left);
        self.is_over = page.next.is_none() || self.left == 0;
        self.after.clone_from(&page.next);
        Ok(Some(page))
    }
}
