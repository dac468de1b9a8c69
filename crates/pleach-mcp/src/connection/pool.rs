//! [`Pool`]: the sessions of a toolset, one for each set of headers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use pleach_context::ReadonlyContext;
use pleach_http::Headers;

use super::link::Link;
use super::target::Target;
use crate::endpoint::set_header;
use crate::error::McpError;
use crate::limits::Limits;

/// The maximum number of sets of headers that have a session at the same time.
const MOST_LINKS: usize = 64;

/// The links to a server. There is only one link unless a function returns headers.
pub(crate) struct Pool {
    pub(crate) target: Arc<Target>,
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The links, with the most recently used link last.
    links: Vec<Arc<Link>>,
    is_closed: bool,
}

impl Pool {
    pub(crate) fn new(target: Target, limits: Limits) -> Self {
        Self { target: Arc::new(target), limits, state: Mutex::default() }
    }

    /// Returns the link with the headers for this context.
    pub(crate) async fn link(&self, ctx: Option<&ReadonlyContext>) -> Result<Arc<Link>, McpError> {
        let headers = self.headers(ctx).await?;
        let mut state = self.state();
        if state.is_closed {
            return Err(self.target.closed());
        }
        let link = match state.links.iter().position(|link| link.headers == headers) {
            Some(place) => state.links.remove(place),
            None => Arc::new(Link::new(&self.target, headers, &self.limits)),
        };
        if state.links.len() >= MOST_LINKS {
            // The session of the removed link ends when its calls have ended.
            state.links.remove(0);
        }
        state.links.push(Arc::clone(&link));
        Ok(link)
    }

    async fn headers(&self, ctx: Option<&ReadonlyContext>) -> Result<Headers, McpError> {
        let mut headers = self.target.headers();
        let (Some(provider), Some(ctx)) = (self.target.provider(), ctx) else { return Ok(headers) };
        let fault = |reason: String| McpError::Headers { server: self.target.name(), reason };
        let made = provider(ctx.clone()).await.map_err(|error| fault(error.to_string()))?;
        for (name, value) in made {
            set_header(&mut headers, &name, &value).map_err(|reason| fault(format!("`{name}`: {reason}")))?;
        }
        Ok(headers)
    }

    /// Ends all sessions, and refuses further sessions.
    pub(crate) async fn close(&self) {
        let links = {
            let mut state = self.state();
            state.is_closed = true;
            std::mem::take(&mut state.links)
        };
        join_all(links.iter().map(|link| link.close())).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
