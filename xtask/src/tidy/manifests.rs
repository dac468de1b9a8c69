//! Checks manifests: libraries must have the fields that a registry shows, and other packages must not be publishable.

use crate::finding::Finding;
use crate::layers::{Role, row};
use crate::workspace::{Package, Workspace};

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let faults = workspace.packages.iter().flat_map(|package| {
        let is_tooling = row(&package.name).is_some_and(|row| row.role == Role::Tooling);
        faults(package, is_tooling).into_iter().map(move |message| (package, message))
    });
    faults.map(|(package, message)| Finding { file: package.manifest_path.clone(), line: 1, message }).collect()
}

fn faults(package: &Package, is_tooling: bool) -> Vec<String> {
    let name = &package.name;
    if is_tooling {
        let fault = format!("`{name}` is not for users: set `publish = false`");
        return if package.is_published() { vec![fault] } else { Vec::new() };
    }
    let fields = [
        ("description", package.description.is_some()),
        ("license", package.license.is_some()),
        ("repository", package.repository.is_some()),
        ("readme", package.readme.is_some()),
        ("keywords", !package.keywords.is_empty()),
        ("categories", !package.categories.is_empty()),
    ];
    let missing = fields.into_iter().filter(|(_, is_set)| !is_set);
    let mut faults: Vec<String> =
        missing.map(|(field, _)| format!("`{name}` has no {field}: a registry shows it")).collect();
    if !package.is_published() {
        faults.push(format!("`{name}` is a library and cannot be published: remove `publish`"));
    }
    faults
}
