//! The environment of a body: its variables, its input and its run.

use std::sync::Arc;

use pleach::{Context, InvocationContext, NodeError, ReadonlyContext};
use serde_json::{Map, Value};

use super::expr::{self, ExprError, Scope};
use super::value::{content_value, text_of, walk};
use super::world::World;

/// The class of the error that reports a fault of the scenario itself.
const FAULT: &str = "ScenarioError";

/// The environment of one body.
pub(crate) struct Env {
    pub(crate) world: Arc<World>,
    vars: Map<String, Value>,
    input: Value,
    place: Place,
}

/// The place where a body runs.
#[derive(Clone)]
enum Place {
    /// In a run of a node.
    Run(Context),
    /// In a function that reads the run of an agent.
    Reader(ReadonlyContext),
    /// In a hook of a plugin, which has a copy of the state at the time of the call, or in a model, which has no state.
    Apart { state: Map<String, Value> },
}

/// The reason why a body cannot continue.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: NodeError,
    /// Whether `try` may catch the error. Errors with which the engine refuses a yielded value are not raised inside
    /// the body.
    pub(crate) catchable: bool,
}

impl Failure {
    /// An error that the body does not see, because the engine refused a yielded value.
    pub(crate) fn of_engine(error: NodeError) -> Self {
        Self { error, catchable: false }
    }
}

impl From<NodeError> for Failure {
    fn from(error: NodeError) -> Self {
        Self { error, catchable: true }
    }
}

impl Env {
    /// The environment of a node's body.
    pub(crate) fn of_run(world: Arc<World>, ctx: Context, input: Value) -> Self {
        Self { world, vars: Map::new(), input, place: Place::Run(ctx) }
    }

    /// The environment of a plugin hook's body.
    pub(crate) fn of_hook(world: Arc<World>, ic: &InvocationContext, vars: Map<String, Value>) -> Self {
        let state = ic.state();
        Self { world, vars, input: Value::Null, place: Place::Apart { state } }
    }

    /// The environment of a model's responses.
    pub(crate) fn of_model(world: Arc<World>, vars: Map<String, Value>) -> Self {
        Self { world, vars, input: Value::Null, place: Place::Apart { state: Map::new() } }
    }

    /// The environment of an instruction's body.
    pub(crate) fn of_reader(world: Arc<World>, ctx: ReadonlyContext) -> Self {
        Self { world, vars: Map::new(), input: Value::Null, place: Place::Reader(ctx) }
    }

    /// The same environment with more variables.
    pub(crate) fn with_vars(mut self, vars: Map<String, Value>) -> Self {
        self.vars.extend(vars);
        self
    }

    /// The same environment with one more variable.
    pub(crate) fn with_var(&self, name: &str, value: Value) -> Self {
        let mut vars = self.vars.clone();
        vars.insert(name.to_owned(), value);
        Self { world: Arc::clone(&self.world), vars, input: self.input.clone(), place: self.place.clone() }
    }

    /// The run of the node. Hooks of plugins, models and instructions have no run.
    pub(crate) fn ctx(&self) -> Result<&Context, Failure> {
        match &self.place {
            Place::Run(ctx) => Ok(ctx),
            Place::Reader(_) | Place::Apart { .. } => Err(self.fault("this body has no run of its own")),
        }
    }

    /// Sets a variable if `name` is set.
    pub(crate) fn keep(&mut self, name: Option<&String>, value: Value) {
        if let Some(name) = name {
            self.vars.insert(name.clone(), value);
        }
    }

    /// Evaluates an expression.
    pub(crate) fn eval(&self, expr: &Value) -> Result<Value, Failure> {
        expr::eval(expr, self).map_err(|error| self.failure(error))
    }

    /// Evaluates every value of a map.
    pub(crate) fn entries(&self, map: &Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        expr::entries(map, self).map_err(|error| self.failure(error))
    }

    fn failure(&self, error: ExprError) -> Failure {
        match error {
            ExprError::Type(message) => NodeError::new("TypeError", message).into(),
            ExprError::Scenario(message) => self.fault(&message),
        }
    }

