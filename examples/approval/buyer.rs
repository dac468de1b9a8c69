//! The agent. It buys things, and needs approval for large quantities.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Arc;

use pleach::model::{LlmRequest, LlmResponse, Model, ScriptedReply};
use pleach::prelude::*;
use pleach::{BuildError, FunctionCall};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// The largest quantity that needs no approval.
const FREE_QUANTITY: u32 = 10;

/// The file with the purchases, one per line. A purchase is the effect that must not happen twice.
const PURCHASES: &str = "purchases.txt";

pub(crate) fn agent(model: Option<Arc<dyn Model>>) -> Result<LlmAgent, BuildError> {
    let buy = tool("buy", "Buys things at once. Large quantities need approval, for which you need not ask.", buy);
    LlmAgent::builder("buyer")
        .model(model.unwrap_or_else(|| Arc::new(script())))
        .instruction("You buy what the user orders, and report in one sentence what came of it.")
        .tool(buy.confirm_if(|_, order: &Order| order.quantity > FREE_QUANTITY))
        .build()
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// The item to buy.
    item: String,
    /// The quantity.
    quantity: u32,
}

async fn buy(Args(Order { item, quantity }): Args<Order>) -> Result<Value> {
    let mut purchases = OpenOptions::new().create(true).append(true).open(PURCHASES)?;
    writeln!(purchases, "{quantity} {item}")?;
    Ok(json!({"bought": format!("{quantity} {item}")}))
}

/// Returns a script that understands orders such as "40 chairs", in place of a model.
fn script() -> ScriptedModel {
    ScriptedModel::new().then(ScriptedReply::with(reply)).repeating()
}

fn reply(request: &LlmRequest) -> LlmResponse {
    let Some(last) = request.contents.last() else { return LlmResponse::text("What shall I buy?") };
    if let Some(result) = last.function_responses().last() {
        let bought = result.response.as_ref().and_then(|response| response.get("bought")).and_then(Value::as_str);
        return LlmResponse::text(match bought {
            Some(what) => format!("I have bought {what}."),
            None => "I was not allowed to buy that.".to_owned(),
        });
    }
    let said = last.text();
    let order = said.split_once(' ').and_then(|(quantity, item)| Some((quantity.parse::<u32>().ok()?, item)));
    let Some((quantity, item)) = order else { return LlmResponse::text("Order like this: 40 chairs") };
    let args = json!({"item": item, "quantity": quantity}).as_object().cloned();
    LlmResponse::calls([FunctionCall { name: Some("buy".to_owned()), args, ..FunctionCall::default() }])
}
