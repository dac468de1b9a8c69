//! [`LoadArtifacts`]: the tool that a model calls to read files.

use std::fmt;
use std::sync::Arc;

use pleach_context::{NodeError, Tool, ToolContext, ToolResult};
use pleach_core::{BoxFuture, Content, FunctionDeclaration, Map, Part};
use pleach_model::LlmRequest;
use serde_json::{Value, json};

/// The name of the tool.
const LOAD_ARTIFACTS: &str = "load_artifacts";

/// The name of the argument, and of the field in the result, that contains the names of the files.
const NAMES: &str = "artifact_names";

/// The prefix of the names of the user's files.
const OF_USER: &str = "user:";

/// Returns the tool that a model calls to read the files of the session and the user. The app needs an artifact
/// service. See [`LoadArtifacts`]. ADK: `load_artifacts_tool`
#[must_use]
#[doc(alias = "load_artifacts_tool")]
pub fn load_artifacts() -> LoadArtifacts {
    LoadArtifacts {
        declaration: Arc::new(
            FunctionDeclaration::new(
                LOAD_ARTIFACTS,
                "Loads artifacts for this request.\n\nCall it when you need the content of artifacts, for example of files that the user has uploaded.",
            )
            .with_parameters(json!({
                "type": "object",
                "properties": {NAMES: {"type": "array", "items": {"type": "string"}}},
            })),
        ),
        convert: Arc::new(|part, name| Some(as_model_reads(part, name))),
    }
}

/// The tool that a model calls to read files.
///
/// Every request lists the names of the files. If the model calls for files, only the next request has their contents;
/// the session does not store them. Images, audio, video and PDF are sent as they are, and texts as text. For other
/// files, the model gets the name, the type and the size.
#[derive(Clone)]
pub struct LoadArtifacts {
    declaration: Arc<FunctionDeclaration>,
    convert: Arc<Convert>,
}

type Convert = dyn Fn(Part, &str) -> Option<Part> + Send + Sync;

impl LoadArtifacts {
    /// Sets the function that converts a file for the model. Its arguments are the file and the name. If it returns
    /// `None`, the file is left out. ADK: `process_artifact`
    #[must_use]
    pub fn convert(mut self, convert: impl Fn(Part, &str) -> Option<Part> + Send + Sync + 'static) -> Self {
        self.convert = Arc::new(convert);
        self
    }

    /// Adds the files that the last content of the request calls for.
    async fn add_contents(
        &self,
        listed: &[String],
        ctx: &ToolContext,
        request: &mut LlmRequest,
    ) -> Result<(), NodeError> {
        let responses = request.contents.last().into_iter().flat_map(|last| last.function_responses());
        let responses = responses.filter(|response| response.name.as_deref() == Some(LOAD_ARTIFACTS));
        let names = responses.filter_map(|response| names_in(response.response.as_ref()?));
        let names: Vec<String> = names.flatten().collect();
        for name in names {
            let Some(artifact) = load(&name, listed, ctx).await? else {
                tracing::warn!(agent = ctx.agent_name(), "the model asked for an artifact that does not exist");
                continue;
            };
            let Some(part) = (self.convert)(artifact, &name) else { continue };
            let parts = [Part::text(format!("Artifact {name} is:")), part];
            request.contents.push(Content::new("user", parts).into());
        }
        Ok(())
    }
}

impl Tool for LoadArtifacts {
    fn name(&self) -> &str {
        LOAD_ARTIFACTS
    }

    fn description(&self) -> &str {
        self.declaration.description.as_deref().unwrap_or_default()
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        Some(&self.declaration)
    }

