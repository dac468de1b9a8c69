use pleach::prelude::*;

async fn number() -> i64 {
    1
}
async fn text(Input(_text): Input<String>) {}
async fn anything() {}

fn main() {
    let mut wf = Workflow::builder("wf");
    let number = wf.node("number", number);
    let (text, anything) = (wf.node("text", text), wf.node("anything", anything));
    wf.edge(START, number).edge(number, (anything, text));
}
