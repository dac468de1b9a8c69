use pleach::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Order;

async fn ship(_order: Order) {}

fn main() {
    let mut wf = Workflow::builder("wf");
    wf.node("ship", ship);
}
