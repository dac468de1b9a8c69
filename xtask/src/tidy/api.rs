//! The snapshot of the public API is that of the sources, and was written together with a line of the changelog.

use super::finding::Finding;
use crate::api;
use crate::syntax::Parsed;
use crate::workspace::Workspace;

pub(super) fn check(workspace: &Workspace, parsed: &Parsed) -> anyhow::Result<Vec<Finding>> {
    let stale = api::check(workspace, parsed)?;
    Ok(stale.into_iter().map(|api::Stale { file, line, message }| Finding { file, line, message }).collect())
}
