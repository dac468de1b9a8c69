//! [`SaveFilesAsArtifactsPlugin`]: saves the files in users' messages as artifacts.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pleach_artifact::{ArtifactKey, ArtifactResult, ArtifactScope, ArtifactService, SaveArtifact};
use pleach_context::{AgentSpec, CallbackContext, Context, Hook, InvocationContext, NodeError, NodeInput, NodeKind};
use pleach_context::{NodeSpec, Plugin};
use pleach_core::{Content, FileData, InvocationId, Part};
use serde_json::Value;

/// The maximum size of a file that is saved, in bytes.
const MAX_SIZE: usize = 20 * 1024 * 1024;

/// The URL schemes that models can read.
const READABLE: [&str; 3] = ["gs", "https", "http"];

/// The maximum number of invocations with saved files that no event lists yet.
const MAX_PENDING: usize = 1_024;

/// Saves the files in a user's message as artifacts and replaces them with a text,
/// `[Uploaded Artifact: "invoice.pdf"]`, so that the history stays small and the model knows their names.
///
/// A file is saved under its display name or, without one, as `artifact_INVOCATION_PLACE`. A name that begins with
/// `user:` is shared by all sessions of the user. If the name already exists, the file becomes its next version. If two
/// files in one message have the same name, the second one gets a number: `image_2.jpg`. The first event of an agent or
/// a function node lists the versions in its `artifact_delta`. If the artifact service returns a `gs`, `https` or
/// `http` URL, the message also refers to the file.
///
/// A file of more than 20 MiB is not saved; a text with the reason replaces it. A file that cannot be saved stays in
/// the message, and the failure is logged. Without an artifact service, the message stays unchanged, and a warning is
/// logged.
///
/// To read the files, agents need the tool `load_artifacts` or a tool of your own. ADK: `SaveFilesAsArtifactsPlugin`
#[derive(Debug)]
pub struct SaveFilesAsArtifactsPlugin {
    name: String,
    attach_file_reference: bool,
    /// The versions that no event lists yet, oldest invocation first.
    pending: Mutex<VecDeque<Pending>>,
}

#[derive(Debug)]
struct Pending {
    invocation: InvocationId,
    saved: Vec<(String, i64)>,
}

/// A saved file.
struct Saved {
    version: i64,
    /// Whether no event lists the version yet.
    is_new: bool,
    reference: Option<Part>,
}

impl Default for SaveFilesAsArtifactsPlugin {
    fn default() -> Self {
        Self::new()
    }
}

impl SaveFilesAsArtifactsPlugin {
    /// Creates the plugin, named `save_files_as_artifacts_plugin`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            name: "save_files_as_artifacts_plugin".to_owned(),
            attach_file_reference: true,
            pending: Mutex::default(),
        }
    }

    /// Sets the name of the plugin.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets whether the message refers to files whose URLs models can read. If not, the model gets only their names.
    #[must_use]
    pub fn attach_file_reference(mut self, yes: bool) -> Self {
        self.attach_file_reference = yes;
        self
    }

    fn pending(&self) -> MutexGuard<'_, VecDeque<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn save_all(
        &self,
        ic: &InvocationContext,
        service: &dyn ArtifactService,
        message: &Content,
    ) -> Option<Content> {
        let mut parts = Vec::with_capacity(message.parts().len());
        let (mut names, mut saved) = (Vec::new(), Vec::new());
        let mut is_changed = false;
        for (place, part) in message.parts().iter().enumerate() {
            let Some(blob) = &part.inline_data else {
                parts.push(part.clone());
                continue;
            };
            let own_name = blob.display_name.clone().filter(|name| !name.is_empty());
            let name = own_name.unwrap_or_else(|| format!("artifact_{}_{place}", ic.invocation_id()));
            let name = free_name(name, &names);
            let size = blob.data.as_ref().map_or(0, |data| data.len());
            if size > MAX_SIZE {
                is_changed = true;
                parts.push(refusal(&name, size));
                continue;
            }
            match self.save(ic, service, &name, part).await {
                Ok(Saved { version, is_new, reference }) => {
                    is_changed = true;
                    parts.push(Part::text(format!("[Uploaded Artifact: \"{}\"]", quoted(&name))));
                    parts.extend(reference);
                    if is_new {
                        saved.push((name.clone(), version));
                    }
                    names.push(name);
                }
                Err(error) => {
                    tracing::error!(error = %error, "the file at place {place} of a message cannot be saved as an artifact");
                    parts.push(part.clone());
                }
            }
        }
        self.note(ic, saved);
        is_changed.then(|| Content { parts: Some(parts), ..message.clone() })
    }

    async fn save(
        &self,
        ic: &InvocationContext,
        service: &dyn ArtifactService,
        name: &str,
        part: &Part,
    ) -> ArtifactResult<Saved> {
        let key = ArtifactScope::session(ic.session_key()).artifact(name);
        let before = saved_before(ic, service, &key, part).await;
        let is_new = before.is_none();
        let version = match before {
            Some(version) => version,
            None => service.save_artifact(SaveArtifact::new(key.clone(), part.clone())).await?,
        };
        if !self.attach_file_reference {
            return Ok(Saved { version, is_new, reference: None });
        }
        let known = service.get_artifact_version(&key, Some(version)).await.unwrap_or_else(|error| {
            tracing::warn!(error = %error, "the URL of artifact `{name}` is unknown");
            None
        });
        let readable = known.filter(|known| is_readable(&known.canonical_uri));
        let of_blob = part.inline_data.as_ref().and_then(|blob| blob.mime_type.clone()).filter(|kind| !kind.is_empty());
        let reference = readable.map(|known| Part {
            file_data: Some(Box::new(FileData {
                display_name: Some(name.to_owned()),
                mime_type: of_blob.or(known.mime_type),
                file_uri: Some(known.canonical_uri),
                ..FileData::default()
            })),
            ..Part::default()
        });
        Ok(Saved { version, is_new, reference })
    }

    fn note(&self, ic: &InvocationContext, saved: Vec<(String, i64)>) {
        if saved.is_empty() {
            return;
        }
        let mut pending = self.pending();
        if pending.len() >= MAX_PENDING {
            // The oldest invocation was probably dropped before its first node ran.
            pending.pop_front();
        }
        pending.push_back(Pending { invocation: ic.invocation_id().clone(), saved });
    }

    /// Takes the versions of an invocation that no event lists yet.
    fn take(&self, ic: &InvocationContext) -> Vec<(String, i64)> {
        let mut pending = self.pending();
        if pending.is_empty() {
            return Vec::new();
        }
        let (own, others) = pending.drain(..).partition(|pending| pending.invocation == *ic.invocation_id());
        *pending = others;
        let own: VecDeque<Pending> = own;
        own.into_iter().flat_map(|pending| pending.saved).collect()
    }

    /// Lists the saved versions on the next event of a run.
    fn list(&self, ctx: &Context) -> Result<(), NodeError> {
        let saved = self.take(ctx.invocation());
        if saved.is_empty() {
            return Ok(());
        }
        ctx.with_actions(|actions| actions.artifact_delta_mut().extend(saved))
    }
}

