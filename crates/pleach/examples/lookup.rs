//! Fan-out, join, state, progress: `cargo run --example lookup`.
#![expect(clippy::print_stdout, reason = "examples print what they do")]

use pleach::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Found {
    orders: Vec<u32>,
    notes: String,
} // the fields are the names of the joined nodes

#[derive(Deserialize)]
struct Prefs {
    #[serde(rename = "user:locale")]
    locale: Option<String>,
}

const LOOKUPS: Key<u32> = Key::new("user:lookups");

async fn orders(Input(user): Input<String>) -> Vec<u32> {
    vec![user.len() as u32]
}

async fn notes() -> &'static str {
    "likes tea" // no Input: accepts anything
}

async fn answer(ctx: Context, Input(f): Input<Found>, FromState(p): FromState<Prefs>) -> Result<String> {
    ctx.emit(Event::message("both found")).await?; // stored when this returns
    ctx.state().set("last", &f.notes)?;
    LOOKUPS.add(&ctx, 1)?; // correct even if other sessions of the user count at the same time
    Ok(format!("{} {}, {}", f.orders.len(), f.notes, p.locale.unwrap_or("en".into())))
}

fn lookup() -> Result<Workflow<Dynamic, String>, BuildError> {
    // a node like any other: `outer.add(lookup()?)`
    let mut wf = Workflow::builder("lookup");
    let (orders, notes) = (wf.node("orders", orders), wf.node("notes", notes));
    let found = wf.join_as::<Found>("found", (orders, notes)); // `join(..)` makes an untyped map
    let answer = wf.node("answer", answer);
    wf.edge(START, (orders, notes)).edge(found, answer);
    wf.build_to(answer) // the workflow outputs the output of `answer`
}

#[tokio::main]
async fn main() -> Result<()> {
    let runner = Runner::builder("demo").root(lookup()?).build()?;
    println!("{}", runner.run("ana", "s1", "ana").output::<String>().await?);
    Ok(())
}
