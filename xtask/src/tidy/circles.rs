//! The files of a crate do not import each other in circles.

use super::finding::Finding;
use crate::files::Sources;
use crate::survey::{circles, modules};
use crate::workspace::Workspace;

/// How many circles a crate may have; none, where it is not listed. Lower a number when a circle has gone.
const LIMITS: &[(&str, usize)] = &[("pleach-context", 1)];

pub(super) fn check(workspace: &Workspace, sources: &Sources) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let src = workspace.relative(package.folder()).join("src");
        let limit = LIMITS.iter().find(|(name, _)| *name == package.name).map_or(0, |(_, limit)| *limit);
        let circles = circles(&modules(sources, &src)?);
        for circle in circles.iter().filter(|_| circles.len() > limit) {
            let message = format!(
                "these modules import each other: {}; move what they share into a file below them",
                circle.join(", ")
            );
            findings.push(Finding { file: src.clone(), line: 1, message });
        }
    }
    Ok(findings)
}
