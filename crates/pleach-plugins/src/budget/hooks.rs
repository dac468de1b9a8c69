//! The hooks of the [`BudgetPlugin`].

use std::sync::atomic::Ordering;

use pleach_agent::guidance::{FINISH_TASK, SET_MODEL_RESPONSE, TRANSFER_TO_AGENT};
use pleach_context::{
    AgentSpec, CallbackContext, Context, Hook, InvocationContext, NodeError, NodeInput, NodeSpec, Plugin,
};
use pleach_context::{Tool, ToolContext};
use pleach_core::{BoxError, Content, Map};
use pleach_model::{LlmRequest, LlmResponse};
use serde_json::{Value, json};

use super::account::reserved_name;
use super::limits::{BudgetScope, Limits, Reached};
use super::price::Price;
use super::run::{Run, RunBook, lock};
use super::usage::Counts;
use super::{BUDGET_EXCEEDED, BudgetPlugin, Inner, outermost};
use crate::decided;

/// How often models are refused in a run before the run fails. Without this limit, a loop might never end.
const MAX_REFUSALS: u32 = 100;

/// Compares the usage with the limits before a step.
type Compare = fn(&Limits, Counts) -> Option<Reached>;

impl Inner {
    /// Begins a step unless a limit is reached. The comparison and the count are one atomic operation. The error is the
    /// text of the reached limit.
    fn begin(
        &self,
        ctx: &Context,
        book: &RunBook,
        run: &mut Run,
        step: Counts,
        compare: Compare,
    ) -> Result<(), String> {
        let now = ctx.invocation().clock().now();
        let of_run = compare(&self.settings.run, run.used_with_begun());
        if let Some(reached) = of_run.or_else(|| self.settings.run.time_exceeded_by(run.seconds(now))) {
            return Err(reached.text(BudgetScope::Run, None));
        }
        let mut accounts: Vec<_> = book.accounts.iter().map(|account| lock(account)).collect();
        for (account, (scope, limits)) in accounts.iter_mut().zip(self.settings.stored_scopes()) {
            let Some(keys) = self.keys(scope) else { continue };
            let stored = keys.read(|key| ctx.state().value(key));
            if let Some(reached) = compare(limits, account.used(stored, limits.window, now)) {
                return Err(reached.text(scope, limits.window));
            }
        }
        accounts.iter_mut().for_each(|account| account.begin(step));
        Ok(())
    }

    /// Allows a model call by returning `None`, or returns an answer instead.
    fn ask(&self, ctx: &Context, request: &LlmRequest) -> Result<Option<LlmResponse>, BoxError> {
        let price = self.price(request.model.as_deref().unwrap_or_default())?;
        let book = self.book(ctx.invocation());
        let lane = lane(ctx);
        let mut run = book.run();
        book.close_model(&mut run, &lane, ctx.attempt_count());
        match self.begin(ctx, &book, &mut run, Counts::ONE_MODEL_CALL, Limits::exceeded_by) {
            Ok(()) => {
                run.begin_model(lane, price, ctx.attempt_count());
                Ok(None)
            }
            Err(text) => {
                let (refusals, is_repeated) = run.refuse(lane);
                drop(run);
                tracing::warn!(agent = ctx.agent_name(), "{text}");
                if refusals >= MAX_REFUSALS {
                    return Err(format!("{text}; the run has asked for models {refusals} times since").into());
                }
                if is_repeated {
                    // An agent in a loop that waits for a better answer would ask forever. The first refusal does not
                    // escalate, because that would cut off parallel agents whose models have already been called.
                    ctx.with_actions(|actions| actions.set_escalate(Some(true)))?;
                }
                Ok(Some(self.refusal(request, text)))
            }
        }
    }

    fn price(&self, model: &str) -> Result<Option<Price>, BoxError> {
        let price = self.settings.prices.price(model);
        if price.is_none() && self.settings.scopes().any(|(_, limits)| limits.cost.is_some()) {
            return Err(format!(
                "cost is limited, but model `{model}` has no price: add it with `PriceTable::model`, or set a price for \
                 `other_models`"
            )
            .into());
        }
        Ok(price)
    }

