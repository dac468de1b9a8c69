//! The app `wf`: a workflow that asks a question midway.
// H132

use pleach::prelude::*;
use serde_json::{Value, json};

use crate::python;

pub(crate) fn workflow() -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("wf");
    let (start, ask, finish) = (wf.node("start", start), wf.node("ask", ask), wf.node("finish", finish));
    wf.edge(START, start).edge(start, ask).edge(ask, finish);
    wf.build()
}

async fn start(Input(message): Input<String>) -> Event {
    Event::message("starting").with_output(format!("got:{message}"))
}

async fn ask() -> RequestInput<Value> {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    RequestInput::ask("ask1", "Your name?").with_schema(schema)
}

async fn finish(ctx: Context, Input(answer): Input<Value>) -> Result<Value> {
    let shown = python::repr(&answer);
    ctx.emit(Event::message(format!("done {shown}"))).await?;
    ctx.state().set("final", shown)?;
    Ok(json!({ "final": answer }))
}
