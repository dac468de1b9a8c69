//! [`Toolset`]: a source of tools. Also [`SharedToolset`]: a toolset as agents hold it, shared and with a selection of
//! its tools.
// L56, L57

use std::fmt;
use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt as _;
use pleach_core::BoxFuture;
use pleach_model::LlmRequest;

use crate::renamed_tool::RenamedTool;
use crate::{NodeError, ReadonlyContext, Tool, ToolContext};

/// A source of tools, for example a server of them. ADK: `BaseToolset`
///
/// An agent lists the tools before the first request to its model in an invocation. A toolset that cannot list its
/// tools is left out, with an error in the log, and asked again for the next request. If the toolset is
/// [required](Toolset::is_required), the run fails instead. [`SharedToolset`](crate::SharedToolset) selects tools and
/// adds a prefix to their names.
// L56, L57
#[doc(alias = "BaseToolset")]
pub trait Toolset: Send + Sync + 'static {
    /// Returns the name of the toolset for warnings.
    fn name(&self) -> &str;

    /// Returns the tools that the agent has now.
    ///
    /// # Errors
    /// The source cannot be reached.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the toolset as it was.
    fn tools<'a>(&'a self, ctx: &'a ReadonlyContext) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, NodeError>>;

    /// Returns true if the tools may differ between the requests of an invocation. Then they are listed for each
    /// request.
    fn changes_between_steps(&self) -> bool {
        false
    }

    /// Returns true if the agent's run fails when the tools cannot be listed. Otherwise the agent runs without them.
    fn is_required(&self) -> bool {
        false
    }

    /// Changes the request before its tools do.
    ///
    /// # Errors
    /// An error if the request cannot be made; the agent's run fails with it.
    fn process_request<'a>(
        &'a self,
        _ctx: &'a ToolContext,
        _request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        Box::pin(ready(Ok(())))
    }

    /// Closes connections and other resources of the toolset. `Runner::close` calls it once; it may take ten seconds of
    /// the Runner's clock.
    ///
    /// # Errors
    /// An error that names what could not be closed. `Runner::close` fails with it after everything else is closed.
    ///
    /// # Cancel safety
    /// The future is dropped if it takes too long.
    fn close(&self) -> BoxFuture<'_, Result<(), NodeError>> {
        Box::pin(ready(Ok(())))
    }
}

/// A toolset, and the selection of its tools that an agent gets. It is cheap to clone, and clones share the toolset,
/// so several agents can use it.
///
/// It is closed once, with the Runner. Its tools are listed once in an invocation, unless
/// [`Toolset::changes_between_steps`] is true.
///
/// ```
/// # use pleach_context::{SharedToolset, Toolset};
/// # fn example(drive: impl Toolset) {
/// let drive = SharedToolset::new(drive).prefix("drive");
/// let reader = drive.only(["read", "list"]); // its tools are `drive_read` and `drive_list`
/// # drop(reader);
/// # }
/// ```
#[derive(Clone)]
pub struct SharedToolset {
    pub(crate) source: Arc<Source>,
    pub(crate) choice: Arc<Choice>,
}

/// The toolset itself.
pub(crate) struct Source {
    pub(crate) set: Box<dyn Toolset>,
    pub(crate) is_closed: AtomicBool,
}

/// The tools of a toolset that an agent gets, and their names.
#[derive(Clone, Default)]
pub(crate) struct Choice {
    pub(crate) prefix: Option<String>,
    pub(crate) filter: Option<Arc<Filter>>,
    pub(crate) is_required: bool,
}

type Filter = dyn Fn(&dyn Tool, &ReadonlyContext) -> bool + Send + Sync;

/// The tools of a toolset in an invocation.
pub(crate) struct Listed {
    pub(crate) choice: Arc<Choice>,
    pub(crate) tools: Arc<[Arc<dyn Tool>]>,
}

impl SharedToolset {
    /// Makes a toolset shareable.
    pub fn new(toolset: impl Toolset) -> Self {
        let source = Source { set: Box::new(toolset), is_closed: AtomicBool::new(false) };
        Self { source: Arc::new(source), choice: Arc::default() }
    }

    /// Returns the same toolset with tools named `<prefix>_<name>`. ADK: `tool_name_prefix`
    #[must_use]
    #[doc(alias = "tool_name_prefix")]
    pub fn prefix(&self, prefix: impl Into<String>) -> Self {
        self.chosen(Choice { prefix: Some(prefix.into()), ..Choice::clone(&self.choice) })
    }

