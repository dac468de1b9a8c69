//! A set: the database of one layout, the folders of payloads and files, the database of memory, and a listing of all
//! contents.

use std::path::{Path, PathBuf};
use std::process::Command;

use pleach_contract::own_tests::Schema;
use serde_json::Value;
use sqlx::Connection as _;
use tempfile::TempDir;

use super::world::World;
use crate::database::Layout;
use crate::expected::same;

/// The environment variable with the folder into which the sets of this version are written, when a release is made.
const KEEP: &str = "PLEACH_TEST_KEEP_SETS";

/// The files of a set name this folder in place of the folder in which the set was made.
const PLACE: &str = "/golden";

/// A set, which is deleted with this value.
pub(crate) struct Set {
    layout: Layout,
    folder: TempDir,
    schema: Option<Schema>,
    /// The golden folder of the set, if it has one.
    source: Option<PathBuf>,
}

impl Set {
    /// An empty set, or `None` if there is no server for it.
    pub(crate) async fn empty(layout: Layout) -> Option<Self> {
        let schema = match layout {
            Layout::Postgres => Some(Schema::for_test().await?),
            _ => None,
        };
        Some(Self { layout, folder: tempfile::tempdir().unwrap(), schema, source: None })
    }

    /// A copy of the set that a release has written.
    pub(crate) async fn golden(release: &str, layout: Layout) -> Option<Self> {
        let mut set = Self::empty(layout).await?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(release).join(name(layout));
        copy(&source, set.folder.path());
        if let Some(schema) = &set.schema {
            schema.restore(&std::fs::read_to_string(source.join("dump.sql")).unwrap()).await.unwrap();
        }
        set.source = Some(source);
        Some(set)
    }

    pub(crate) async fn writing(&self) -> World {
        World::writing(&self.url(), self.folder.path()).await
    }

    pub(crate) async fn world(&self) -> World {
        World::later(&self.url(), self.folder.path()).await
    }

    /// The listing of a golden set.
    pub(crate) fn expected(&self) -> Value {
        let file = self.source.as_ref().unwrap().with_file_name("expected.json");
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    }

    /// Compares all contents of the set with a listing.
    pub(crate) async fn check(&self, expected: &Value) {
        let world = self.world().await;
        same(&world.listing().await, expected, name(self.layout));
        assert_eq!(world.recalls("files", "otter").await, 1, "memory");
        world.close().await;
    }

    /// Copies the set to the folder that [`KEEP`] names, if the variable is set.
    pub(crate) async fn keep(&self, expected: &Value) {
        let Some(release) = std::env::var_os(KEEP).filter(|folder| !folder.is_empty()).map(PathBuf::from) else {
            return;
        };
        let target = release.join(name(self.layout));
        assert!(!target.exists(), "a set is never overwritten: {}", target.display());
        match &self.schema {
            Some(schema) => std::fs::write(self.folder.path().join("dump.sql"), dump(schema)).unwrap(),
            None => whole(&self.file()).await,
        }
        whole(&self.folder.path().join("memory.sqlite")).await;
        copy(self.folder.path(), &target);
        without_place(&target, &self.folder.path().display().to_string());
        let listing = release.join("expected.json");
        let text = serde_json::to_string_pretty(expected).unwrap() + "\n";
        match std::fs::read_to_string(&listing) {
            Ok(found) => assert_eq!(found, text, "the layouts hold the same"),
            Err(_) => std::fs::write(listing, text).unwrap(),
        }
    }

    fn url(&self) -> String {
        match (self.layout, &self.schema) {
            (Layout::V1, _) => format!("sqlite+aiosqlite:///{}", self.file().display()),
            (_, Some(schema)) => schema.url(),
            (_, None) => format!("sqlite:///{}", self.file().display()),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("sessions.sqlite")
    }
}

fn name(layout: Layout) -> &'static str {
    match layout {
        Layout::Lite => "lite",
        Layout::V1 => "v1",
        Layout::Postgres => "postgres",
    }
}

/// Merges an SQLite database into one file without a journal.
async fn whole(file: &Path) {
    let mut connection = sqlx::SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    sqlx::raw_sql("PRAGMA journal_mode = DELETE; VACUUM").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The statements that restore the schema and its rows, made by the server's own program.
fn dump(schema: &Schema) -> String {
    let url = schema.url();
    let server = url.split(['?', '&']).next().unwrap();
    let arguments = ["--no-owner", "--no-privileges", "--schema", schema.name(), server];
    let output = Command::new("pg_dump").args(arguments).output().expect("pg_dump of the server's version is on PATH");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap().replace(schema.name(), "public");
    // Removes commands for psql, comments, and the statement that creates the schema: the reader of the set creates the
    // schema.
    let is_statement = |line: &&str| {
        let is_row_end = *line == "\\.";
        is_row_end || !(line.starts_with('\\') || line.starts_with("--") || line.starts_with("CREATE SCHEMA"))
    };
    let lines: Vec<&str> = text.lines().filter(is_statement).filter(|line| !line.is_empty()).collect();
    lines.join("\n") + "\n"
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Replaces the folder in which a set was made, which does not exist on other machines.
fn without_place(folder: &Path, place: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            without_place(&path, place);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, text.replace(place, PLACE)).unwrap();
        }
    }
}
