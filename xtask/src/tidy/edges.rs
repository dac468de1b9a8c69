//! Compares the dependencies between the crates of the workspace with the layer table.

use crate::files::read;
use crate::finding::Finding;
use crate::layers::{CONTRACT, LAYERS, Role, Row, row};
use crate::workspace::{Dependency, Package, Workspace};

pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let manifest = read(&package.manifest_path)?;
        let mut report = |needle: &str, message: String| {
            findings.push(Finding { file: package.manifest_path.clone(), line: line_of(&manifest, needle), message });
        };
        let Some(row) = row(&package.name) else {
            report("name", format!("crate `{}` has no row in xtask/src/layers.rs: add one, with an ADR", package.name));
            continue;
        };
        for dependency in &package.dependencies {
            if workspace.package(&dependency.name).is_none() {
                continue;
            }
            if let Some(message) = forbidden(row, dependency) {
                report(&dependency.name, message);
            }
        }
        if row.role == Role::Facade {
            for missing in unused_libraries(workspace, package) {
                report("[dependencies]", format!("the facade does not depend on the library `{missing}`"));
            }
        }
    }
    Ok(findings)
}

/// Returns the fault of a dependency, if it has one.
fn forbidden(row: &Row, dependency: &Dependency) -> Option<String> {
    let used = dependency.name.as_str();
    if dependency.is_dev() {
        let lower = LAYERS.iter().any(|other| other.name == used && other.layer < row.layer);
        return (used != CONTRACT && !lower).then(|| {
            format!(
                "`{}` (layer {}) may not have `{used}` as a dev-dependency: only lower layers and {CONTRACT}",
                row.name, row.layer
            )
        });
    }
    (!row.may_use.iter().any(|name| name == used)).then(|| {
        format!(
            "`{}` (layer {}) may not depend on `{used}`: not in its row of xtask/src/layers.rs",
            row.name, row.layer
        )
    })
}

/// Returns the library crates of the workspace that the facade does not depend on.
fn unused_libraries<'a>(workspace: &'a Workspace, facade: &'a Package) -> impl Iterator<Item = &'a str> {
    workspace
        .packages
        .iter()
        .map(|p| p.name.as_str())
        .filter(|name| row(name).is_some_and(|r| r.role == Role::Library))
        .filter(|name| !facade.dependencies.iter().any(|d| d.name == *name && !d.is_dev()))
}

/// Returns the number of the first line of a manifest that starts with `needle`, or of the first line.
fn line_of(manifest: &str, needle: &str) -> usize {
    let starts = |line: &str| {
        line.trim_start()
            .strip_prefix(needle)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_'))
    };
    manifest.lines().position(starts).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, kind: &str) -> Option<String> {
        let dependency: Dependency = serde_json::from_value(serde_json::json!({
            "name": to,
            "kind": if kind == "normal" { None } else { Some(kind) },
        }))
        .expect("a dependency");
        forbidden(row(from).expect("a row"), &dependency)
    }

    #[test]
    fn edges_point_down_and_stay_in_the_row() {
        assert_eq!(edge("pleach-session", "pleach-core", "normal"), None);
        assert!(edge("pleach-core", "pleach-session", "normal").is_some());
        assert!(edge("pleach-runner", "pleach-session-sqlite", "normal").is_some());
        assert!(edge("pleach-runner", "pleach-session-sqlite", "build").is_some());
        assert!(edge("pleach-cli", "pleach-runner", "normal").is_some());
        assert_eq!(edge("pleach", "pleach-session-sqlite", "normal"), None);
    }

    #[test]
    fn dev_dependencies_are_lower_layers_or_the_contract() {
        assert_eq!(edge("pleach-session", "pleach-contract", "dev"), None);
        assert_eq!(edge("pleach-runner", "pleach-session-inmemory", "dev"), None);
        assert!(edge("pleach-session", "pleach-runner", "dev").is_some());
        assert!(edge("pleach-session", "pleach-contract", "normal").is_some());
    }
}
