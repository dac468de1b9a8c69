//! One file for each agent, at the place where `adk web` keeps it.
// S39

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_core::{AppName, BoxFuture, Event, Map, Session, SessionHead, SessionId, SessionKey, UserId, private_files};
use pleach_session::{
    CreateSession, GetSessionConfig, ListQuestions, ListQuestionsResponse, ListSessions, ListSessionsResponse,
    LogPlace, NewDeadlines, SessionError, SessionResult, SessionService, Since,
};
use tokio::sync::OnceCell;

use crate::fault::File;
use crate::{SqliteOptions, SqliteSessionService};

/// Keeps the sessions of each app in a file of its own: `ROOT/APP/.adk/session.db`. Apps whose names begin with `__`
/// share `ROOT/.adk/session.db`. ADK: `PerAgentDatabaseSessionService`, the default of `adk web`.
///
/// A file is opened on the first call for its app, and created by the first
/// [`create_session`](SessionService::create_session). Reads of an unknown app create nothing.
///
/// A name that is not a path below the root (an empty or absolute one, or one with `..`) is refused as `Unsupported`.
///
/// # Example
/// ```
/// # use pleach_session_sqlite::PerAgentSessionService;
/// let sessions = PerAgentSessionService::new("agents").with_folder("shop", "shop-agent");
/// # drop(sessions);
/// ```
#[derive(Debug)]
pub struct PerAgentSessionService {
    root: PathBuf,
    options: SqliteOptions,
    folders: HashMap<AppName, String>,
    /// The files by folder; `None` after the service was closed.
    files: Mutex<Option<Files>>,
}

type Files = HashMap<PathBuf, Arc<OnceCell<SqliteSessionService>>>;

impl PerAgentSessionService {
    /// Creates a service that keeps files below `root`, with the default options.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            options: SqliteOptions::default(),
            folders: HashMap::new(),
            files: Mutex::new(Some(Files::new())),
        }
    }

    /// Sets the options of the files.
    pub fn with_options(mut self, options: SqliteOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the name of the folder that holds the file of `app_name`. ADK: `app_name_to_dir`.
    pub fn with_folder(mut self, app_name: impl Into<AppName>, folder: impl Into<String>) -> Self {
        self.folders.insert(app_name.into(), folder.into());
        self
    }

    fn folder(&self, app_name: &AppName) -> SessionResult<PathBuf> {
        if app_name.as_str().starts_with("__") {
            return Ok(self.root.join(".adk"));
        }
        let name = self.folders.get(app_name).map_or(app_name.as_str(), String::as_str);
        let path = Path::new(name);
        let is_below = !name.is_empty()
            && !name.contains('\0')
            && path.components().all(|component| matches!(component, Component::Normal(_)));
        if is_below {
            return Ok(self.root.join(path).join(".adk"));
        }
        let reason = format!(
            "{name:?} cannot be the name of a folder below {}: rename the app, or set its folder with `with_folder`",
            self.root.display()
        );
        Err(SessionError::Unsupported { what: format!("the app {app_name}"), reason })
    }

    fn files(&self) -> MutexGuard<'_, Option<Files>> {
        // Nothing panics while the map is locked.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the app's service. A missing file is created if `make` is set; otherwise the result is `None`.
    async fn service(&self, app_name: &AppName, make: bool) -> SessionResult<Option<SqliteSessionService>> {
        let folder = self.folder(app_name)?;
        let path = folder.join("session.db");
        let file = File::new(&path);
        let exists = make || path.exists();
        let cell = {
            let mut files = self.files();
            let files = files.as_mut().ok_or_else(|| file.closed())?;
            match files.get(&folder) {
                Some(cell) => Arc::clone(cell),
                None if !exists => return Ok(None),
                None => Arc::clone(files.entry(folder.clone()).or_default()),
            }
        };
        let open = || async {
            if make {
                private_files::make_folders(&folder).map_err(|error| file.fault(sqlx::Error::Io(error)))?;
            }
            SqliteSessionService::open_with(&path, self.options.clone().with_create_if_missing(make)).await
        };
        cell.get_or_try_init(open).await.cloned().map(Some)
    }

    async fn made(&self, app_name: &AppName) -> SessionResult<SqliteSessionService> {
        let made = self.service(app_name, true).await?;
        made.ok_or_else(|| File::new(&self.root).closed())
    }

    fn open_services(&self) -> Vec<SqliteSessionService> {
        let files = self.files();
        files.iter().flatten().filter_map(|(_, cell)| cell.get().cloned()).collect()
    }
}