    /// Records that the scenario itself is wrong, so that no trace is printed.
    pub(crate) fn fault(&self, what: &str) -> Failure {
        self.world.set_fault(what);
        Failure { error: NodeError::new(FAULT, what), catchable: false }
    }

    fn run(&self) -> Result<&Context, ExprError> {
        self.ctx().map_err(|failure| ExprError::Scenario(failure.error.message().to_owned()))
    }

    fn state(&self, key: &str) -> Option<Value> {
        match &self.place {
            Place::Run(ctx) => ctx.state().value(key),
            Place::Reader(ctx) => ctx.state_value(key),
            Place::Apart { state } => state.get(key).cloned(),
        }
    }
}

impl Scope for Env {
    fn path(&self, path: &str) -> Result<Value, ExprError> {
        let (head, rest) = path.split_once('.').unwrap_or((path, ""));
        let mut segments = rest.split('.').filter(|_| !rest.is_empty());
        Ok(match head {
            "input" => walk(&self.input, segments),
            "state" => self.state(rest).unwrap_or_default(),
            "var" => {
                let name = segments.next().unwrap_or_default();
                self.vars.get(name).map_or(Value::Null, |value| walk(value, segments))
            }
            "resume" => self.run()?.resume_inputs().get(rest).cloned().unwrap_or_default(),
            "resume_ids" => self.run()?.resume_inputs().keys().cloned().collect(),
            "counter" => self.world.counter(rest).into(),
            "ctx" => {
                let field = match &self.place {
                    Place::Reader(ctx) => of_reader(ctx, rest),
                    _ => of_context(self.run()?, rest),
                };
                field.ok_or_else(|| ExprError::Scenario(format!("unknown path `{path}`")))?
            }
            _ => return Err(ExprError::Scenario(format!("unknown path `{path}`"))),
        })
    }

    fn has_state(&self, key: &str) -> Result<bool, ExprError> {
        Ok(self.state(key).is_some())
    }

    fn has_resume(&self, id: &str) -> Result<bool, ExprError> {
        Ok(self.run()?.resume_inputs().contains_key(id))
    }
}

/// The value of `{"$": "ctx.FIELD"}`, or `None` for an unknown field.
fn of_context(ctx: &Context, field: &str) -> Option<Value> {
    Some(match field {
        "node_path" => ctx.node_path().as_str().into(),
        "run_id" => ctx.run_id().into(),
        "attempt_count" => ctx.attempt_count().into(),
        "retry_count" => ctx.retry_count().into(),
        "session_id" => ctx.session().id().as_str().into(),
        "user_id" => ctx.user_id().into(),
        "app_name" => ctx.session().app_name().as_str().into(),
        "agent_name" => ctx.agent_name().into(),
        "branch" => ctx.branch().map_or(Value::Null, |branch| branch.as_str().into()),
        "invocation_id" => ctx.invocation_id().into(),
        "user_text" => ctx.user_content().map_or_else(String::new, |said| text_of(&content_value(said))).into(),
        "output" => ctx.output().unwrap_or_default(),
        "route" => serde_json::to_value(ctx.route()).expect("a route is texts, numbers and flags"),
        "interrupt_ids" => {
            let mut ids = ctx.interrupt_ids();
            ids.sort_unstable();
            ids.into()
        }
        "has_function_call_id" => ctx.function_call_id().is_some().into(),
        _ => return None,
    })
}

/// The value of `{"$": "ctx.FIELD"}` in an instruction.
fn of_reader(ctx: &ReadonlyContext, field: &str) -> Option<Value> {
    Some(match field {
        "session_id" => ctx.session().id().as_str().into(),
        "user_id" => ctx.user_id().into(),
        "app_name" => ctx.session().app_name().as_str().into(),
        "agent_name" => ctx.agent_name().into(),
        "invocation_id" => ctx.invocation_id().into(),
        "user_text" => ctx.user_content().map_or_else(String::new, |said| text_of(&content_value(said))).into(),
        _ => return None,
    })
}
