//! The layer table: every crate of the workspace, and the crates that it may depend on.
//!
//! `tidy` compares this table with `cargo metadata`. A new crate needs a row here, an ADR, and a reason why it is not a
//! module of another crate.

use std::sync::LazyLock;

/// One crate of the workspace.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) layer: u8,
    pub(crate) role: Role,
    /// The workspace crates that it may have as normal or build dependencies.
    pub(crate) may_use: Vec<String>,
}

/// The purpose of a crate, which decides the rules that apply to it apart from its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A published library that the facade re-exports.
    Library,
    /// A published library that only the libraries above it use. The facade does not re-export it, and its API may
    /// change with every version.
    Internal,
    /// The only crate that depends on every library.
    Facade,
    /// A program built on the facade.
    Program,
    /// Unpublished: tests, benchmarks, automation.
    Tooling,
}

/// The only crate that may be a dev-dependency whatever its layer.
pub(crate) const CONTRACT: &str = "pleach-contract";

/// The rows: crate, layer, role, and the crates that it may use, without the prefix `pleach-`.
const TABLE: &str = "
pleach-core                0 library
pleach-macros              0 library
pleach-schema              1 library  core
pleach-auth                1 library  core
pleach-artifact            1 library  core
pleach-memory              1 library  core
pleach-model               1 library  core
pleach-http                1 internal core
pleach-session             2 library  core schema
pleach-session-inmemory    3 library  core session
pleach-session-sqlite      3 library  core session
pleach-session-postgres    3 library  core session
pleach-contract            3 library  core session
pleach-memory-sqlite       2 library  core memory
pleach-model-http          2 library  core model http
pleach-payloads            4 library  core session artifact
pleach-context             3 library  core schema auth session artifact memory model
pleach-mcp                 4 library  core model http context
pleach-openapi             4 library  core auth http context
pleach-workflow            4 library  core context
pleach-agent               5 library  core schema session model context workflow
pleach-runner              5 library  core schema session artifact memory model context workflow
pleach-inspect             5 library  core auth session context workflow
pleach-plugins             6 library  core artifact model context agent
pleach-otel                6 library  core context workflow runner
pleach-testkit             6 library  core contract session session-inmemory model context runner inspect
pleach-server              6 library  core auth session artifact memory model context workflow runner inspect
pleach                     7 facade
pleach-cli                 8 program  pleach
pleach-tests               9 tooling  pleach contract
pleach-browser-tests       9 tooling  pleach
pleach-compile-fail-tests  9 tooling  pleach
pleach-examples            9 tooling  pleach
pleach-benches             9 tooling  pleach contract
xtask                      9 tooling
";

pub(crate) static LAYERS: LazyLock<Vec<Row>> = LazyLock::new(|| TABLE.lines().filter_map(parse).collect());

fn parse(line: &'static str) -> Option<Row> {
    let mut words = line.split_whitespace();
    let (name, layer, role) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
    let role = match role {
        "library" => Role::Library,
        "internal" => Role::Internal,
        "facade" => Role::Facade,
        "program" => Role::Program,
        _ => Role::Tooling,
    };
    let may_use = match role {
        Role::Facade => TABLE
            .lines()
            .filter(|line| line.contains(" library"))
            .filter_map(|line| line.split(' ').next())
            .map(str::to_owned)
            .collect(),
        _ => words.map(full_name).collect(),
    };
    Some(Row { name, layer, role, may_use })
}

fn full_name(short: &str) -> String {
    if short == "pleach" { short.to_owned() } else { format!("pleach-{short}") }
}

/// Returns true if only the libraries above a crate use it.
pub(crate) fn is_internal(name: &str) -> bool {
    row(name).is_some_and(|row| row.role == Role::Internal)
}

pub(crate) fn row(name: &str) -> Option<&'static Row> {
    LAYERS.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_of_the_table_points_down() {
        assert_eq!(LAYERS.len(), TABLE.trim().lines().count());
        for row in LAYERS.iter() {
            for used in &row.may_use {
                let target = super::row(used).expect("a row may only name crates of the table");
                assert!(target.layer < row.layer, "{} → {used} does not point down", row.name);
            }
        }
    }
}
