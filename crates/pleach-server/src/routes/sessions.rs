//! The routes that create, read, change and remove sessions.
// H30–H38

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use pleach_auth::drop_shown_credentials;
use pleach_core::{AppName, Event, EventId, InvocationId, Map, Scope, Session, SessionKey, UserId};
use pleach_session::prepare::turn_key;
use pleach_session::{CreateSession, GetSessionConfig, ListSessions, SessionError, SessionServiceExt as _, Since};

use super::initial_events::{check_initial, check_tasks, restored};
use crate::CallerRights;
use crate::api::Api;
use crate::body::{CreateBody, StateBody, UpdateBody};
use crate::error::ApiError;
use crate::json::{null, reply};
use crate::path::{SessionPath, UserPath};
use crate::runs::{SessionTurn, exists};

/// The prefixes of the ids of sessions that evaluations create.
const EVAL_SESSIONS: &[&str] = &["adk-eval-session-", "___eval___session___"];
/// Options that the path already determines. A body with one of them is refused.
const BOUND_OPTIONS: &[&str] = &["app_name", "session_id", "state", "user_id"];
/// How often a change is attempted if a run or another server changes the session at the same time.
const TRIES: usize = 20;

// H36
pub(super) async fn read(State(api): State<Arc<Api>>, SessionPath(key): SessionPath) -> Result<Response, ApiError> {
    reply(&load(&api, &key).await?)
}

// H36
pub(super) async fn list(State(api): State<Arc<Api>>, path: UserPath) -> Result<Response, ApiError> {
    let listed = api.sessions.list_sessions(ListSessions::new(path.app).with_user(path.user)).await?;
    let is_eval = |session: &Session| EVAL_SESSIONS.iter().any(|prefix| session.id().as_str().starts_with(prefix));
    let sessions: Vec<Session> = listed.sessions.into_iter().filter(|session| !is_eval(session)).collect();
    reply(&sessions)
}

// H30, H33
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    path: UserPath,
    rights: CallerRights,
    request: Request,
) -> Result<Response, ApiError> {
    let body = CreateBody::of(api.payload_with_messages(request).await?, api.clock.now())?;
    let (state, events) = (body.state.unwrap_or_default(), body.events.unwrap_or_default());
    check_initial_state(&api, (&path.app, &path.user), rights, &state).await?;
    rights.check_initial_events(&events)?;
    check_initial(&events)?;
    if let Ok(runner) = api.runner(path.app.as_str()) {
        check_tasks(&events, &runner.root().spec().name)?;
    }
    check_options(&body.options.unwrap_or_default())?;
    let mut wanted = CreateSession::new(path.app, path.user).with_state(state);
    wanted.session_id = body.session_id.map(Into::into);
    if events.is_empty() {
        return reply(&make(&api, wanted).await?);
    }
    // This is a separate task, because a client that disconnects must not leave a session with only a part of its
    // events.
    let made = tokio::spawn(async move { make_with_events(&api, wanted, events).await }).await;
    reply(&made.unwrap_or(Err(ApiError::Internal))?)
}

/// Checks the initial state of a new session. It must not replace protected keys in the stored state of its app and its
/// user.
///
/// # Errors
/// 403 with the first key that this caller may not change, and errors of the store.
async fn check_initial_state(
    api: &Api,
    (app, user): (&AppName, &UserId),
    rights: CallerRights,
    state: &Map,
) -> Result<(), ApiError> {
    rights.check_initial_state(state)?;
    let has = |scope: Scope| state.keys().any(|key| Scope::split(key).0 == scope);
    if has(Scope::User) {
        rights.check_replaced(Scope::User, state, &api.sessions.user_state(app, user).await?)?;
    }
    if has(Scope::App) {
        rights.check_replaced(Scope::App, state, &api.sessions.app_state(app).await?)?;
    }
    Ok(())
}

/// Creates a session with all its events, or no session at all.
///
/// # Errors
/// Errors of the store, and 503 if storing takes longer than a request may.
async fn make_with_events(api: &Api, wanted: CreateSession, events: Vec<Event>) -> Result<Session, ApiError> {
    let mut late = api.clock.sleep(api.limits.request_time);
    let too_late = "The events of the session could not be stored within the time of a request: nothing was kept. Send fewer, or try again.";
    let _turns = tokio::select! {
        biased;
        turns = turns_of_new(api, &wanted) => turns?,
        () = &mut late => return Err(ApiError::unavailable(too_late)),
    };
    let mut session = make(api, wanted).await?;
    let append_all = async {
        for event in events {
            append(api, &mut session, restored(event, &*api.ids)).await?;
        }
        Ok(())
    };
    let stored = tokio::select! {
        biased;
        stored = append_all => stored,
        () = late => Err(ApiError::unavailable(too_late)),
    };
    match stored {
        Ok(()) => Ok(session),
        Err(error) => {
            // Readers would mistake a session with only a part of its events for a complete one.
            api.sessions.delete_session(session.key()).await?;
            Err(error)
        }
    }
}

