//! The agents of the team.

use std::sync::Arc;

use pleach::model::Model;
use pleach::prelude::*;
use pleach::{AgentMode, BuildError, LlmAgentBuilder, NodeTool};

use crate::{scripts, search};

const COORDINATOR: &str = "\
You lead a research team. First call `search` with several queries. Then have `analyst` judge what was found. At the end \
transfer to `writer`, which answers the user. Do not answer yourself.";

const ANALYST: &str = "\
Judge in one or two sentences which of these findings answer the question, and what is missing.

Findings:
{findings?}";

const WRITER: &str = "\
Answer the user's question in a short report of plain text. Use nothing but these findings, and name the title of each \
that you use.

Findings:
{findings?}";

/// Builds the team. All agents share the model, or each has its script.
pub(crate) fn coordinator(model: Option<Arc<dyn Model>>) -> Result<LlmAgent, BuildError> {
    let agent = |name: &'static str, script: fn() -> ScriptedModel| -> LlmAgentBuilder {
        LlmAgent::builder(name).model(model.clone().unwrap_or_else(|| Arc::new(script())))
    };
    let analyst = agent("analyst", scripts::analyst)
        .description("Judges whether the findings answer a question.")
        .instruction(ANALYST)
        .mode(AgentMode::SingleTurn)
        .build()?;
    let writer = agent("writer", scripts::writer)
        .description("Writes the report.")
        .instruction(WRITER)
        .disallow_transfer_to_parent(true)
        .build()?;
    agent("coordinator", scripts::coordinator)
        .instruction(COORDINATOR)
        .tool(NodeTool::new(search::search()?))
        .sub_agent(analyst)
        .sub_agent(writer)
        .build()
}
