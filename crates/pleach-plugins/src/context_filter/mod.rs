//! [`ContextFilterPlugin`]: limits the part of a conversation that a model sees.

mod pairs;
mod turns;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use pleach_context::{CallbackContext, Hook, Plugin};
use pleach_core::Content;
use pleach_model::{LlmRequest, LlmResponse, SharedContent};

use pairs::mend;
use turns::kept_from;

type Filter = dyn Fn(Vec<SharedContent>) -> Vec<SharedContent> + Send + Sync;

/// Shortens the conversation in the requests of all agents: to the last invocations, by a function, or both. The
/// session itself keeps everything.
///
/// Here, an invocation begins with one or more consecutive messages of the user and extends to the next user message.
/// It includes the model's calls and the tools' responses in between. The messages of other agents are shown to an
/// agent as user messages, and are counted as such. The message of the current invocation is always shown.
///
/// A call and its response are only shown together. If a response comes many turns after its call, everything from the
/// call's invocation on is kept. If the function drops one of the two, the other is dropped as well.
///
/// ```
/// # use pleach_plugins::ContextFilterPlugin;
/// let filter = ContextFilterPlugin::new().keep_invocations(5);
/// # drop(filter);
/// ```
///
/// ADK: `ContextFilterPlugin`
pub struct ContextFilterPlugin {
    name: String,
    keep: Option<usize>,
    remove_amount: usize,
    filter: Option<Arc<Filter>>,
}

impl Default for ContextFilterPlugin {
    fn default() -> Self {
        Self::new()
    }
}

impl ContextFilterPlugin {
    /// Creates the plugin, named `context_filter_plugin`. It filters nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { name: "context_filter_plugin".to_owned(), keep: None, remove_amount: 1, filter: None }
    }

    /// Sets the name of the plugin.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Keeps the last `count` invocations, including the current one; 0 keeps all.
    ///
    /// ADK: `num_invocations_to_keep`
    #[must_use]
    #[doc(alias = "num_invocations_to_keep")]
    pub fn keep_invocations(mut self, count: usize) -> Self {
        self.keep = Some(count);
        self
    }

    /// Shortens the conversation only if at least `count` invocations can be removed. Until then, requests begin alike
    /// and hit the provider's cache. The default is 1; 0 is treated as 1.
    ///
    /// ADK: `remove_amount`
    #[must_use]
    pub fn remove_amount(mut self, count: usize) -> Self {
        self.remove_amount = count.max(1);
        self
    }

    /// Passes the contents through a function, after [`keep_invocations`](Self::keep_invocations) has been applied. If
    /// the function panics, the request stays unchanged and the panic is logged.
    ///
    /// ADK: `custom_filter`
    #[must_use]
    pub fn filter(mut self, filter: impl Fn(Vec<SharedContent>) -> Vec<SharedContent> + Send + Sync + 'static) -> Self {
        self.filter = Some(Arc::new(filter));
        self
    }

    /// Shortens the conversation of an invocation that began with `question`. That message is always shown.
    fn shorten(&self, contents: &[SharedContent], question: Option<&Content>) -> Option<Vec<SharedContent>> {
        let from = self.keep.filter(|keep| *keep > 0).map_or(0, |keep| kept_from(contents, keep, self.remove_amount));
        let is_question = |content: &SharedContent| question.is_some_and(|asked| asked.parts() == content.parts());
        let from = contents.iter().rposition(is_question).map_or(from, |place| from.min(place));
        let kept = &contents[from..];
        let Some(filter) = &self.filter else { return (from > 0).then(|| kept.to_vec()) };
        let Ok(filtered) = catch_unwind(AssertUnwindSafe(|| filter(kept.to_vec()))) else {
            tracing::error!(plugin = self.name, "the filter panicked: the whole conversation is shown");
            return None;
        };
        Some(mend(kept, filtered))
    }
}

impl Plugin for ContextFilterPlugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn before_model<'a>(
        &'a self,
        ctx: &'a CallbackContext,
        request: &'a mut LlmRequest,
    ) -> Hook<'a, Option<LlmResponse>> {
        if let Some(contents) = self.shorten(&request.contents, ctx.user_content()) {
            request.contents = contents;
        }
        None
    }
}

impl fmt::Debug for ContextFilterPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextFilterPlugin")
            .field("name", &self.name)
            .field("keep", &self.keep)
            .field("remove_amount", &self.remove_amount)
            .field("filter", &self.filter.is_some())
            .finish()
    }
}
