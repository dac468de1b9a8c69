//! The agent. It keeps the user's notes, and asks before it deletes a note.

use std::sync::Arc;

use pleach::model::Model;
use pleach::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// The user's notes: state under `user:` belongs to the user and is shared by all chats.
const NOTES: &str = "user:notes";

const INSTRUCTION: &str = "\
You are a brief and friendly assistant on a terminal: plain text, no Markdown. You keep notes for the user. Look at the \
notes before you answer a question that they may answer. Delete only what the user wants to have deleted.";

pub(crate) fn assistant(model: Arc<dyn Model>) -> Result<LlmAgent, BuildError> {
    LlmAgent::builder("assistant")
        .model(model)
        .instruction(INSTRUCTION)
        .tool(tool("add_note", "Keeps a note.", add_note))
        .tool(tool("list_notes", "Lists the notes.", list_notes))
        // The agent stops at this call until a person has answered.
        .tool(tool("delete_note", "Deletes a note for good.", delete_note).require_confirmation())
        .build()
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    /// The whole text of the note: one sentence.
    text: String,
}

async fn add_note(Args(Note { text }): Args<Note>, ctx: ToolContext) -> Result<Value> {
    ctx.state().push(NOTES, &text)?;
    Ok(json!({"kept": text}))
}

async fn list_notes(ctx: ToolContext) -> Result<Value> {
    Ok(json!({"notes": notes(&ctx)?}))
}

// The note is named by its text and not by a number, because the person who is asked must see what will be deleted.
async fn delete_note(Args(Note { text }): Args<Note>, ctx: ToolContext) -> Result<Value> {
    let mut notes = notes(&ctx)?;
    let Some(place) = notes.iter().position(|note| *note == text) else {
        // The model can correct this: it sees the error, and the run continues.
        return Ok(json!({"error": "there is no note with this text"}));
    };
    notes.remove(place);
    ctx.state().set(NOTES, notes)?;
    Ok(json!({"deleted": text}))
}

fn notes(ctx: &ToolContext) -> Result<Vec<String>> {
    Ok(ctx.state().try_get(NOTES)?.unwrap_or_default())
}