    fn refusal(&self, request: &LlmRequest, text: String) -> LlmResponse {
        let mut refusal = LlmResponse::error(BUDGET_EXCEEDED, text);
        // If the answer must fit a schema, plain text would make the agent fail with an error about the schema.
        if request.config.response_schema.is_none() && !request.declares(SET_MODEL_RESPONSE) {
            refusal.content = Some(Content::model(self.settings.answer.clone()));
        }
        refusal
    }

    /// Stores the usage of the run on its next event, and adds the outstanding counts to the state.
    fn write(&self, ctx: &Context, book: &RunBook) -> Result<(), NodeError> {
        self.note(ctx, book);
        for (account, (scope, limits)) in book.accounts.iter().zip(self.settings.stored_scopes()) {
            let Some(keys) = self.keys(scope) else { continue };
            let stored = keys.read(|key| ctx.state().value(key));
            let owed = lock(account).take_owed(keys, limits, stored);
            owed.write(ctx)?;
        }
        Ok(())
    }

    fn note(&self, ctx: &Context, book: &RunBook) {
        if !self.settings.run.is_empty() {
            let now = self.settings.run.wall_time.map(|_| ctx.invocation().clock().now());
            let note = book.run().note(now);
            outermost(ctx.invocation()).set_reserved_metadata(reserved_name(&self.settings.name), note);
        }
    }

    fn warn_once(&self, ctx: &Context) {
        let needs = self.settings.scopes().any(|(_, limits)| limits.needs_tokens());
        if needs && !self.has_warned.swap(true, Ordering::Relaxed) {
            let agent = ctx.agent_name();
            tracing::warn!(agent, "the model reports no tokens: limits of tokens and cost do not count its answers");
        }
    }

    /// Returns true if calls of a tool are counted.
    fn counts_tool(&self, tool: &dyn Tool) -> bool {
        let is_limited = |limits: &Limits| limits.tool_calls.or(limits.wall_time.map(|_| 0)).is_some();
        let own = [TRANSFER_TO_AGENT, SET_MODEL_RESPONSE, FINISH_TASK];
        self.settings.scopes().any(|(_, limits)| is_limited(limits)) && !own.contains(&tool.name())
    }
}

/// The result of a call that a person has rejected. ADK: `apply_confirmation_gate`
const REJECTED: &str = "This tool call is rejected.";

impl Plugin for BudgetPlugin {
    fn name(&self) -> &str {
        &self.inner.settings.name
    }

    fn before_node<'a>(&'a self, _: &'a NodeSpec, ctx: &'a Context, _: &'a NodeInput) -> Hook<'a, Option<Value>> {
        if self.inner.settings.run.wall_time.is_some() {
            // The run's time begins with its first node. Each node stores the usage so far, because a pause may follow.
            self.inner.note(ctx, &self.inner.book(ctx.invocation()));
        }
        None
    }

    fn after_node<'a>(&'a self, _: &'a NodeSpec, ctx: &'a Context, _: Option<&'a Value>) -> Hook<'a, ()> {
        if self.inner.settings.run.wall_time.is_some() {
            self.inner.note(ctx, &self.inner.book(ctx.invocation()));
        }
        None
    }

