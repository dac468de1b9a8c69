//! The agent: it keeps the user's notes, and asks before it deletes one.

use std::sync::Arc;

use pleach::model::Model;
use pleach::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// The user's notes: state under `user:` belongs to the user, and is the same in all chats.
const NOTES: &str = "user:notes";

const INSTRUCTION: &str = "\
You are a brief and friendly assistant on a terminal: plain text, no Markdown. You keep notes for the user. Look at the \
notes before you answer a question that they may answer. Delete only what the user wants to have deleted.";

pub(crate) fn assistant(model: Arc<dyn Model>) -> Result<LlmAgent, BuildError> {
    LlmAgent::builder("assistant")
        .model(model)
        .instruction(INSTRUCTION)
        .tool(tool("add_note", "Keeps a note.", add_note))
        .tool(tool("list_notes", "Lists the notes with their numbers.", list_notes))
        // The agent stops at this call until a person has answered.
        .tool(tool("delete_note", "Deletes a note for good.", delete_note).require_confirmation())
        .build()
}

#[derive(Deserialize, JsonSchema)]
struct NewNote {
    /// What to keep, in one sentence.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct NoteNumber {
    /// The number of the note in the list.
    number: usize,
}

async fn add_note(Args(NewNote { text }): Args<NewNote>, ctx: ToolContext) -> Result<Value> {
    ctx.state().push(NOTES, &text)?;
    Ok(json!({"kept": text}))
}

async fn list_notes(ctx: ToolContext) -> Result<Value> {
    let numbered = notes(&ctx)?.into_iter().zip(1..).map(|(text, number)| json!({"number": number, "text": text}));
    Ok(json!({"notes": numbered.collect::<Vec<_>>()}))
}

async fn delete_note(Args(NoteNumber { number }): Args<NoteNumber>, ctx: ToolContext) -> Result<Value> {
    let mut notes = notes(&ctx)?;
    // The model can mend this: it sees the error, and the run continues.
    if number == 0 || number > notes.len() {
        return Ok(json!({"error": format!("there is no note {number}; there are {}", notes.len())}));
    }
    let deleted = notes.remove(number - 1);
    ctx.state().set(NOTES, notes)?;
    Ok(json!({"deleted": deleted}))
}

fn notes(ctx: &ToolContext) -> Result<Vec<String>> {
    Ok(ctx.state().try_get(NOTES)?.unwrap_or_default())
}
