use pleach::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Draft;
#[derive(Serialize, Deserialize)]
struct Order;

async fn draft() -> Draft {
    Draft
}
async fn ship(Input(_order): Input<Order>) {}

fn main() {
    let mut wf = Workflow::builder("wf");
    let (draft, ship) = (wf.node("draft", draft), wf.node("ship", ship));
    wf.edge(START, draft).edge(draft, ship);
}
