//! The facade's default build has no HTTP client and no encryption: who needs none pays for none.

use anyhow::Context as _;

use crate::cargo::cargo;
use crate::finding::Finding;
use crate::workspace::Workspace;

const FACADE: &str = "pleach";

/// What the default build must not have.
const HEAVY: [&str; 12] = [
    "aws-lc-sys",
    "hyper",
    "native-tls",
    "openssl",
    "pleach-mcp",
    "pleach-model-http",
    "pleach-openapi",
    "reqwest",
    "ring",
    "rmcp",
    "rustls",
    "serde-saphyr",
];

pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let Some(facade) = workspace.package(FACADE) else { return Ok(Vec::new()) };
    let tree = ["tree", "-p", FACADE, "-e", "normal,build", "--prefix", "none", "--format", "{p}"];
    let output = cargo(tree).output().context("cannot run cargo tree")?;
    anyhow::ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let findings = heavy(&String::from_utf8_lossy(&output.stdout)).into_iter().map(|name| Finding {
        file: facade.manifest_path.clone(),
        line: 1,
        message: format!("the default build has `{name}`: make it optional"),
    });
    Ok(findings.collect())
}

/// The crates of a tree that are too heavy.
fn heavy(tree: &str) -> Vec<&'static str> {
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    HEAVY.into_iter().filter(|heavy| names.contains(heavy)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_http_client_in_the_default_build_is_found() {
        assert_eq!(heavy("pleach v0.1.0\nserde v1.0.0\n"), [] as [&str; 0]);
        assert_eq!(heavy("pleach v0.1.0\nhyper v1.0.0 (*)\nring v0.17.0"), ["hyper", "ring"]);
    }
}
