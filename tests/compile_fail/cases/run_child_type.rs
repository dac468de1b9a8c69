use pleach::prelude::*;

async fn child(Input(n): Input<u32>) -> u32 {
    n
}

fn main() {
    let child = FunctionNode::new("child", child);
    FunctionNode::new("parent", move |ctx: Context| {
        let child = child.clone();
        async move { ctx.run(&child, "seven").await }
    });
}
