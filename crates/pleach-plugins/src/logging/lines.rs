//! The hooks of the [`LoggingPlugin`], and the texts of their lines.

use pleach_context::{
    AgentSpec, CallbackContext, Context, Hook, InvocationContext, NodeError, NodeInput, NodeSpec, Plugin, Tool,
    ToolContext,
};
use pleach_core::{Content, Event, Map};
use pleach_model::{LlmRequest, LlmResponse};
use serde_json::Value;

use super::LoggingPlugin;
use super::excerpt::Excerpts;
use super::secrets::Secrets;

impl LoggingPlugin {
    /// Writes a line about an invocation, if anyone receives it.
    fn write_for_invocation(&self, ic: &InvocationContext, line: impl FnOnce(&Excerpts) -> String) {
        if self.is_on() {
            let secrets = Secrets::of(&ic.state());
            let line = line(&Excerpts { shown: self.shown, secrets });
            self.write(ic.invocation_id().as_str(), &line);
        }
    }

    /// Writes a line about a run within an invocation.
    fn write_for_run(&self, ctx: &Context, line: impl FnOnce(&Excerpts) -> String) {
        self.write_for_invocation(ctx.invocation(), line);
    }
}

// Every hook writes its line at once, and returns no future.
impl Plugin for LoggingPlugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_user_message<'a>(&'a self, ic: &'a InvocationContext, message: &'a Content) -> Hook<'a, Option<Content>> {
        self.write_for_invocation(ic, |excerpts| format!("user: {}", excerpts.content(Some(message))));
        None
    }

    fn before_run<'a>(&'a self, ic: &'a InvocationContext) -> Hook<'a, Option<Content>> {
        self.write_for_invocation(ic, |excerpts| {
            let text = |text: &str| excerpts.text(text);
            let caller = match ic.caller() {
                Some(caller) => format!(", called by {}", text(caller.invocation_id().as_str())),
                None => String::new(),
            };
            format!(
                "run starts: app {}, user {}, session {}{caller}",
                text(ic.app_name().as_str()),
                text(ic.user_id().as_str()),
                text(ic.session_id().as_str())
            )
        });
        None
    }

    fn on_event<'a>(&'a self, ic: &'a InvocationContext, event: &'a Event) -> Hook<'a, Option<Event>> {
        let is_wanted = if event.is_partial() { self.shown.fragments } else { true };
        if self.shown.events && is_wanted {
            self.write_for_invocation(ic, |excerpts| about_event(excerpts, event));
        }
        None
    }

    fn before_node<'a>(&'a self, _: &'a NodeSpec, ctx: &'a Context, _: &'a NodeInput) -> Hook<'a, Option<Value>> {
        if self.shown.nodes {
            self.write_for_run(ctx, |_| {
                let again =
                    if ctx.attempt_count() > 1 { format!(", attempt {}", ctx.attempt_count()) } else { String::new() };
                format!("node {} starts{again}", ctx.node_path())
            });
        }
        None
    }

    fn after_node<'a>(&'a self, _: &'a NodeSpec, ctx: &'a Context, output: Option<&'a Value>) -> Hook<'a, ()> {
        if self.shown.nodes {
            self.write_for_run(ctx, |excerpts| match output {
                Some(output) => format!("node {} ends: {}", ctx.node_path(), excerpts.value(output)),
                None => format!("node {} ends", ctx.node_path()),
            });
        }
        None
    }

    fn on_node_error<'a>(&'a self, _: &'a NodeSpec, ctx: &'a Context, error: &'a NodeError) -> Hook<'a, ()> {
        self.write_for_run(ctx, |excerpts| format!("node {} fails: {}", ctx.node_path(), excerpts.error(error)));
        None
    }

    fn before_tool<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a mut Map,
        ctx: &'a ToolContext,
    ) -> Hook<'a, Option<Value>> {
        self.write_for_run(ctx, |excerpts| {
            format!("tool {} starts: {}{}", excerpts.tool(tool), call_id(ctx), excerpts.args(args))
        });
        None
    }

    fn after_tool<'a>(
        &'a self,
        tool: &'a dyn Tool,
        _: &'a Map,
        ctx: &'a ToolContext,
        result: &'a Value,
    ) -> Hook<'a, Option<Value>> {
        self.write_for_run(ctx, |excerpts| {
            let result_text = excerpts.value(result);
            let end = if reports_error(result) { "reports an error" } else { "ends" };
            format!("tool {} {end}: {}{result_text}", excerpts.tool(tool), call_id(ctx))
        });
        None
    }

    fn on_tool_error<'a>(
        &'a self,
        tool: &'a dyn Tool,
        _: &'a Map,
        ctx: &'a ToolContext,
        error: &'a NodeError,
    ) -> Hook<'a, Option<Value>> {
        self.write_for_run(ctx, |excerpts| {
            format!("tool {} fails: {}{}", excerpts.tool(tool), call_id(ctx), excerpts.error(error))
        });
        None
    }

    fn before_agent<'a>(&'a self, agent: &'a AgentSpec, ctx: &'a CallbackContext) -> Hook<'a, Option<Content>> {
        self.write_for_run(ctx, |_| match ctx.branch() {
            Some(branch) => format!("agent {} starts, branch {branch}", agent.name),
            None => format!("agent {} starts", agent.name),
        });
        None
    }

    fn after_agent<'a>(&'a self, agent: &'a AgentSpec, ctx: &'a CallbackContext) -> Hook<'a, Option<Content>> {
        self.write_for_run(ctx, |_| format!("agent {} ends", agent.name));
        None
    }

    fn before_model<'a>(
        &'a self,
        ctx: &'a CallbackContext,
        request: &'a mut LlmRequest,
    ) -> Hook<'a, Option<LlmResponse>> {
        self.write_for_run(ctx, |excerpts| {
            let model = excerpts.text(request.model.as_deref().unwrap_or("its model"));
            let (contents, tools) = (request.contents.len(), request.declarations().count());
            format!("{} asks {model}: {}, {}", ctx.agent_name(), counted(contents, "content"), counted(tools, "tool"))
        });
        None
    }

    fn after_model<'a>(&'a self, ctx: &'a CallbackContext, response: &'a LlmResponse) -> Hook<'a, Option<LlmResponse>> {
        if !response.is_partial() || self.shown.fragments {
            self.write_for_run(ctx, |excerpts| about_response(excerpts, ctx.agent_name(), response));
        }
        None
    }

    fn on_model_error<'a>(
        &'a self,
        ctx: &'a CallbackContext,
        _: &'a LlmRequest,
        error: &'a NodeError,
    ) -> Hook<'a, Option<LlmResponse>> {
        self.write_for_run(ctx, |excerpts| {
            format!("the model of {} fails: {}", ctx.agent_name(), excerpts.error(error))
        });
        None
    }

    fn on_agent_error<'a>(
        &'a self,
        agent: &'a AgentSpec,
        ctx: &'a CallbackContext,
        error: &'a NodeError,
    ) -> Hook<'a, ()> {
        self.write_for_run(ctx, |excerpts| format!("agent {} fails: {}", agent.name, excerpts.error(error)));
        None
    }

    fn after_run<'a>(&'a self, ic: &'a InvocationContext) -> Hook<'a, ()> {
        self.write_for_invocation(ic, |_| {
            if ic.is_aborted() { "run is aborted".to_owned() } else { "run ends".to_owned() }
        });
        None
    }

    fn on_run_error<'a>(&'a self, ic: &'a InvocationContext, error: &'a NodeError) -> Hook<'a, ()> {
        self.write_for_invocation(ic, |excerpts| format!("run fails: {}", excerpts.error(error)));
        None
    }
}

