//! Plays the steps of a body.

use std::time::Duration;

use pleach::{BoxFuture, Event, NodeError, Part, RequestInput, Route, Yield};
use serde_json::{Value, json};

use super::calls;
use super::env::{Env, Failure};
use super::event::{content, event, typed};
use super::step::{Assignments, Expr, Failing, Question, Step};
use super::value::{items, to_text, truthy};

/// The end of a list of steps.
#[derive(Debug)]
pub(crate) enum End {
    /// After its last step.
    Through,
    /// With `stop`.
    Stopped,
    /// With an output, or null.
    Returned(Value),
    /// With an event.
    ReturnedEvent(Box<Event>),
}

/// Plays the steps in order until one of them ends the body.
pub(crate) fn play<'a>(steps: &'a [Step], env: &'a mut Env) -> BoxFuture<'a, Result<End, Failure>> {
    Box::pin(async move {
        for step in steps {
            match one(step, env).await? {
                End::Through => {}
                ended => return Ok(ended),
            }
        }
        Ok(End::Through)
    })
}

async fn one(step: &Step, env: &mut Env) -> Result<End, Failure> {
    match step {
        Step::Yield(fields) => emit(event(fields, env)?, env).await?,
        Step::YieldRaw(value) => emit(env.eval(value)?, env).await?,
        Step::Ask(question) => emit(ask(question, env)?, env).await?,
        Step::Return(value) => return env.eval(value).map(End::Returned),
        Step::ReturnEvent(fields) => return Ok(End::ReturnedEvent(Box::new(event(fields, env)?))),
        Step::ReturnContent(value) => {
            let said = content(env.eval(value)?, "model")?;
            return Ok(End::ReturnedEvent(Box::new(Event::new().with_content(said))));
        }
        Step::Stop => return Ok(End::Stopped),
        Step::Let(entries) => assign(entries, env)?,
        Step::SetState(entries) => {
            for (key, value) in entries {
                env.ctx()?.state().set(key, env.eval(value)?)?;
            }
        }
        Step::SetOutput(value) => env.ctx()?.set_output(env.eval(value)?)?,
        Step::SetRoute(route) => match env.eval(route)? {
            Value::Null => {}
            route => env.ctx()?.set_route(typed::<Route>(route)?),
        },
        Step::Sleep(milliseconds) => sleep(milliseconds, env).await?,
        Step::Count(name) => env.world.count(to_text(&env.eval(name)?)),
        Step::Log(value) => env.world.log(env.eval(value)?),
        Step::Fail(failing) => fail(failing, env)?,
        Step::RunNode { run, keep } => {
            let output = calls::run(run, env).await?;
            env.keep(keep.as_ref(), output);
        }
        Step::Gather { runs, keep } => {
            let outputs = calls::gather(runs, env).await?;
            env.keep(keep.as_ref(), outputs);
        }
        Step::GatherEach { list, var, run, keep } => {
            let outputs = calls::gather_each(list, var, run, env).await?;
            env.keep(keep.as_ref(), outputs);
        }
        Step::If { test, then, otherwise } => {
            let steps = if truthy(&env.eval(test)?) { then } else { otherwise };
            return play(steps, env).await;
        }
        Step::For { var, list, steps } => return repeat(var, list, steps, env).await,
        Step::While { test, steps } => return repeat_while(test, steps, env).await,
        Step::Try { steps, var, caught } => return attempt(steps, var, caught, env).await,
        Step::SaveArtifact { name, text, keep } => {
            let (name, text) = (to_text(&env.eval(name)?), to_text(&env.eval(text)?));
            let version = env.ctx()?.save_artifact(&name, Part::text(text)).await?;
            env.keep(keep.as_ref(), version.into());
        }
        Step::LoadArtifact { name, keep } => {
            let name = to_text(&env.eval(name)?);
            let part = env.ctx()?.load_artifact(&name, None).await?;
            env.keep(Some(keep), part.and_then(|part| part.text).into());
        }
        Step::ListArtifacts { keep } => {
            let names = env.ctx()?.list_artifacts().await?;
            env.keep(Some(keep), names.into());
        }
        Step::Actions(entries) => {
            for (field, value) in env.entries(entries)? {
                set_action(&field, value, env)?;
            }
        }
        Step::RequestConfirmation { hint, payload } => {
            let payload = Some(env.eval(payload)?).filter(|payload| !payload.is_null());
            env.ctx()?.request_confirmation(hint.clone(), payload)?;
        }
    }
    Ok(End::Through)
}

