use pleach::prelude::*;

struct Opaque;

async fn make() -> Opaque {
    Opaque
}

fn main() {
    let mut wf = Workflow::builder("wf");
    wf.node("make", make);
}
