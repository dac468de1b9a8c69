//! Tests that the projects of `pleach new` build and run.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::program::pleach;

const CRATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../pleach");

/// Creates a project, and returns its folder.
fn made(folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let project = folder.join(name);
    let made = pleach(&[&["new", project.to_str().unwrap(), "--path", CRATE], flags].concat());
    assert_eq!(made.code, 0, "{made:?}");
    project
}

/// Builds the projects of a folder as one workspace, so that common dependencies are built once, next to what the tests
/// have already built. Returns the folder of their programs.
fn built(folder: &Path) -> PathBuf {
    for project in std::fs::read_dir(folder).unwrap() {
        let project = project.unwrap().path();
        assert!(cargo(&project, &["metadata", "--no-deps", "--format-version=1"]).status.success(), "{project:?}");
        // A project is its own workspace; here it becomes a member.
        let manifest = std::fs::read_to_string(project.join("Cargo.toml")).unwrap();
        std::fs::write(project.join("Cargo.toml"), manifest.replace("[workspace]", "")).unwrap();
    }
    std::fs::write(folder.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n").unwrap();
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let output = cargo(folder, &["build", "--offline", "--quiet", "--workspace"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("warning"), "{said}");
    target().join("debug")
}

fn cargo(folder: &Path, args: &[&str]) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(args).current_dir(folder).env("CARGO_TARGET_DIR", target()).output().unwrap()
}

fn target() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_pleach")).parent().unwrap().parent().unwrap()
}

fn program(path: &Path, folder: &Path) -> Command {
    let mut command = Command::new(path);
    command.current_dir(folder).env_remove("MODEL").env("PORT", "0");
    command
}

#[test]
fn projects_build_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let flow = made(folder.path(), "pleach-new-flow", &[]);
    let agent = made(folder.path(), "pleach-new-agent", &["--agent", "--server"]);
    let programs = built(folder.path());

    let output = program(&programs.join("pleach-new-flow"), &flow).arg("otters").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "A page about otters. And one more thing.\n");
    // The command is the one in the README of the project.
    let url = format!("sqlite:{}", flow.join("pleach_new_flow.db").display());
    let traced = pleach(&["sessions", "trace", "first", "--tree", "--sessions", &url]);
    assert!(traced.out.contains("publish@1  done"), "{traced:?}");

    let mut child = program(&programs.join("pleach-new-agent"), &agent).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("http://127.0.0.1:") && line.ends_with("/inspect/\n"), "{line}");
}

#[test]
fn what_cannot_be_made_is_named_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, more, code, words) in [
        ("1st", &[][..], 2, "\"1st\" is not a valid project name"),
        ("a b", &[], 2, "\"a b\" is not a valid project name"),
        // Cargo creates folders with these names next to the program, and a project uses these crates.
        ("build", &[], 2, "\"build\" is not a valid project name"),
        ("incremental", &[], 2, "\"incremental\" is not a valid project name"),
        ("serde-json", &[], 2, "\"serde-json\" is not a valid project name"),
        ("async", &[], 2, "\"async\" is not a valid project name"),
        ("fine", &["--path", "/nowhere"], 2, "/nowhere has no crate"),
        ("fine", &["--agent", "--workflow"], 2, "--workflow"),
    ] {
        let ran = pleach(&[&["new", &path(name)], more].concat());
        assert!(ran.code == code && ran.err.contains(words), "{name}: {ran:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // The command in a project's README has sessions to show.
    let readme = |project: PathBuf| std::fs::read_to_string(project.join("README.md")).unwrap();
    assert!(readme(made(folder.path(), "once", &[])).contains("sessions trace first --tree --sessions sqlite:once.db"));
    assert!(readme(made(folder.path(), "served", &["--server"])).contains("sessions list --sessions sqlite:served.db"));
    made(folder.path(), "twice", &[]);
    let whole = pleach(&["new", &path("whole"), "--path", concat!(env!("CARGO_MANIFEST_DIR"), "/../..")]);
    assert_eq!(whole.code, 0, "{whole:?}");
    let manifest = std::fs::read_to_string(folder.path().join("whole/Cargo.toml")).unwrap();
    assert!(manifest.contains("crates/pleach\""), "{manifest}");
    let again = pleach(&["new", &path("twice"), "--path", CRATE]);
    assert!(again.code == 1 && again.err.contains("already exists"), "{again:?}");
}