    fn before_model<'a>(
        &'a self,
        ctx: &'a CallbackContext,
        request: &'a mut LlmRequest,
    ) -> Hook<'a, Option<LlmResponse>> {
        match self.inner.ask(ctx, request) {
            Ok(None) => None,
            other => decided(other),
        }
    }

    fn after_model<'a>(&'a self, ctx: &'a CallbackContext, response: &'a LlmResponse) -> Hook<'a, Option<LlmResponse>> {
        let book = self.inner.book(ctx.invocation());
        let reports = book.hear(&lane(ctx), &response.info, response.is_partial());
        if response.is_partial() {
            return None;
        }
        if !reports {
            self.inner.warn_once(ctx);
        }
        written(self.inner.write(ctx, &book))
    }

    fn on_model_error<'a>(
        &'a self,
        ctx: &'a CallbackContext,
        _: &'a LlmRequest,
        _: &'a NodeError,
    ) -> Hook<'a, Option<LlmResponse>> {
        let book = self.inner.book(ctx.invocation());
        book.fail(&lane(ctx));
        // If the agent fails, its error event carries the reserved keys.
        written(self.inner.write(ctx, &book))
    }

    fn after_agent<'a>(&'a self, _: &'a AgentSpec, ctx: &'a CallbackContext) -> Hook<'a, Option<Content>> {
        let book = self.inner.book(ctx.invocation());
        // Another hook has answered a call that is still open.
        book.close_model(&mut book.run(), &lane(ctx), ctx.attempt_count());
        None
    }

    fn before_tool<'a>(&'a self, tool: &'a dyn Tool, _: &'a mut Map, ctx: &'a ToolContext) -> Hook<'a, Option<Value>> {
        if !self.inner.counts_tool(tool) {
            return None;
        }
        let book = self.inner.book(ctx.invocation());
        let call = call(ctx);
        let mut run = book.run();
        if run.has_tool(&call) {
            return None;
        }
        match self.inner.begin(ctx, &book, &mut run, Counts::ONE_TOOL_CALL, Limits::tools_exceeded_by) {
            Ok(()) => {
                run.begin_tool(call);
                None
            }
            Err(text) => decided(Ok(Some(json!({"error": text, "error_code": BUDGET_EXCEEDED})))),
        }
    }

    fn after_tool<'a>(
        &'a self,
        tool: &'a dyn Tool,
        _: &'a Map,
        ctx: &'a ToolContext,
        result: &'a Value,
    ) -> Hook<'a, Option<Value>> {
        if !self.inner.counts_tool(tool) {
            return None;
        }
        let book = self.inner.book(ctx.invocation());
        if asks(ctx) || is_rejected(ctx, result) {
            book.cancel_tool(&call(ctx));
        } else {
            book.count_tool(&call(ctx));
        }
        written(self.inner.write(ctx, &book))
    }

    fn on_tool_error<'a>(
        &'a self,
        tool: &'a dyn Tool,
        _: &'a Map,
        ctx: &'a ToolContext,
        _: &'a NodeError,
    ) -> Hook<'a, Option<Value>> {
        if !self.inner.counts_tool(tool) {
            return None;
        }
        let book = self.inner.book(ctx.invocation());
        book.count_tool(&call(ctx));
        written(self.inner.write(ctx, &book))
    }

    fn after_run<'a>(&'a self, ic: &'a InvocationContext) -> Hook<'a, ()> {
        if let Some(book) = self.inner.books.remove(ic) {
            // If the run was stopped, its open model calls have been made, so they are counted.
            book.close(ic.is_aborted());
        }
        None
    }

    fn on_run_error<'a>(&'a self, ic: &'a InvocationContext, _: &'a NodeError) -> Hook<'a, ()> {
        if let Some(book) = self.inner.books.remove(ic) {
            book.close(true);
        }
        None
    }
}

/// Returns the result of a hook that changes nothing except state and metadata.
fn written<'a, T: Send + 'a>(result: Result<(), NodeError>) -> Hook<'a, Option<T>> {
    match result {
        Ok(()) => None,
        Err(error) => decided(Err(error.into())),
    }
}

/// Returns a key for an agent's run, which calls one model at a time. The key is unique even if several runs share a
/// path, which is possible in a shell.
fn lane(ctx: &Context) -> String {
    let branch = ctx.branch().map(|branch| branch.to_string()).unwrap_or_default();
    format!("{} {} {} {branch}", ctx.invocation_id(), ctx.node_path(), ctx.agent_name())
}

/// Returns a key for a call of a tool, or for the run of a tool that is a node.
fn call(ctx: &ToolContext) -> String {
    format!("{} {}", lane(ctx), ctx.function_call_id().unwrap_or_default())
}

/// Returns true if the call waits for an answer and will be repeated after it.
fn asks(ctx: &ToolContext) -> bool {
    let actions = ctx.actions();
    let id = ctx.function_call_id().unwrap_or_default();
    actions.requested_tool_confirmations().contains_key(&id) || actions.requested_auth_configs().contains_key(&id)
}

/// Returns true if a person has rejected the call at its confirmation gate, so that the tool was not called.
fn is_rejected(ctx: &ToolContext, result: &Value) -> bool {
    ctx.tool_confirmation().is_some_and(|answer| !answer.confirmed) && *result == json!({"error": REJECTED})
}