impl SessionService for PerAgentSessionService {
    fn create_session(&self, request: CreateSession) -> BoxFuture<'_, SessionResult<Session>> {
        Box::pin(async move { self.made(&request.app_name).await?.create_session(request).await })
    }

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>> {
        Box::pin(async move {
            match self.service(&key.app_name, false).await? {
                Some(service) => service.get_session(key, config).await,
                None => Ok(None),
            }
        })
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<Option<Since>>> {
        Box::pin(async move {
            match self.service(&head.key().app_name, false).await? {
                Some(service) => service.events_since(head).await,
                None => Ok(None),
            }
        })
    }

    fn list_sessions(&self, request: ListSessions) -> BoxFuture<'_, SessionResult<ListSessionsResponse>> {
        Box::pin(async move {
            match self.service(&request.app_name, false).await? {
                Some(service) => service.list_sessions(request).await,
                None => Ok(ListSessionsResponse::default()),
            }
        })
    }

    fn list_questions(&self, request: ListQuestions) -> BoxFuture<'_, SessionResult<ListQuestionsResponse>> {
        Box::pin(async move {
            match self.service(&request.app_name, false).await? {
                Some(service) => service.list_questions(request).await,
                None => Ok(ListQuestionsResponse::default()),
            }
        })
    }

    fn new_deadlines<'a>(
        &'a self,
        app_name: &'a AppName,
        since: Option<&'a LogPlace>,
        now: f64,
    ) -> BoxFuture<'a, SessionResult<Option<NewDeadlines>>> {
        Box::pin(async move {
            match self.service(app_name, false).await? {
                Some(service) => service.new_deadlines(app_name, since, now).await,
                None => Ok(None),
            }
        })
    }

    fn find_sessions<'a>(
        &'a self,
        app_name: &'a AppName,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, SessionResult<Vec<SessionKey>>> {
        Box::pin(async move {
            match self.service(app_name, false).await? {
                Some(service) => service.find_sessions(app_name, session_id).await,
                None => Ok(Vec::new()),
            }
        })
    }

    fn delete_session<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            match self.service(&key.app_name, false).await? {
                Some(service) => service.delete_session(key).await,
                None => Ok(()),
            }
        })
    }

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, SessionResult<Arc<Event>>> {
        Box::pin(async move {
            match self.service(&head.key().app_name, false).await? {
                Some(service) => service.append(head, event).await,
                None if event.is_partial() => Ok(event),
                None => Err(SessionError::NotFound(head.key().clone())),
            }
        })
    }

    fn claim<'a>(&'a self, head: &'a mut SessionHead, time: f64) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            match self.service(&head.key().app_name, false).await? {
                Some(service) => service.claim(head, time).await,
                None => Err(SessionError::NotFound(head.key().clone())),
            }
        })
    }

    fn check_head<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            match self.service(&head.key().app_name, false).await? {
                Some(service) => service.check_head(head).await,
                None => Err(SessionError::NotFound(head.key().clone())),
            }
        })
    }

    fn note_settled<'a>(&'a self, program: &'a str, heads: &'a [SessionHead]) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            for of_app in heads.chunk_by(|one, next| one.key().app_name == next.key().app_name) {
                if let Some(service) = self.service(&of_app[0].key().app_name, false).await? {
                    service.note_settled(program, of_app).await?;
                }
            }
            Ok(())
        })
    }

    fn redact_event<'a>(
        &'a self,
        head: &'a mut SessionHead,
        event: Arc<Event>,
        time: f64,
    ) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            match self.service(&head.key().app_name, false).await? {
                Some(service) => service.redact_event(head, event, time).await,
                None => Err(SessionError::NotFound(head.key().clone())),
            }
        })
    }

    fn user_state<'a>(&'a self, app_name: &'a AppName, user_id: &'a UserId) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(async move {
            match self.service(app_name, false).await? {
                Some(service) => service.user_state(app_name, user_id).await,
                None => Ok(Map::new()),
            }
        })
    }

    fn app_state<'a>(&'a self, app_name: &'a AppName) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(async move {
            match self.service(app_name, false).await? {
                Some(service) => service.app_state(app_name).await,
                None => Ok(Map::new()),
            }
        })
    }

    /// Checks only the open files; the others are opened when they are needed.
    fn health_check(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(async move {
            for service in self.open_services() {
                service.health_check().await?;
            }
            Ok(())
        })
    }

    fn flush(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(async move {
            for service in self.open_services() {
                service.flush().await?;
            }
            Ok(())
        })
    }

    fn close(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(async move {
            let open = self.open_services();
            *self.files() = None;
            for service in open {
                service.close().await?;
            }
            Ok(())
        })
    }
}
