//! The layer table: every crate of the workspace and what it may depend on.
//!
//! Data only; `tidy` compares it with `cargo metadata`. A new crate needs a row here,
//! an ADR, and a reason why a module would not do.

/// One crate of the workspace.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) layer: u8,
    pub(crate) role: Role,
    /// The workspace crates it may name as a normal or build dependency.
    pub(crate) may_use: &'static [&'static str],
}

/// What a crate is for, which decides the rules that apply to it beyond its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A published library that the facade re-exports.
    Library,
    /// A published library for the libraries above it. The facade does not name it, and its API is no promise.
    Internal,
    /// The facade: the only crate that sees every library.
    Facade,
    /// A program built on the facade.
    Program,
    /// Unpublished: tests, benchmarks, automation.
    Tooling,
}

/// The one crate that may be a dev-dependency whatever its layer.
pub(crate) const TESTKIT: &str = "pleach-testkit";

const L1: &[&str] = &["pleach-core"];
const BACKEND: &[&str] = &["pleach-core", "pleach-session"];
const MEMORY: &[&str] = &["pleach-core", "pleach-memory"];
const NECK: &[&str] = &[
    "pleach-core",
    "pleach-schema",
    "pleach-auth",
    "pleach-session",
    "pleach-artifact",
    "pleach-memory",
    "pleach-model",
];

pub(crate) const LAYERS: &[Row] = &[
    library("pleach-core", 0, &[]),
    library("pleach-macros", 0, &[]),
    library("pleach-schema", 1, L1),
    library("pleach-auth", 1, L1),
    library("pleach-artifact", 1, L1),
    library("pleach-memory", 1, L1),
    library("pleach-model", 1, L1),
    Row { name: "pleach-http", layer: 1, role: Role::Internal, may_use: L1 },
    library("pleach-session", 2, &["pleach-core", "pleach-schema"]),
    library("pleach-session-inmemory", 3, BACKEND),
    library("pleach-session-sqlite", 3, BACKEND),
    library("pleach-session-postgres", 3, BACKEND),
    library("pleach-memory-sqlite", 2, MEMORY),
    library("pleach-model-http", 2, &["pleach-core", "pleach-model", "pleach-http"]),
    library("pleach-payloads", 4, &["pleach-core", "pleach-session", "pleach-artifact"]),
    library("pleach-context", 3, NECK),
    library("pleach-mcp", 4, &["pleach-core", "pleach-model", "pleach-http", "pleach-context"]),
    library("pleach-openapi", 4, &["pleach-core", "pleach-auth", "pleach-http", "pleach-context"]),
    library("pleach-workflow", 4, &["pleach-core", "pleach-context"]),
    library(
        "pleach-agent",
        5,
        &["pleach-core", "pleach-schema", "pleach-session", "pleach-model", "pleach-context", "pleach-workflow"],
    ),
    library(
        "pleach-runner",
        5,
        &[
            "pleach-core",
            "pleach-schema",
            "pleach-session",
            "pleach-artifact",
            "pleach-memory",
            "pleach-model",
            "pleach-context",
            "pleach-workflow",
        ],
    ),
    library(
        "pleach-inspect",
        5,
        &["pleach-core", "pleach-auth", "pleach-session", "pleach-context", "pleach-workflow"],
    ),
    library("pleach-plugins", 6, &["pleach-core", "pleach-artifact", "pleach-model", "pleach-context", "pleach-agent"]),
    library("pleach-otel", 6, &["pleach-core", "pleach-context", "pleach-workflow", "pleach-runner"]),
    library(
        "pleach-testing",
        6,
        &[
            "pleach-core",
            "pleach-session",
            "pleach-session-inmemory",
            "pleach-model",
            "pleach-context",
            "pleach-runner",
            "pleach-inspect",
        ],
    ),
    library(
        "pleach-server",
        6,
        &[
            "pleach-core",
            "pleach-auth",
            "pleach-session",
            "pleach-artifact",
            "pleach-memory",
            "pleach-model",
            "pleach-context",
            "pleach-workflow",
            "pleach-runner",
            "pleach-inspect",
        ],
    ),
    Row {
        name: "pleach",
        layer: 7,
        role: Role::Facade,
        may_use: &[
            "pleach-core",
            "pleach-schema",
            "pleach-auth",
            "pleach-macros",
            "pleach-session",
            "pleach-artifact",
            "pleach-memory",
            "pleach-model",
            "pleach-session-inmemory",
            "pleach-session-sqlite",
            "pleach-session-postgres",
            "pleach-memory-sqlite",
            "pleach-model-http",
            "pleach-mcp",
            "pleach-openapi",
            "pleach-otel",
            "pleach-context",
            "pleach-workflow",
            "pleach-agent",
            "pleach-inspect",
            "pleach-payloads",
            "pleach-plugins",
            "pleach-runner",
            "pleach-server",
            "pleach-testing",
        ],
    },
    Row { name: "pleach-cli", layer: 8, role: Role::Program, may_use: &["pleach"] },
    Row {
        name: TESTKIT,
        layer: 4,
        role: Role::Tooling,
        may_use: &[
            "pleach-core",
            "pleach-session",
            "pleach-artifact",
            "pleach-memory",
            "pleach-model",
            "pleach-context",
        ],
    },
    Row { name: "pleach-tests", layer: 9, role: Role::Tooling, may_use: &["pleach", TESTKIT] },
    Row { name: "pleach-browser-tests", layer: 9, role: Role::Tooling, may_use: &["pleach"] },
    Row { name: "pleach-compile-fail-tests", layer: 9, role: Role::Tooling, may_use: &["pleach"] },
    Row { name: "pleach-examples", layer: 9, role: Role::Tooling, may_use: &["pleach"] },
    Row { name: "pleach-benches", layer: 9, role: Role::Tooling, may_use: &["pleach", TESTKIT] },
    Row { name: "xtask", layer: 9, role: Role::Tooling, may_use: &[] },
];

const fn library(name: &'static str, layer: u8, may_use: &'static [&'static str]) -> Row {
    Row { name, layer, role: Role::Library, may_use }
}

/// Returns true if a crate is for the libraries above it only.
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
        for row in LAYERS {
            for used in row.may_use {
                let target = super::row(used).expect("a row may only name crates of the table");
                assert!(target.layer < row.layer, "{} → {} does not point down", row.name, used);
            }
        }
    }

    #[test]
    fn the_facade_may_use_every_library() {
        let facade = row("pleach").expect("the facade has a row");
        for library in LAYERS.iter().filter(|r| r.role == Role::Library) {
            assert!(facade.may_use.contains(&library.name), "{}", library.name);
        }
    }
}