impl Plugin for SaveFilesAsArtifactsPlugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_user_message<'a>(&'a self, ic: &'a InvocationContext, message: &'a Content) -> Hook<'a, Option<Content>> {
        if message.parts().iter().all(|part| part.inline_data.is_none()) {
            return None;
        }
        let Some(service) = ic.artifact_service() else {
            tracing::warn!(
                "the files of a message are not saved: the Runner has no artifact service; add one with `.artifacts(…)`"
            );
            return None;
        };
        Some(Box::pin(async move { Ok(self.save_all(ic, &**service, message).await) }))
    }

    fn before_agent<'a>(&'a self, _: &'a AgentSpec, ctx: &'a CallbackContext) -> Hook<'a, Option<Content>> {
        // The files are saved, so an event that cannot list them must not end the run.
        self.list(ctx).unwrap_or_else(|error| unlisted(&error));
        None
    }

    fn before_node<'a>(&'a self, node: &'a NodeSpec, ctx: &'a Context, _: &'a NodeInput) -> Hook<'a, Option<Value>> {
        if !matches!(node.kind, NodeKind::Workflow | NodeKind::Agent) {
            self.list(ctx).unwrap_or_else(|error| unlisted(&error));
        }
        None
    }

    fn after_run<'a>(&'a self, ic: &'a InvocationContext) -> Hook<'a, ()> {
        self.take(ic);
        None
    }

    fn on_run_error<'a>(&'a self, ic: &'a InvocationContext, _: &'a NodeError) -> Hook<'a, ()> {
        self.take(ic);
        None
    }
}

/// Returns the version of the file that an event of the invocation already lists. This happens if the same message is
/// sent again.
async fn saved_before(
    ic: &InvocationContext,
    service: &dyn ArtifactService,
    key: &ArtifactKey,
    part: &Part,
) -> Option<i64> {
    let version = ic
        .events()
        .iter()
        .rev()
        .filter(|event| event.invocation_id() == ic.invocation_id())
        .find_map(|event| event.actions().artifact_delta().get(&key.filename).copied())?;
    let loaded = service.load_artifact(key, Some(version)).await.ok()??;
    let data = |part: &Part| part.inline_data.as_ref().and_then(|blob| blob.data.clone());
    (data(&loaded) == data(part)).then_some(version)
}

/// Returns the name, with a number if another file of the message has the same name: `image_2.jpg`.
fn free_name(name: String, names: &[String]) -> String {
    let is_taken = |name: &str| names.iter().any(|taken| taken == name);
    if !is_taken(&name) {
        return name;
    }
    let (stem, ending) = match name.rfind('.').filter(|place| *place > 0) {
        Some(place) => name.split_at(place),
        None => (name.as_str(), ""),
    };
    let mut numbered = (2..).map(|number| format!("{stem}_{number}{ending}"));
    numbered.find(|name| !is_taken(name)).expect("the numbers do not end")
}

/// Writes a name between quotes. Quotes and line breaks in it are escaped.
fn quoted(name: &str) -> String {
    let mut quoted = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            other if other.is_control() => quoted.push('\u{fffd}'),
            other => quoted.push(other),
        }
    }
    quoted
}

fn unlisted(error: &NodeError) {
    tracing::warn!(error = %error, "no event lists the files that were saved");
}

/// Returns the text that replaces a file that is too large.
fn refusal(name: &str, size: usize) -> Part {
    let mib = |bytes: usize| bytes as f64 / (1024.0 * 1024.0);
    let reason = format!(
        "File {name} ({:.2} MB) exceeds the maximum supported size of {:.0}MB. Please upload a smaller file.",
        mib(size),
        mib(MAX_SIZE)
    );
    tracing::warn!("{reason}");
    Part::text(format!("[Upload Error: {reason}]"))
}

fn is_readable(uri: &str) -> bool {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| READABLE.contains(&scheme.as_str()))
}
