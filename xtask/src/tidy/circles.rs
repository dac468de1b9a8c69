//! The files of a crate do not import each other in circles.

use super::finding::Finding;
use crate::files::Sources;
use crate::survey::{circles, modules};
use crate::workspace::Workspace;

pub(super) fn check(workspace: &Workspace, sources: &Sources) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let src = workspace.relative(package.folder()).join("src");
        for circle in circles(&modules(sources, &src)?) {
            let message = format!(
                "these modules import each other: {}; move what they share into a file below them",
                circle.join(", ")
            );
            findings.push(Finding { file: src.clone(), line: 1, message });
        }
    }
    Ok(findings)
}