fn assign(entries: &Assignments, env: &mut Env) -> Result<(), Failure> {
    for (name, value) in entries {
        let value = env.eval(value)?;
        env.keep(Some(name), value);
    }
    Ok(())
}

async fn sleep(milliseconds: &Expr, env: &Env) -> Result<(), Failure> {
    let milliseconds: f64 = typed(env.eval(milliseconds)?)?;
    // In memory the runtime's time is paused, so this sleep takes no time. A database has its own threads, and a paused
    // clock would not wait for them. So there the sleep is real, as it was when the trace was recorded.
    tokio::time::sleep(Duration::from_secs_f64(milliseconds.max(0.0) / 1000.0)).await;
    Ok(())
}

fn set_action(field: &str, value: Value, env: &Env) -> Result<(), Failure> {
    let flag = Some(typed::<bool>(value)?);
    let known = env.ctx()?.with_actions(|actions| match field {
        "escalate" => {
            actions.set_escalate(flag);
            true
        }
        "skip_summarization" => {
            actions.set_skip_summarization(flag);
            true
        }
        _ => false,
    })?;
    if known { Ok(()) } else { Err(env.fault(&format!("unknown action `{field}`"))) }
}

fn fail(failing: &Failing, env: &Env) -> Result<(), Failure> {
    let over = |first| Ok::<bool, Failure>(env.ctx()?.attempt_count() > first);
    if failing.first.map_or(Ok(false), over)? {
        return Ok(());
    }
    let message = to_text(&env.eval(&failing.message)?);
    Err(match scripted_error(&failing.class, message) {
        Some(error) => error.into(),
        None => env.fault(&format!("unknown error type `{}`", failing.class)),
    })
}

/// The error of a type that scenarios may raise, or `None` for other types.
pub(crate) fn scripted_error(class: &str, message: String) -> Option<NodeError> {
    Some(match class {
        "ValueError" => NodeError::new("ValueError", message),
        "RuntimeError" => NodeError::new("RuntimeError", message),
        "TypeError" => NodeError::new("TypeError", message),
        "CustomError" => NodeError::new("CustomError", message),
        "CustomValueError" => NodeError::new("CustomValueError", message).with_ancestors(&["ValueError", "Exception"]),
        _ => return None,
    })
}

/// Passes a value to the engine. The body does not see a refusal of the engine.
async fn emit(item: impl Into<Yield>, env: &Env) -> Result<(), Failure> {
    env.ctx()?.emit(item).await.map_err(Failure::of_engine)
}

fn ask(question: &Question, env: &Env) -> Result<RequestInput, Failure> {
    let mut ask = RequestInput::new();
    if let Some(id) = &question.id {
        ask = ask.with_id(to_text(&env.eval(id)?));
    }
    if let Some(message) = &question.message {
        ask.message = typed(env.eval(message)?)?;
    }
    if let Some(payload) = &question.payload {
        ask = ask.with_payload(env.eval(payload)?);
    }
    ask.response_schema.clone_from(&question.response_schema);
    Ok(ask)
}

async fn repeat(var: &String, list: &Expr, steps: &[Step], env: &mut Env) -> Result<End, Failure> {
    for item in items(env.eval(list)?)? {
        env.keep(Some(var), item);
        match play(steps, env).await? {
            End::Through => {}
            ended => return Ok(ended),
        }
    }
    Ok(End::Through)
}

async fn repeat_while(test: &Expr, steps: &[Step], env: &mut Env) -> Result<End, Failure> {
    while truthy(&env.eval(test)?) {
        match play(steps, env).await? {
            End::Through => {}
            ended => return Ok(ended),
        }
    }
    Ok(End::Through)
}

async fn attempt(steps: &[Step], var: &String, caught: &[Step], env: &mut Env) -> Result<End, Failure> {
    match play(steps, env).await {
        Err(Failure { error, catchable: true }) => {
            env.keep(Some(var), json!({ "type": error.class(), "message": error.message() }));
            play(caught, env).await
        }
        other => other,
    }
}