    fn process_request<'a>(
        &'a self,
        ctx: &'a ToolContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        Box::pin(async move {
            request.append_tools([Arc::clone(&self.declaration)]);
            let listed = ctx.list_artifacts().await?;
            if listed.is_empty() {
                return Ok(());
            }
            request.append_last_instructions([instruction(&listed)]);
            self.add_contents(&listed, ctx, request).await
        })
    }

    fn run<'a>(&'a self, args: &'a Map, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        let result = match names_in(args) {
            Some(names) => json!({
                NAMES: names,
                "status": "artifact contents temporarily inserted and removed. to access these artifacts, call load_artifacts tool again.",
            }),
            None => {
                json!({"error": format!("'{NAMES}' must be a list of strings."), "error_code": "INVALID_ARGUMENTS"})
            }
        };
        Box::pin(std::future::ready(Ok(result.into())))
    }
}

impl fmt::Debug for LoadArtifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadArtifacts").finish_non_exhaustive()
    }
}

/// Returns the names of the files: none if the field is missing, and `None` if it is not a list of names.
fn names_in(fields: &Map) -> Option<Vec<String>> {
    let Some(names) = fields.get(NAMES) else { return Some(Vec::new()) };
    names.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Loads a listed file. Models may omit the prefix of a user's file, or add it to a name that is listed without the
/// prefix.
async fn load(name: &str, listed: &[String], ctx: &ToolContext) -> Result<Option<Part>, NodeError> {
    let is_listed = |name: &str| listed.iter().any(|known| known == name);
    let of_user = format!("{OF_USER}{name}");
    let is_known = is_listed(name) || name.strip_prefix(OF_USER).is_some_and(is_listed);
    let name = match is_known {
        true => name,
        false if is_listed(&of_user) => &of_user,
        false => return Ok(None),
    };
    match ctx.load_artifact(name, None).await? {
        None if !name.starts_with(OF_USER) => ctx.load_artifact(&of_user, None).await,
        found => Ok(found),
    }
}

fn instruction(names: &[String]) -> String {
    // The format and the wording are google-adk's, which models know.
    let names = Value::from(names).to_string().replace("\",\"", "\", \"");
    format!(
        "You have a list of artifacts:\n  {names}\n\n  When the user asks questions about any of the artifacts, you should call the\n  `load_artifacts` function to load the artifact. Always call load_artifacts\n  before answering questions related to the artifacts, regardless of whether the\n  artifacts have been loaded before. Do not depend on prior answers about the\n  artifacts.\n  "
    )
}

/// Converts a file to a form that models can read.
fn as_model_reads(mut file: Part, name: &str) -> Part {
    let Some(blob) = file.inline_data.as_mut() else { return file };
    let declared = blob.mime_type.clone().unwrap_or_default();
    let (base, parameters) = declared.split_at(declared.find(';').unwrap_or(declared.len()));
    let kind = base.trim().to_ascii_lowercase();
    if is_media(&kind) {
        blob.mime_type = Some(format!("{kind}{parameters}"));
        return file;
    }
    let kind = if kind.is_empty() { "application/octet-stream" } else { &kind };
    let Some(data) = &blob.data else {
        return Part::text(format!("[Artifact: {name}, type: {kind}. No inline data was provided.]"));
    };
    if is_text(kind, name) {
        return Part::text(String::from_utf8_lossy(data));
    }
    // The sizes of files are far below 2^52.
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let size = data.len() as f64 / 1024.0;
    Part::text(format!(
        "[Binary artifact: {name}, type: {kind}, size: {size:.1} KB. Content cannot be displayed inline.]"
    ))
}

/// Returns `true` if models accept media of this type.
fn is_media(kind: &str) -> bool {
    let is_image_of_text = matches!(kind, "image/svg" | "image/svg+xml" | "image/xml");
    let is_medium = ["image/", "audio/", "video/"].iter().any(|prefix| kind.starts_with(prefix));
    kind == "application/pdf" || (is_medium && !is_image_of_text)
}

fn is_text(kind: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    kind.starts_with("text/")
        || matches!(kind, "application/csv" | "application/json" | "application/svg+xml" | "application/xml")
        || matches!(kind, "image/svg" | "image/svg+xml" | "image/xml")
        || [".csv", ".txt", ".json", ".xml"].iter().any(|ending| name.ends_with(ending))
}
