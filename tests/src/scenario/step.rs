//! The steps of a body, read from their JSON.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value};

/// An expression, evaluated by [`eval`](super::expr::eval).
pub(crate) type Expr = Value;

/// Names with the expressions for their values.
pub(crate) type Entries = Map<String, Value>;

/// Names with the expressions for their values, in the order of assignment.
pub(crate) type Assignments = Vec<(String, Expr)>;

/// One step of a body.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Yield(Entries),
    YieldRaw(Expr),
    Return(Expr),
    ReturnEvent(Entries),
    ReturnContent(Expr),
    Stop,
    Let(Assignments),
    SetState(Assignments),
    SetOutput(Expr),
    SetRoute(Expr),
    Sleep(Expr),
    Fail(Failing),
    Ask(Question),
    RunNode { run: Call, keep: Option<String> },
    Gather { runs: Vec<Call>, keep: Option<String> },
    GatherEach { list: Expr, var: String, run: Box<Call>, keep: Option<String> },
    If { test: Expr, then: Vec<Step>, otherwise: Vec<Step> },
    For { var: String, list: Expr, steps: Vec<Step> },
    While { test: Expr, steps: Vec<Step> },
    Try { steps: Vec<Step>, var: String, caught: Vec<Step> },
    Count(Expr),
    Log(Expr),
    SaveArtifact { name: Expr, text: Expr, keep: Option<String> },
    LoadArtifact { name: Expr, keep: String },
    ListArtifacts { keep: String },
    Actions(Entries),
    RequestConfirmation { hint: String, payload: Expr },
}

/// A scripted error.
#[derive(Clone, Debug)]
pub(crate) struct Failing {
    pub(crate) class: String,
    pub(crate) message: Expr,
    /// The last attempt that fails. Later attempts succeed.
    pub(crate) first: Option<u32>,
}

/// A question to the outside.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) id: Option<Expr>,
    pub(crate) message: Option<Expr>,
    pub(crate) payload: Option<Expr>,
    pub(crate) response_schema: Option<Value>,
}

/// A dynamic run.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The key of a library node, or the description of a node.
    pub(crate) node: Value,
    pub(crate) input: Expr,
    pub(crate) run_id: Option<Expr>,
    pub(crate) use_as_output: bool,
    pub(crate) use_sub_branch: bool,
}

/// Reads a list of steps.
pub(crate) fn steps(value: &Value) -> Result<Vec<Step>> {
    list(value)?.iter().map(|step| read(step).with_context(|| format!("step {step}"))).collect()
}

/// The steps under a key that may be absent.
fn steps_at(map: &Entries, key: &str) -> Result<Vec<Step>> {
    map.get(key).map_or_else(|| Ok(Vec::new()), steps)
}

/// The keys that name the kind of a step, in the order in which they are looked for.
const KINDS: [&str; 27] = [
    "yield",
    "yield_raw",
    "return",
    "return_event",
    "return_content",
    "stop",
    "let",
    "set_state",
    "set_output",
    "set_route",
    "sleep_ms",
    "count",
    "log",
    "fail",
    "request_input",
    "run_node",
    "gather",
    "gather_each",
    "if",
    "for",
    "while",
    "try",
    "save_artifact",
    "load_artifact",
    "list_artifacts",
    "actions",
    "request_confirmation",
];

fn read(step: &Value) -> Result<Step> {
    let map = object(step)?;
    let kind = KINDS.into_iter().find(|kind| map.contains_key(*kind)).context("unknown step")?;
    let operand = &map[kind];
    let expr = || operand.clone();
    let fields = || object(operand);
    let keep = text_at(map, "as")?;
    Ok(match kind {
        "yield" => Step::Yield(fields()?.clone()),
        "yield_raw" => Step::YieldRaw(expr()),
        "return" => Step::Return(expr()),
        "return_event" => Step::ReturnEvent(fields()?.clone()),
        "return_content" => Step::ReturnContent(expr()),
        "stop" => Step::Stop,
        "let" => Step::Let(assignments(operand)?),
        "set_state" => Step::SetState(assignments(operand)?),
        "set_output" => Step::SetOutput(expr()),
        "set_route" => Step::SetRoute(expr()),
        "sleep_ms" => Step::Sleep(expr()),
        "count" => Step::Count(expr()),
        "log" => Step::Log(expr()),
        "fail" => Step::Fail(failing(fields()?)?),
        "request_input" => Step::Ask(question(fields()?)),
        "run_node" => Step::RunNode { run: call(operand)?, keep },
        "gather" => Step::Gather { runs: list(operand)?.iter().map(call).collect::<Result<_>>()?, keep },
        "gather_each" => gather_each(fields()?, keep)?,
        "if" => Step::If { test: expr(), then: steps_at(map, "then")?, otherwise: steps_at(map, "else")? },
        "for" => Step::For {
            var: needed(fields()?, "var")?,
            list: expr_at(fields()?, "in"),
            steps: steps_at(fields()?, "steps")?,
        },
        "while" => Step::While { test: expr(), steps: steps_at(map, "steps")? },
        "try" => tried(map)?,
        "save_artifact" => {
            Step::SaveArtifact { name: expr_at(fields()?, "name"), text: expr_at(fields()?, "text"), keep }
        }
        "load_artifact" => Step::LoadArtifact { name: expr(), keep: needed(map, "as")? },
        "list_artifacts" => Step::ListArtifacts { keep: needed(map, "as")? },
        "actions" => Step::Actions(fields()?.clone()),
        "request_confirmation" => Step::RequestConfirmation {
            hint: text_at(fields()?, "hint")?.unwrap_or_default(),
            payload: expr_at(fields()?, "payload"),
        },
        other => bail!("`{other}` is not read"),
    })
}

