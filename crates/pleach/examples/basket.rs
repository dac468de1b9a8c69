//! Dynamic children: `cargo run --example basket`.
#![expect(clippy::print_stdout, reason = "examples print what they do")]

use pleach::prelude::*;

async fn price(Input(item): Input<String>) -> u32 {
    item.len() as u32
}

fn basket() -> FunctionNode<Vec<String>, u32> {
    let price = FunctionNode::new("price", price); // FunctionNode<String, u32>; clone is cheap
    FunctionNode::new("basket", move |ctx: Context, Input(items): Input<Vec<String>>| {
        let price = price.clone();
        async move {
            let first: u32 = ctx.run(&price, items[0].clone()).await?; // typed by the child's In and Out
            let rest = items[1..].iter().map(|i| ctx.run(&price, i.clone())); // run ids are assigned here, in this order
            Ok::<_, NodeError>(first + futures::future::try_join_all(rest).await?.iter().sum::<u32>())
        }
    })
    .rerun_on_resume(true)
}

#[tokio::main]
async fn main() -> Result<()> {
    let runner = Runner::builder("demo").root(basket()).build()?;
    println!("{}", runner.run("ana", "s1", Message::data(["tea", "milk", "bread"])).output::<u32>().await?);
    Ok(())
}
