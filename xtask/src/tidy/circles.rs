//! The files of a crate do not import each other in circles, and folders of definitions hold nothing else.

use super::finding::Finding;
use crate::survey::{DEFINITIONS, Module, Parsed, circles};
use crate::workspace::Workspace;

pub(super) fn check(workspace: &Workspace, parsed: &Parsed) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let src = workspace.relative(package.folder()).join("src");
        let modules = parsed.of(package);
        for circle in circles(modules) {
            let message = format!(
                "these modules import each other: {}; move what they share into a file below them",
                circle.join(", ")
            );
            findings.push(Finding { file: src.clone(), line: 1, message });
        }
        let definitions =
            modules.iter().filter(|module| DEFINITIONS.iter().any(|folder| module.file.starts_with(folder)));
        findings.extend(definitions.filter(|module| has_more(module)).map(|module| Finding {
            file: module.file.clone(),
            line: 1,
            message: "this folder holds definitions only: move `impl` blocks and functions out of it".to_owned(),
        }));
    }
    findings
}

fn has_more(module: &Module) -> bool {
    module.syntax.items.iter().any(|item| matches!(item, syn::Item::Impl(_) | syn::Item::Fn(_)))
}