fn about_event(excerpts: &Excerpts, event: &Event) -> String {
    let mut said = Vec::new();
    if event.content().is_some() {
        said.push(excerpts.content(event.content()));
    }
    if let Some(output) = event.output() {
        said.push(format!("output {}", excerpts.value(output)));
    }
    let keys: Vec<String> = event.actions().state_delta().keys().map(|key| excerpts.text(key)).collect();
    if !keys.is_empty() {
        said.push(format!("state keys {}", excerpts.limited(&keys)));
    }
    let files: Vec<String> = event.actions().artifact_delta().keys().map(|name| excerpts.text(name)).collect();
    if !files.is_empty() {
        said.push(if excerpts.shown.contents {
            format!("files {}", excerpts.limited(&files))
        } else {
            counted(files.len(), "file")
        });
    }
    if let Some(agent) = event.actions().transfer_to_agent() {
        said.push(format!("transfers to {}", excerpts.text(agent)));
    }
    if let Some(route) = event.actions().route() {
        said.push(if excerpts.shown.contents {
            format!("route {}", excerpts.text(&format!("{route:?}")))
        } else {
            "a route".to_owned()
        });
    }
    let asked = event.long_running_tool_ids().map_or(0, |ids| ids.len());
    if asked > 0 {
        said.push(format!("waits for {}", counted(asked, "answer")));
    }
    if let Some(code) = event.error_code() {
        said.push(excerpts.coded(code, event.error_message().unwrap_or_default()));
    }
    let kind = if event.is_partial() { "fragment" } else { "event" };
    let what = if said.is_empty() { "nothing".to_owned() } else { said.join("; ") };
    format!("{kind} of {}: {what}", event.author())
}

fn about_response(excerpts: &Excerpts, agent: &str, response: &LlmResponse) -> String {
    let mut said = Vec::new();
    match &response.error_code {
        Some(code) => said.push(excerpts.coded(code, response.error_message.as_deref().unwrap_or_default())),
        None => said.push(excerpts.content(response.content.as_ref())),
    }
    if let Some(usage) = &response.info.usage_metadata {
        let count =
            |name: &str| usage.get(name).and_then(Value::as_u64).map_or("?".to_owned(), |count| count.to_string());
        said.push(format!("{} tokens in, {} out", count("prompt_token_count"), count("candidates_token_count")));
    }
    if let Some(reason) = response.info.finish_reason.as_deref().filter(|_| !response.is_partial()) {
        said.push(excerpts.text(reason));
    }
    let kind = if response.is_partial() { "gets a fragment" } else { "gets" };
    format!("{agent} {kind}: {}", said.join("; "))
}

/// Returns true if the result of a tool or a plugin reports an error as a value.
fn reports_error(result: &Value) -> bool {
    let is_set = |name: &str| result.get(name).is_some_and(|value| !value.is_null() && *value != Value::Bool(false));
    is_set("error") || is_set("isError") || is_set("error_type")
}

fn call_id(ctx: &ToolContext) -> String {
    ctx.function_call_id().filter(|id| !id.is_empty()).map_or_else(String::new, |id| format!("call {id}, "))
}

fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
