//! Writes the Rust programs of docs/from-google-adk.md into one file that the example includes. Each program becomes a
//! module.

mod page;

use std::fmt::Write as _;
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/from-google-adk.md");

fn main() {
    println!("cargo::rerun-if-changed={PAGE}");
    println!("cargo::rerun-if-changed={}", concat!(env!("CARGO_MANIFEST_DIR"), "/from_google_adk"));
    let page = std::fs::read_to_string(PAGE).expect("the page can be read");
    let (mut modules, mut table) = (String::new(), String::new());
    for page::Section { name, rust, .. } in page::sections(&page) {
        let Some(rust) = rust else { continue };
        // The programs print, so clippy must allow that. It does not check the code on the page itself.
        let run = "pub(super) fn run() -> pleach::Result<()> {\n    main()\n}\n";
        write!(
            modules,
            "#[allow(clippy::all, clippy::print_stdout, missing_docs)]\nmod {name} {{\n{rust}\n{run}}}\n\n"
        )
        .expect("a text takes everything");
        writeln!(table, "    (\"{name}\", {name}::run),").expect("a text takes everything");
    }
    let programs = format!("{modules}const PROGRAMS: &[(&str, Program)] = &[\n{table}];\n");
    let folder = std::env::var_os("OUT_DIR").expect("cargo names a folder");
    std::fs::write(Path::new(&folder).join("from_google_adk.rs"), programs).expect("the file can be written");
}