    /// Returns the same toolset without the tools for which `filter` is false. The filter is called when the tools are
    /// listed, and sees the toolset's own names. ADK: `tool_filter`
    #[must_use]
    #[doc(alias = "tool_filter")]
    pub fn filter(&self, filter: impl Fn(&dyn Tool, &ReadonlyContext) -> bool + Send + Sync + 'static) -> Self {
        let before = self.choice.filter.clone();
        let filter = move |tool: &dyn Tool, ctx: &ReadonlyContext| {
            before.as_ref().is_none_or(|before| before(tool, ctx)) && filter(tool, ctx)
        };
        self.chosen(Choice { filter: Some(Arc::new(filter)), ..Choice::clone(&self.choice) })
    }

    /// Returns the same toolset with only the tools that have these names in the toolset. ADK: `tool_filter`
    #[must_use]
    pub fn only<S: Into<String>>(&self, names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        self.filter(move |tool, _| names.iter().any(|name| name == tool.name()))
    }

    /// Returns the same toolset as a required one: if its tools cannot be listed, the agent's run fails with an error
    /// that names the toolset.
    #[must_use]
    pub fn required(&self) -> Self {
        self.chosen(Choice { is_required: true, ..Choice::clone(&self.choice) })
    }

    /// Returns true if an agent does not run without the toolset.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.choice.is_required || self.source.set.is_required()
    }

    fn chosen(&self, choice: Choice) -> Self {
        Self { source: Arc::clone(&self.source), choice: Arc::new(choice) }
    }

    /// Returns the name of the toolset for warnings.
    #[must_use]
    pub fn name(&self) -> &str {
        self.source.set.name()
    }

    /// Returns the tools that an agent has now.
    ///
    /// # Errors
    /// The source cannot be reached.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the toolset as it was.
    pub async fn tools(&self, ctx: &ToolContext) -> Result<Arc<[Arc<dyn Tool>]>, NodeError> {
        let invocation = &ctx.inner.invocation;
        let is_kept = !self.source.set.changes_between_steps();
        if is_kept && let Some(tools) = invocation.listed_tools(self) {
            return Ok(tools);
        }
        let ctx = ReadonlyContext::new(ctx.clone());
        let mut tools = self.source.set.tools(&ctx).await?;
        if let Some(filter) = &self.choice.filter {
            tools.retain(|tool| filter(&**tool, &ctx));
        }
        if let Some(prefix) = &self.choice.prefix {
            tools = tools.into_iter().map(|tool| Arc::new(RenamedTool::new(tool, prefix)) as _).collect();
        }
        let tools: Arc<[Arc<dyn Tool>]> = tools.into();
        if is_kept {
            invocation.keep_listed_tools(Listed { choice: Arc::clone(&self.choice), tools: Arc::clone(&tools) });
        }
        Ok(tools)
    }

    /// Lets the toolset change a request before its tools do.
    ///
    /// # Errors
    /// An error if the request cannot be made.
    ///
    /// # Cancel safety
    /// Dropping the future also drops the toolset's own future.
    pub async fn process_request(&self, ctx: &ToolContext, request: &mut LlmRequest) -> Result<(), NodeError> {
        self.source.set.process_request(ctx, request).await
    }

    /// Closes the toolset, unless it is already closed.
    ///
    /// # Errors
    /// The error of the toolset that could not be closed. Another call tries again.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the toolset as it is; later calls do not close it.
    pub async fn close(&self) -> Result<(), NodeError> {
        if self.source.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let closed = AssertUnwindSafe(self.source.set.close()).catch_unwind().await;
        let closed = closed.unwrap_or_else(|_| Err(NodeError::new("PanicError", "closing it panicked")));
        self.source.is_closed.store(closed.is_ok(), Ordering::Release);
        closed
    }

    /// Returns true if both are the same toolset, even if they select different tools.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source)
    }
}

impl Listed {
    /// Returns the tools, if they belong to this toolset and selection.
    pub(crate) fn of(&self, toolset: &SharedToolset) -> Option<Arc<[Arc<dyn Tool>]>> {
        Arc::ptr_eq(&self.choice, &toolset.choice).then(|| Arc::clone(&self.tools))
    }
}

impl<T: Toolset> From<T> for SharedToolset {
    fn from(toolset: T) -> Self {
        Self::new(toolset)
    }
}

impl fmt::Debug for SharedToolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedToolset")
            .field("name", &self.name())
            .field("prefix", &self.choice.prefix)
            .finish_non_exhaustive()
    }
}
