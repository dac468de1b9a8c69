//! Checks that the pictures in `docs/concepts.md` equal the pictures that pleach draws. `PLEACH_BLESS=1` writes them
//! again.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

use std::path::Path;

use pleach::inspect::{Picture, RunSummary};
use pleach::prelude::*;
use pleach::{GetSessionConfig, Node as _, Session};
use pleach_contract::{CountedIds, TestClock};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Facts {
    stock: u32,
    credit: u32,
}

async fn read(Input(text): Input<String>) -> String {
    text.trim().to_lowercase()
}

async fn stock(Input(item): Input<String>) -> u32 {
    item.len() as u32
}

async fn credit() -> u32 {
    80
}

async fn decide(Input(facts): Input<Facts>) -> Output<u32> {
    let route = if facts.credit >= 100 { "ship" } else { "ask" };
    Output::of(facts.stock).route(route)
}

async fn approve(Input(pieces): Input<u32>) -> RequestInput<u32> {
    RequestInput::ask("pieces", format!("There are {pieces}. How many go out?"))
}

async fn ship(Input(pieces): Input<u32>) -> String {
    format!("{pieces} shipped")
}

fn orders() -> Result<Workflow<String>, BuildError> {
    let mut wf = Workflow::builder("orders").input::<String>();
    let read = wf.node("read", read);
    let (stock, credit) = (wf.node("stock", stock), wf.node("credit", credit));
    let facts = wf.join_as::<Facts>("facts", (stock, credit));
    let (decide, approve, ship) = (wf.node("decide", decide), wf.node("approve", approve), wf.node("ship", ship));
    wf.edge(START, read)
        .edge(read, (stock, credit))
        .edge(facts, decide)
        .route(decide, "ship", ship)
        .route(decide, "ask", approve)
        .edge(approve, ship);
    wf.build()
}

/// Compares a picture with its file.
fn check(file: &str, picture: &Picture) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures").join(file);
    let drawn = picture.to_svg();
    if std::env::var_os("PLEACH_BLESS").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept.replace("\r\n", "\n") == drawn,
        "{} is not what pleach draws: PLEACH_BLESS=1 writes it anew",
        path.display()
    );
}

#[tokio::test]
async fn the_pictures_of_the_concepts_are_what_pleach_draws() {
    let workflow = orders().unwrap();
    let outline = workflow.outline();
    check("orders.svg", &Picture::of(&outline, None).unwrap());

    let clock = TestClock::skipping();
    let runner = Runner::builder("demo").root(workflow).clock(clock).ids(CountedIds::new()).build().unwrap();
    let mut run = runner.run("ana", "s1", "Tea");
    while let Some(event) = run.next().await {
        event.unwrap();
    }
    let drawn = |session: &Session| {
        let invocation = session.events[0].invocation_id().clone();
        Picture::of(&outline, Some(&RunSummary::of(&session.events, &invocation))).unwrap()
    };
    check("orders-waiting.svg", &drawn(&load(&runner).await));
    let shipped: String = runner.answer("s1", "pieces", 2).unwrap().output().await.unwrap();
    assert_eq!(shipped, "2 shipped");
    check("orders-done.svg", &drawn(&load(&runner).await));
}

async fn load(runner: &Runner) -> Session {
    let key = SessionKey::new("demo", "ana", "s1");
    runner.sessions().get_session(&key, GetSessionConfig::all()).await.unwrap().unwrap()
}
