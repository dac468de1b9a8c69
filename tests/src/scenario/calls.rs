//! Steps that run other nodes.

use std::sync::Arc;

use futures_util::future::try_join_all;
use pleach::{Node, RunOptions};
use serde_json::Value;

use super::env::{Env, Failure};
use super::step::{Call, Expr};
use super::value::{input_value, items, to_text};

/// A call with all its expressions evaluated.
struct Ready {
    node: Arc<dyn Node>,
    input: Value,
    options: RunOptions,
}

/// `run_node`: runs one node and returns its output.
pub(crate) async fn run(call: &Call, env: &Env) -> Result<Value, Failure> {
    let Ready { node, input, options } = prepare(call, env)?;
    let output = env.ctx()?.run_node(&*node, input, options).await?;
    Ok(input_value(&output))
}

/// `gather`: runs several nodes at once and returns their outputs in the order of the calls. The first error ends it.
pub(crate) async fn gather(calls: &[Call], env: &Env) -> Result<Value, Failure> {
    let ready: Vec<Ready> = calls.iter().map(|call| prepare(call, env)).collect::<Result<_, _>>()?;
    all(&ready, env).await
}

/// `gather_each`: like `gather`, with one call for each item.
pub(crate) async fn gather_each(list: &Expr, var: &str, call: &Call, env: &Env) -> Result<Value, Failure> {
    let each = |item| prepare(call, &env.with_var(var, item));
    let ready: Vec<Ready> = items(env.eval(list)?)?.into_iter().map(each).collect::<Result<_, _>>()?;
    all(&ready, env).await
}

async fn all(ready: &[Ready], env: &Env) -> Result<Value, Failure> {
    let ctx = env.ctx()?;
    let calls = ready.iter().map(|call| ctx.run_node(&*call.node, call.input.clone(), call.options.clone()));
    let outputs = try_join_all(calls).await?;
    Ok(outputs.iter().map(input_value).collect())
}

fn prepare(call: &Call, env: &Env) -> Result<Ready, Failure> {
    let node = env.world.build(&call.node, None).map_err(|refusal| match refusal.into_node_error() {
        Ok(error) => error.into(),
        Err(fault) => env.fault(&fault),
    })?;
    let mut options = RunOptions::default().use_as_output(call.use_as_output).use_sub_branch(call.use_sub_branch);
    if let Some(id) = &call.run_id {
        options = options.run_id(to_text(&env.eval(id)?));
    }
    Ok(Ready { node, input: env.eval(&call.input)?, options })
}