/// If a new session has a given id, takes its turns, so that its runs and changes wait until it is complete.
async fn turns_of_new(api: &Api, wanted: &CreateSession) -> Result<Option<[SessionTurn; 2]>, ApiError> {
    let Some(id) = &wanted.session_id else { return Ok(None) };
    let key = SessionKey::new(&wanted.app_name, &wanted.user_id, id);
    if exists(api, &key).await? {
        return Ok(None);
    }
    let key = turn_key(&key);
    Ok(Some([api.turns.take(key.clone()).await, api.changes.take(key).await]))
}

// H35
pub(super) async fn create_named(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    rights: CallerRights,
    request: Request,
) -> Result<Response, ApiError> {
    let StateBody(state) = StateBody::of(api.payload(request).await?)?;
    check_initial_state(&api, (&key.app_name, &key.user_id), rights, &state).await?;
    let wanted = CreateSession::new(key.app_name, key.user_id).with_state(state).with_session_id(key.session_id);
    reply(&make(&api, wanted).await?)
}

// H37
pub(super) async fn delete(State(api): State<Arc<Api>>, SessionPath(key): SessionPath) -> Result<Response, ApiError> {
    api.sessions.delete_session(&key).await?;
    Ok(null())
}

// H38
pub(super) async fn update(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    rights: CallerRights,
    request: Request,
) -> Result<Response, ApiError> {
    let UpdateBody { state_delta } = UpdateBody::of(api.payload(request).await?)?;
    // Changes are made one after the other. If several were made at once, all except one would fail as stale.
    let _turn = api.changes.take(turn_key(&key)).await;
    let mut session = load(&api, &key).await?;
    let mut tries = 1;
    loop {
        let mut delta = state_delta.clone();
        drop_shown_credentials(&mut delta, &session.state);
        rights.state().apply(&mut delta, &session.state)?;
        match append(&api, &mut session, change(&api, delta)).await {
            Err(SessionError::Stale { .. }) if tries < TRIES => catch_up(&api, &mut session).await?,
            appended => {
                appended?;
                return reply(&session);
            }
        }
        tries += 1;
    }
}

/// Returns the event that changes the state.
fn change(api: &Api, delta: Map) -> Event {
    let mut event = Event::from_author("user").with_state_map(delta);
    event.set_invocation_id(InvocationId::from(format!("p-{}", api.ids.uuid())));
    event.set_id(EventId::from(api.ids.uuid()));
    event.set_timestamp(api.clock.now());
    event
}

async fn append(api: &Api, session: &mut Session, event: Event) -> Result<(), SessionError> {
    api.sessions.append_event(session, event).await.map(drop)
}

async fn make(api: &Api, wanted: CreateSession) -> Result<Session, ApiError> {
    Ok(api.sessions.create_session(wanted.with_create_time(api.clock.now())).await?)
}

async fn load(api: &Api, key: &SessionKey) -> Result<Session, ApiError> {
    api.sessions.get_session(key, GetSessionConfig::all()).await?.ok_or_else(ApiError::no_session)
}

/// Reads the events that were stored since the session was read.
async fn catch_up(api: &Api, session: &mut Session) -> Result<(), ApiError> {
    match api.sessions.events_since(&session.head).await?.ok_or_else(ApiError::no_session)? {
        Since::Events(newer) => {
            session.events.extend(newer.events);
            session.state = newer.state;
            session.unreadable = newer.unreadable;
            session.head = newer.head;
        }
        Since::Unknown => *session = load(api, session.key()).await?,
    }
    Ok(())
}

/// Refuses all options, because session services have none.
// H34
fn check_options(options: &Map) -> Result<(), ApiError> {
    let bound: Vec<&str> = BOUND_OPTIONS.iter().copied().filter(|key| options.contains_key(*key)).collect();
    if !bound.is_empty() {
        let detail = format!("Session options cannot contain keys already bound by the endpoint: {}", bound.join(", "));
        return Err(ApiError::bad_request(detail));
    }
    if options.is_empty() {
        return Ok(());
    }
    Err(ApiError::bad_request("Session options are not supported by the configured session service."))
}
