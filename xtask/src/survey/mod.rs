//! `survey`: measures of each crate, to be compared before and after a change.
//!
//! The first table has a row for each crate. With the name of a crate, the details of its numbers follow.

mod engine;
mod functions;
mod imports;
mod items;
mod source;

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::files::Sources;
use crate::files::{code_lines, is_unit_tests};
use crate::tidy::undefined_rules;
use crate::workspace::{Package, Workspace};
pub(crate) use imports::{DEFINITIONS, circles, item_name, leaves};
use source::modules;
pub(crate) use source::{Module, Parsed, is_test};

/// The measures of a crate.
struct Measures {
    name: String,
    public: usize,
    /// Public items for engines.
    engine: usize,
    /// Methods of users' types that only engines call.
    exposed: Vec<String>,
    circles: Vec<Vec<String>>,
    /// The lengths of functions, the longest one first.
    functions: Vec<(usize, String)>,
    /// The lengths of files without their tests, the longest one first.
    files: Vec<(usize, PathBuf)>,
    undefined: Vec<String>,
}

pub(crate) fn run(only: Option<&str>) -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    let sources = Sources::load(&workspace)?;
    let wanted = |package: &&Package| only.is_none_or(|name| package.name == name);
    let packages: Vec<&Package> = workspace.packages.iter().filter(wanted).collect();
    anyhow::ensure!(!packages.is_empty(), "there is no crate `{}`", only.unwrap_or_default());
    let measures: Vec<Measures> = packages
        .into_iter()
        .map(|package| measure(&workspace, &sources, package).with_context(|| package.name.clone()))
        .collect::<anyhow::Result<_>>()?;
    print!("{}", table(&measures));
    if only.is_some() {
        measures.iter().for_each(|crate_| print!("{}", details(crate_)));
    }
    Ok(true)
}

fn measure(workspace: &Workspace, sources: &Sources, package: &Package) -> anyhow::Result<Measures> {
    let folder = workspace.relative(package.folder()).to_path_buf();
    let modules = modules(sources, &folder.join("src"))?;
    let code = |file: &Path| file.starts_with(folder.join("src")) && !is_unit_tests(file) && is_rust(file);
    let own = sources.files.iter().filter(|(file, _)| code(file));
    let mut files: Vec<(usize, PathBuf)> = own.map(|(file, text)| (code_lines(text), file.clone())).collect();
    files.sort_by(|a, b| b.cmp(a));
    Ok(Measures {
        name: package.name.clone(),
        public: modules.iter().map(|module| items::public(&module.syntax)).sum(),
        engine: engine::own(&folder, &modules),
        exposed: engine::exposed(sources, &folder, &modules),
        circles: imports::circles(&modules),
        functions: functions::lengths(&modules),
        files,
        undefined: undefined_rules(sources, &folder).into_iter().collect(),
    })
}

fn is_rust(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
}

/// A row for each crate, and their sum.
fn table(measures: &[Measures]) -> String {
    let row = |name: &str, cells: [String; 7]| {
        let [public, engine, exposed, circles, function, file, undefined] = cells;
        format!("{name:<24} {public:>6} {engine:>6} {exposed:>7} {circles:>7} {function:>8} {file:>6} {undefined:>9}\n")
    };
    let heads = ["public", "engine", "exposed", "circles", "function", "file", "undefined"].map(str::to_owned);
    let mut out = row("crate", heads);
    let mut sums = [0; 7];
    for crate_ in measures {
        let longest = |lengths: Option<usize>| lengths.unwrap_or_default();
        let cells = [
            crate_.public,
            crate_.engine,
            crate_.exposed.len(),
            crate_.circles.len(),
            longest(crate_.functions.first().map(|(length, _)| *length)),
            longest(crate_.files.first().map(|(length, _)| *length)),
            crate_.undefined.len(),
        ];
        out += &row(&crate_.name, cells.map(|cell| cell.to_string()));
        for (index, (sum, cell)) in sums.iter_mut().zip(cells).enumerate() {
            // The longest function and file are no sums.
            *sum = if matches!(index, 4 | 5) { cell.max(*sum) } else { *sum + cell };
        }
    }
    out + &row("all", sums.map(|sum| sum.to_string()))
}

/// What the numbers of a crate are made of.
fn details(crate_: &Measures) -> String {
    let circles = crate_.circles.iter().map(|circle| circle.join(" ↔ "));
    let functions = crate_.functions.iter().take(10).map(|(length, name)| format!("{length:>5}  {name}"));
    let files = crate_.files.iter().take(5).map(|(length, file)| format!("{length:>5}  {}", file.display()));
    let sections: [(&str, Vec<String>); 5] = [
        ("methods of users' types that only engines call", crate_.exposed.clone()),
        ("import circles", circles.collect()),
        ("longest functions", functions.collect()),
        ("longest files", files.collect()),
        ("ids that docs/rules.md does not explain", crate_.undefined.clone()),
    ];
    let section = |(title, lines): (&str, Vec<String>)| {
        lines.into_iter().fold(format!("\n{title}\n"), |text, line| text + "  " + &line + "\n")
    };
    sections.into_iter().filter(|(_, lines)| !lines.is_empty()).map(section).collect()
}
