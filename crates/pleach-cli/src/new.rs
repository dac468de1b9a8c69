//! `pleach new`: creates a small project that builds and runs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::args::New;
use crate::fault::Fault;
use crate::screen::Screen;

const CARGO: &str = include_str!("../templates/Cargo.toml.in");
const GITIGNORE: &str = include_str!("../templates/gitignore.in");
const README: &str = include_str!("../templates/README.md.in");
const WORKFLOW: &str = include_str!("../templates/workflow.rs.in");
const AGENT: &str = include_str!("../templates/agent.rs.in");
const RUN: &str = include_str!("../templates/run.rs.in");
const SERVE: &str = include_str!("../templates/serve.rs.in");

/// Names that a project cannot have, with `_` for `-`. They are crates that it uses or that come with Rust, folders
/// that Cargo creates next to the program, and Rust keywords. `user` is an author of events.
const TAKEN: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "pleach",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "schemars",
    "self",
    "serde",
    "serde_json",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "tokio",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "user",
    "virtual",
    "where",
    "while",
    "yield",
];

/// The checkout that this command was built from.
const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../pleach");

pub(crate) fn run(args: &New, screen: &mut Screen) -> Result<(), Fault> {
    let name = name(&args.folder)?;
    let pleach = dependency(args.path.as_deref())?;
    if args.folder.exists() {
        return Err(Fault::FolderExists { folder: args.folder.clone() });
    }
    let words = words(&name, &pleach, args);
    let fill = |template: &str| words.iter().fold(template.to_owned(), |text, (key, value)| text.replace(key, value));
    let (app, main) = (if args.agent { AGENT } else { WORKFLOW }, if args.server { SERVE } else { RUN });
    let files = [
        ("Cargo.toml", CARGO),
        (".gitignore", GITIGNORE),
        ("README.md", README),
        ("src/app.rs", app),
        ("src/main.rs", main),
    ];
    if let Err(fault) = write(&args.folder, &files.map(|(file, template)| (file, fill(template)))) {
        // An incomplete project would block the next attempt.
        let _ = fs::remove_dir_all(&args.folder);
        return Err(fault);
    }
    if screen.is_json {
        return screen.value(&json!({ "folder": args.folder, "name": name, "files": files.map(|(file, _)| file) }));
    }
    screen.line(format_args!("{} was created; run `cargo run` in it", args.folder.display()))
}

/// Writes the files into a new folder.
fn write(folder: &Path, files: &[(&str, String)]) -> Result<(), Fault> {
    let written = |path: PathBuf| move |error| Fault::File { path, error };
    fs::create_dir_all(folder.join("src")).map_err(written(folder.to_owned()))?;
    for (file, text) in files {
        let path = folder.join(file);
        fs::write(&path, text).map_err(written(path.clone()))?;
    }
    Ok(())
}

/// Returns the name of the project: the last part of its folder.
fn name(folder: &Path) -> Result<String, Fault> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_taken = TAKEN.contains(&name.replace('-', "_").as_str());
    let is_name = begins && name.chars().all(is_letter) && !is_taken;
    is_name.then(|| name.to_owned()).ok_or_else(|| Fault::ProjectName { name: name.to_owned() })
}

/// Returns the project's dependency on pleach: a path to the folder `path`, otherwise to the checkout from which this
/// command was built, otherwise a version in the registry. The folder is a checkout of pleach, or the crate in it.
fn dependency(path: Option<&Path>) -> Result<String, Fault> {
    let folder = match path {
        Some(path) => path,
        None if Path::new(CHECKOUT).join("Cargo.toml").exists() => Path::new(CHECKOUT),
        None => return Ok(format!("version = {:?}", env!("CARGO_PKG_VERSION"))),
    };
    let missing = || Fault::NoPleach { folder: folder.to_owned() };
    let of_checkout = folder.join("crates").join("pleach");
    let found = [of_checkout.as_path(), folder].into_iter().find(|folder| is_pleach(folder)).ok_or_else(missing)?;
    let whole = found.canonicalize().map_err(|_| missing())?;
    // JSON strings have the same escapes as TOML strings.
    Ok(format!("path = {}", json!(whole.to_str().ok_or_else(missing)?)))
}

/// Returns true if a folder contains the crate `pleach`.
fn is_pleach(folder: &Path) -> bool {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let mut names = manifest.lines().map(|line| line.replace(' ', "")).filter(|line| line.starts_with("name="));
    names.next().as_deref() == Some("name=\"pleach\"")
}

fn words(name: &str, pleach: &str, args: &New) -> Vec<(&'static str, String)> {
    let mut features = vec!["sqlite"];
    if args.agent {
        features.push("models");
    }
    if args.server {
        features.push("inspector");
    }
    let features: Vec<String> = features.iter().map(|feature| format!("{feature:?}")).collect();
    let (kind, result, message) = if args.agent {
        ("agent", "reply()", "What should I wear in Paris today?")
    } else {
        ("workflow", "output::<String>()", "otters")
    };
    let about = match (args.agent, args.server) {
        (true, true) => {
            "An agent, served by the HTTP API of ADK with an inspector. `MODEL` names its model; without it a script answers."
        }
        (true, false) => "An agent that answers once. `MODEL` names its model; without it a script answers.",
        (false, true) => "A workflow, served by the HTTP API of ADK with an inspector.",
        (false, false) => "A workflow that runs once.",
    };
    let argument = if args.server { String::new() } else { format!(" -- {message:?}") };
    let look = if args.server {
        format!("pleach sessions list --sessions sqlite:{}.db", name.replace('-', "_"))
    } else {
        format!("pleach sessions trace first --tree --sessions sqlite:{}.db", name.replace('-', "_"))
    };
    vec![
        ("{{name}}", name.to_owned()),
        ("{{app}}", name.replace('-', "_")),
        ("{{pleach}}", pleach.to_owned()),
        ("{{features}}", features.join(", ")),
        ("{{kind}}", kind.to_owned()),
        ("{{result}}", result.to_owned()),
        ("{{message}}", message.to_owned()),
        ("{{about}}", about.to_owned()),
        ("{{look}}", look),
        ("{{argument}}", argument),
    ]
}
