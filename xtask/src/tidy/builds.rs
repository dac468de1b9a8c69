//! Checks two builds of the facade. The default build must have neither an HTTP client nor encryption. The full build
//! must not turn on a feature of a dependency that would change the user's own crates, because features unify over the
//! user's whole build.

use anyhow::Context as _;

use crate::cargo::cargo;
use crate::finding::Finding;
use crate::workspace::Workspace;

const FACADE: &str = "pleach";

/// The crates that the default build must not have.
const HEAVY: [&str; 13] = [
    "aws-lc-sys",
    "hyper",
    "native-tls",
    "openssl",
    "pleach-http",
    "pleach-mcp",
    "pleach-model-http",
    "pleach-openapi",
    "reqwest",
    "ring",
    "rmcp",
    "rustls",
    "serde-saphyr",
];

/// A crate, the prefixes of features that must not be on, and the effect that they would have on the user's code.
const REFUSED: [(&str, &[&str], &str); 6] = [
    (
        "serde_json",
        &["arbitrary_precision", "preserve_order", "unbounded_depth"],
        "JSON of the user is read or written in another way",
    ),
    ("reqwest", &["rustls-no-provider"], "a client of the user panics"),
    ("rustls", &["custom-provider", "ring"], "a `ClientConfig::builder()` of the user panics"),
    ("tokio", &["full", "test-util"], "the user's runtime has what the user did not choose"),
    ("tracing", &["log-always", "max_level_", "release_max_level_"], "lines of the user's log are lost or doubled"),
    ("log", &["max_level_", "release_max_level_"], "lines of the user's log are lost"),
];

pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let Some(facade) = workspace.package(FACADE) else { return Ok(Vec::new()) };
    let mut faults = heavy(&tree(&[])?);
    faults.extend(refused(&tree(&["--features", "full"])?));
    Ok(faults.into_iter().map(|fault| Finding::new(&facade.manifest_path, 1, fault)).collect())
}

/// Returns the dependencies of the facade with their features, one per line.
fn tree(features: &[&str]) -> anyhow::Result<String> {
    let tree = ["tree", "-p", FACADE, "-e", "normal,build", "--prefix", "none", "--format", "{p}|{f}"];
    let output = cargo(tree).args(features).output().context("cannot run cargo tree")?;
    anyhow::ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the crates in a tree that are too heavy for the default build.
fn heavy(tree: &str) -> Vec<String> {
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let found = HEAVY.into_iter().filter(|heavy| names.contains(heavy));
    found.map(|name| format!("the default build has `{name}`: make it optional")).collect()
}

/// Returns the refused features in a tree, each with the reason.
fn refused(tree: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in tree.lines() {
        let Some((package, features)) = line.split_once('|') else { continue };
        let name = package.split(' ').next().unwrap_or_default();
        let Some((_, refused, effect)) = REFUSED.iter().find(|(krate, ..)| *krate == name) else { continue };
        let features = features.trim_end_matches(" (*)").split(',');
        let bad = features.filter(|feature| refused.iter().any(|start| feature.starts_with(start)));
        found.extend(bad.map(|feature| format!("`full` turns on `{name}/{feature}`: {effect}")));
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_that_change_the_users_crates_are_found_once() {
        let tree = "pleach v0.1.0|full\nserde_json v1.0.1|raw_value,preserve_order\nserde_json v1.0.1|preserve_order (*)\n\
                    tracing v0.1.44|log,release_max_level_info\nrustls v0.23.0|aws_lc_rs,std (*)\nother v1.0.0|ring";
        assert_eq!(
            refused(tree),
            [
                "`full` turns on `serde_json/preserve_order`: JSON of the user is read or written in another way",
                "`full` turns on `tracing/release_max_level_info`: lines of the user's log are lost or doubled",
            ]
        );
    }

    #[test]
    fn an_http_client_in_the_default_build_is_found() {
        assert_eq!(heavy("pleach v0.1.0|\nserde v1.0.0|\n"), [] as [&str; 0]);
        let found =
            ["the default build has `hyper`: make it optional", "the default build has `ring`: make it optional"];
        assert_eq!(heavy("pleach v0.1.0|\nhyper v1.0.0| (*)\nring v0.17.0|"), found);
    }
}