/// Reads the pairs that [`ordered`](super::ordered) makes from assignments.
fn assignments(pairs: &Value) -> Result<Assignments> {
    let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
        Some([Value::String(name), value]) => Ok((name.clone(), value.clone())),
        _ => bail!("an assignment is a pair, not {pair}"),
    };
    list(pairs)?.iter().map(pair).collect()
}

fn tried(map: &Entries) -> Result<Step> {
    let catch = map.get("catch").map_or_else(|| Ok(Entries::new()), |catch| object(catch).cloned())?;
    Ok(Step::Try {
        steps: steps_at(map, "try")?,
        var: text_at(&catch, "as")?.unwrap_or_else(|| "error".to_owned()),
        caught: steps_at(&catch, "steps")?,
    })
}

fn failing(fields: &Entries) -> Result<Failing> {
    let class = text_at(fields, "type")?.unwrap_or_else(|| "ValueError".to_owned());
    let message = fields.get("message").cloned().unwrap_or_else(|| "failed".into());
    let first = fields.get("first").map(|first| first.as_u64().and_then(|first| u32::try_from(first).ok()));
    ensure!(first != Some(None), "`first` is a number of attempts");
    Ok(Failing { class, message, first: first.flatten() })
}

fn question(fields: &Entries) -> Question {
    let at = |key: &str| fields.get(key).cloned();
    Question { id: at("id"), message: at("message"), payload: at("payload"), response_schema: at("response_schema") }
}

fn call(value: &Value) -> Result<Call> {
    let fields = object(value)?;
    let flag = |key: &str| fields.get(key).and_then(Value::as_bool).unwrap_or(false);
    Ok(Call {
        node: fields.get("node").context("a run without `node`")?.clone(),
        input: expr_at(fields, "input"),
        run_id: fields.get("run_id").cloned(),
        use_as_output: flag("use_as_output"),
        use_sub_branch: flag("use_sub_branch"),
    })
}

fn gather_each(fields: &Entries, keep: Option<String>) -> Result<Step> {
    let run = Box::new(call(fields.get("run_node").context("`gather_each` without `run_node`")?)?);
    Ok(Step::GatherEach { list: expr_at(fields, "in"), var: needed(fields, "var")?, run, keep })
}

fn object(value: &Value) -> Result<&Entries> {
    value.as_object().with_context(|| format!("an object is wanted, not {value}"))
}

fn list(value: &Value) -> Result<&[Value]> {
    value.as_array().map(Vec::as_slice).with_context(|| format!("a list is wanted, not {value}"))
}

fn expr_at(map: &Entries, key: &str) -> Expr {
    map.get(key).cloned().unwrap_or_default()
}

fn text_at(map: &Entries, key: &str) -> Result<Option<String>> {
    let text = map.get(key).map(|value| value.as_str().map(str::to_owned));
    ensure!(text != Some(None), "`{key}` is a text");
    Ok(text.flatten())
}

fn needed(map: &Entries, key: &str) -> Result<String> {
    text_at(map, key)?.with_context(|| format!("`{key}` is missing"))
}

/// Returns true if a body emits events. Such a body is a generator. All other bodies are plain functions.
pub(crate) fn emits(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Yield(_) | Step::YieldRaw(_) | Step::Ask(_) => true,
        Step::If { then, otherwise, .. } => emits(then) || emits(otherwise),
        Step::For { steps, .. } | Step::While { steps, .. } => emits(steps),
        Step::Try { steps, caught, .. } => emits(steps) || emits(caught),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_emits_when_a_nested_step_does() {
        let plain = steps(&json!([{"let": [["a", 1]]}, {"if": 1, "then": [{"return": 1}]}])).unwrap();
        assert!(!emits(&plain));
        let nested = steps(&json!([{"try": [{"return": 1}], "catch": {"steps": [{"yield": {"output": 1}}]}}])).unwrap();
        assert!(emits(&nested));
    }

    #[test]
    fn unknown_steps_are_refused_by_their_text() {
        let error = steps(&json!([{"jump": 1}])).unwrap_err();
        assert_eq!(format!("{error:#}"), "step {\"jump\":1}: unknown step");
    }
}
