//! A toolset as agents hold it: shared, and with a choice of its tools.
// L56, L57

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt as _;
use pleach_model::LlmRequest;

use crate::contract::{Choice, Listed, Source};
use crate::renamed_tool::RenamedTool;
use crate::{NodeError, ReadonlyContext, SharedToolset, Tool, ToolContext, Toolset};

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

    /// Returns the same toolset without the tools for which `filter` is false. It sees them by the names that the toolset gives
    /// them, and is asked when they are listed. ADK: `tool_filter`
    #[must_use]
    #[doc(alias = "tool_filter")]
    pub fn filter(&self, filter: impl Fn(&dyn Tool, &ReadonlyContext) -> bool + Send + Sync + 'static) -> Self {
        let before = self.choice.filter.clone();
        let filter = move |tool: &dyn Tool, ctx: &ReadonlyContext| {
            before.as_ref().is_none_or(|before| before(tool, ctx)) && filter(tool, ctx)
        };
        self.chosen(Choice { filter: Some(Arc::new(filter)), ..Choice::clone(&self.choice) })
    }

    /// Returns the same toolset with the tools of these names alone, as the toolset names them. ADK: `tool_filter`
    #[must_use]
    pub fn only<S: Into<String>>(&self, names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        self.filter(move |tool, _| names.iter().any(|name| name == tool.name()))
    }

    /// Returns the same toolset, without which an agent does not run: where its tools cannot be listed, the run fails with an error that
    /// names it.
    #[must_use]
    pub fn required(&self) -> Self {
        self.chosen(Choice { is_required: true, ..Choice::clone(&self.choice) })
    }

    /// Returns whether an agent does not run without the toolset.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.choice.is_required || self.source.set.is_required()
    }

    fn chosen(&self, choice: Choice) -> Self {
        Self { source: Arc::clone(&self.source), choice: Arc::new(choice) }
    }

    /// Returns the name in warnings.
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
    /// What the request cannot be made without.
    ///
    /// # Cancel safety
    /// Dropping the future drops the toolset's own.
    pub async fn process_request(&self, ctx: &ToolContext, request: &mut LlmRequest) -> Result<(), NodeError> {
        self.source.set.process_request(ctx, request).await
    }

    /// Closes the toolset, unless it is closed already.
    ///
    /// # Errors
    /// Why it could not be closed; closing it again tries once more.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the toolset as it is; it is not closed again.
    pub async fn close(&self) -> Result<(), NodeError> {
        if self.source.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let closed = AssertUnwindSafe(self.source.set.close()).catch_unwind().await;
        let closed = closed.unwrap_or_else(|_| Err(NodeError::new("PanicError", "closing it panicked")));
        self.source.is_closed.store(closed.is_ok(), Ordering::Release);
        closed
    }

    /// Returns whether both are the same toolset, whichever of its tools they choose.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source)
    }
}

impl Listed {
    /// Returns the tools, if they are those of this toolset and choice.
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
