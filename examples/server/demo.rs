//! The app `demo`: a chat with tools that answer, ask for approval, run for a long time, save files and write state.
// H130

use pleach::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::scripted::Scripted;

pub(crate) fn agent() -> Result<LlmAgent, BuildError> {
    let helper = LlmAgent::builder("helper").description("Helps.").instruction("Help.").model(Scripted).build()?;
    LlmAgent::builder("demo_agent")
        .description("A demo agent.")
        .instruction("Be brief.")
        .model(Scripted)
        .tool(tool("get_weather", "Looks up the weather for a city.", get_weather))
        .tool(tool("delete_file", "Deletes a file.", delete_file).require_confirmation())
        .tool(tool("ask_approval", "Asks a human.", ask_approval).long_running())
        .tool(tool("make_artifact", "Creates an artifact.", make_artifact))
        .tool(tool("put_state", "Writes state.", put_state))
        .sub_agent(helper)
        .build()
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    #[schemars(title = "City")]
    city: String,
}

async fn get_weather(Args(Place { city }): Args<Place>) -> Value {
    json!({ "city": city, "temp_c": 21 })
}

#[derive(Deserialize, JsonSchema)]
struct File {
    #[schemars(title = "Path")]
    path: String,
}

async fn delete_file(Args(File { path }): Args<File>) -> Value {
    json!({ "deleted": path })
}

#[derive(Deserialize, JsonSchema)]
struct Plan {
    #[schemars(title = "What")]
    #[serde(rename = "what")]
    _what: String,
}

async fn ask_approval(_: Args<Plan>) -> Value {
    json!({ "status": "pending", "ticket": "T-1" })
}

#[derive(Deserialize, JsonSchema)]
struct Document {
    #[schemars(title = "Name")]
    name: String,
}

async fn make_artifact(Args(Document { name }): Args<Document>, ctx: ToolContext) -> Result<Value> {
    let version = ctx.save_artifact(&name, Part::text("artifact body")).await?;
    ctx.state().set("last_artifact", name)?;
    Ok(json!({ "version": version }))
}

#[derive(Deserialize, JsonSchema)]
struct Entry {
    #[schemars(title = "Key")]
    key: String,
    #[schemars(title = "Value")]
    value: String,
}

async fn put_state(Args(Entry { key, value }): Args<Entry>, ctx: ToolContext) -> Result<Value> {
    for prefix in ["", "user:", "temp:"] {
        ctx.state().set(format!("{prefix}{key}"), &value)?;
    }
    Ok(json!({ "ok": true }))
}
