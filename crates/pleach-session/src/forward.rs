//! [`forward_session_service`](crate::forward_session_service): methods of a session service that wraps another one.

/// The types in the signatures of [`SessionService`](crate::SessionService), re-exported for the macro.
#[doc(hidden)]
pub mod types {
    pub use std::sync::Arc;

    pub use pleach_core::{
        AppName, BoxFuture, Event, EventId, Map, Session, SessionHead, SessionId, SessionKey, UserId,
    };
}

/// Implements methods of [`SessionService`](crate::SessionService) by calling them on another session service.
///
/// A service that wraps another one lists the methods that it does not change. The first argument names `self` and
/// the expression for the wrapped service. A method that is neither listed nor written has its default
/// implementation, which does less than most services do. So list every method of the trait that your service does
/// not write itself.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use pleach_core::{BoxFuture, Event, SessionHead};
/// use pleach_session::{SessionResult, SessionService, forward_session_service};
///
/// /// Counts appends.
/// #[derive(Debug)]
/// struct CountingSessions<S> {
///     inner: S,
///     appends: AtomicUsize,
/// }
///
/// impl<S: SessionService> SessionService for CountingSessions<S> {
///     forward_session_service!(|this| this.inner; create_session, get_session, events_since, head_behind, list_apps,
///         list_sessions, list_questions, new_deadlines, find_sessions, delete_session, claim, check_head, note_settled,
///         redact_event, session_to_redact, user_state, app_state, health_check, flush, close);
///
///     fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, SessionResult<Arc<Event>>> {
///         self.appends.fetch_add(1, Ordering::Relaxed);
///         self.inner.append(head, event)
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_session_service {
    (|$this:ident| $service:expr; $($method:ident),+ $(,)?) => {
        $($crate::forward_session_service! { @method $method |$this| $service })+
    };
    (@method create_session |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; create_session(request: $crate::CreateSession) -> $crate::forward::types::Session }
    };
    (@method get_session |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; get_session(key: &'a $crate::forward::types::SessionKey, config: $crate::GetSessionConfig) -> Option<$crate::forward::types::Session> }
    };
    (@method events_since |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; events_since(head: &'a $crate::forward::types::SessionHead) -> Option<$crate::Since> }
    };
    (@method head_behind |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; head_behind(key: &'a $crate::forward::types::SessionKey, event: &'a $crate::forward::types::EventId) -> Option<$crate::forward::types::SessionHead> }
    };
    (@method list_apps |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; list_apps() -> Vec<$crate::forward::types::AppName> }
    };
    (@method list_sessions |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; list_sessions(request: $crate::ListSessions) -> $crate::ListSessionsResponse }
    };
    (@method list_questions |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; list_questions(request: $crate::ListQuestions) -> $crate::ListQuestionsResponse }
    };
    (@method new_deadlines |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; new_deadlines(app_name: &'a $crate::forward::types::AppName, since: Option<&'a $crate::LogPlace>, now: f64) -> Option<$crate::NewDeadlines> }
    };
    (@method find_sessions |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; find_sessions(app_name: &'a $crate::forward::types::AppName, session_id: &'a $crate::forward::types::SessionId) -> Vec<$crate::forward::types::SessionKey> }
    };
    (@method delete_session |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; delete_session(key: &'a $crate::forward::types::SessionKey) -> () }
    };
    (@method append |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; append(head: &'a mut $crate::forward::types::SessionHead, event: $crate::forward::types::Arc<$crate::forward::types::Event>) -> $crate::forward::types::Arc<$crate::forward::types::Event> }
    };
    (@method claim |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; claim(head: &'a mut $crate::forward::types::SessionHead, time: f64) -> () }
    };
    (@method check_head |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; check_head(head: &'a $crate::forward::types::SessionHead) -> () }
    };
    (@method note_settled |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; note_settled(program: &'a str, heads: &'a [$crate::forward::types::SessionHead]) -> () }
    };
    (@method redact_event |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; redact_event(head: &'a mut $crate::forward::types::SessionHead, event: $crate::forward::types::Arc<$crate::forward::types::Event>, time: f64) -> () }
    };
    (@method session_to_redact |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; session_to_redact(key: &'a $crate::forward::types::SessionKey, event: &'a $crate::forward::types::EventId) -> Option<$crate::forward::types::Session> }
    };
    (@method user_state |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; user_state(app_name: &'a $crate::forward::types::AppName, user_id: &'a $crate::forward::types::UserId) -> $crate::forward::types::Map }
    };
    (@method app_state |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; app_state(app_name: &'a $crate::forward::types::AppName) -> $crate::forward::types::Map }
    };
    (@method health_check |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; health_check() -> () }
    };
    (@method flush |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; flush() -> () }
    };
    (@method close |$this:ident| $service:expr) => {
        $crate::forward_session_service! { @fn |$this| $service; close() -> () }
    };
    (@fn |$this:ident| $service:expr; $name:ident($($argument:ident: $type:ty),*) -> $output:ty) => {
        fn $name<'a>(
            &'a self,
            $($argument: $type),*
        ) -> $crate::forward::types::BoxFuture<'a, $crate::SessionResult<$output>> {
            let $this = self;
            $crate::SessionService::$name(&$service, $($argument),*)
        }
    };
}
