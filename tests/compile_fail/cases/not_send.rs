use std::rc::Rc;

use pleach::prelude::*;

async fn local() -> u32 {
    let shared = Rc::new(7);
    std::future::ready(()).await;
    *shared
}

fn main() {
    let mut wf = Workflow::builder("wf");
    wf.node("local", local);
}
