//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

/// Inspects, copies and migrates the sessions of a database that pleach or google-adk writes.
#[derive(Debug, Parser)]
#[command(name = "pleach", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Writes JSON, one value per line, instead of text for people.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Lists, shows, exports, imports and deletes sessions.
    #[command(subcommand)]
    Sessions(Sessions),
    /// Lists the open questions.
    Inbox(Inbox),
    /// Stores the answer to an open question; the program that asked continues with it when it resumes the invocation.
    Answer(Answer),
    /// Draws what ran in an invocation of a session.
    Graph(Graph),
    /// Serves read-only pages that show the sessions of a database.
    Serve(Serve),
    /// Creates a small project that builds and runs.
    New(New),
    /// Copies all sessions of a database into another one and compares them.
    Migrate(Migrate),
    /// Writes a script that lets a shell complete this command.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// Lists sessions, oldest activity first.
    List(List),
    /// Shows a session: its state, its open questions and its number of events.
    Show(One),
    /// Shows the events of a session, one per line, or the runs of its nodes.
    Trace(Trace),
    /// Writes sessions as JSON, one per line, in the form of the HTTP API.
    Export(Export),
    /// Imports sessions that `export` has written.
    Import(Import),
    /// Removes values from an event, and leaves the rest unchanged.
    Redact(Redact),
    /// Deletes a session and its events. The state of its app and user stays.
    Delete(Delete),
}

/// The database.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Store {
    /// The database: `sqlite:FILE` or `postgresql://USER@HOST/DATABASE`.
    #[arg(long = "sessions", value_name = "URL", env = "PLEACH_SESSIONS", hide_env_values = true)]
    pub(crate) url: String,
    /// The folder with large values of events, if the program keeps them outside the database.
    #[arg(long, value_name = "FOLDER", env = "PLEACH_PAYLOADS")]
    pub(crate) payloads: Option<PathBuf>,
}

/// Filters sessions by app and user.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SessionFilter {
    /// Only sessions of this app.
    #[arg(long)]
    pub(crate) app: Option<String>,
    /// Only sessions of this user.
    #[arg(long)]
    pub(crate) user: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) store: Store,
    #[command(flatten)]
    pub(crate) whose: SessionFilter,
    /// The maximum number of sessions for each app.
    #[arg(long)]
    pub(crate) limit: Option<usize>,
}

/// One session.
#[derive(Debug, clap::Args)]
pub(crate) struct One {
    #[command(flatten)]
    pub(crate) store: Store,
    /// The id of the session.
    pub(crate) id: String,
    /// The app of the session; needed if sessions of several apps have the id.
    #[arg(long)]
    pub(crate) app: Option<String>,
    /// The user of the session; needed if sessions of several users have the id.
    #[arg(long)]
    pub(crate) user: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Trace {
    #[command(flatten)]
    pub(crate) one: One,
    /// Shows the runs of nodes as a tree, with their times and attempts, instead of the events.
    #[arg(long)]
    pub(crate) tree: bool,
    /// Only this invocation.
    #[arg(long, value_name = "ID")]
    pub(crate) invocation: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Answer {
    #[command(flatten)]
    pub(crate) one: One,
    /// The id of the question.
    pub(crate) question: String,
    /// The answer. It is read as JSON, or as text if it is not JSON.
    pub(crate) value: String,
    /// The invocation that asks; needed if questions of several invocations have this id.
    #[arg(long, value_name = "ID")]
    pub(crate) invocation: Option<String>,
    /// Treats the value as text, even if it is JSON.
    #[arg(long)]
    pub(crate) text: bool,
    /// Stores the answer even if the invocation seems to be running.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Graph {
    #[command(flatten)]
    pub(crate) one: One,
    /// The invocation; by default the last one.
    #[arg(long, value_name = "ID")]
    pub(crate) invocation: Option<String>,
    /// The language of the picture.
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    pub(crate) format: GraphFormat,
}

/// A language of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum GraphFormat {
    Mermaid,
    Dot,
    Svg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) store: Store,
    /// The address to listen at; port 0 chooses a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8001")]
    pub(crate) listen: SocketAddr,
    /// Allows an address that other machines can reach. Anyone who reaches it can read all sessions.
    #[arg(long)]
    pub(crate) expose: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct New {
    /// The folder to create; its last part is the name of the project.
    #[arg(value_name = "NAME")]
    pub(crate) folder: PathBuf,
    /// Creates a workflow, which is the default.
    #[arg(long, conflicts_with = "agent")]
    pub(crate) workflow: bool,
    /// Creates an agent with a model and a tool.
    #[arg(long)]
    pub(crate) agent: bool,
    /// Serves the app by HTTP, with the inspector, instead of running it once.
    #[arg(long)]
    pub(crate) server: bool,
    /// A checkout of pleach to build against, or the folder of its crate `pleach`.
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) store: Store,
    #[command(flatten)]
    pub(crate) whose: SessionFilter,
    /// Only the session with this id.
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// The file to write, which must not exist; by default standard output.
    #[arg(long, short)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Import {
    #[command(flatten)]
    pub(crate) store: Store,
    /// The file to read; `-` is standard input.
    pub(crate) file: PathBuf,
    /// Skips sessions that already exist.
    #[arg(long)]
    pub(crate) skip_existing: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    pub(crate) one: One,
    /// Deletes without confirmation; required without a terminal.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Redact {
    #[command(flatten)]
    pub(crate) one: One,
    /// The id of the event.
    pub(crate) event: String,
    /// A value to remove: a JSON pointer into the event, such as `/output/card`. May be repeated.
    #[arg(long = "path", value_name = "POINTER", required = true)]
    pub(crate) paths: Vec<String>,
    /// The reason, which is stored in the event.
    #[arg(long)]
    pub(crate) reason: String,
    /// Redacts without confirmation; required without a terminal.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Inbox {
    #[command(flatten)]
    pub(crate) store: Store,
    #[command(flatten)]
    pub(crate) whose: SessionFilter,
    /// Only questions for this user or role.
    #[arg(long)]
    pub(crate) assignee: Option<String>,
    /// The maximum number of questions for each app.
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    /// Includes sleeps and waits for signals, which people do not answer.
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Migrate {
    /// The database to read.
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// The database to write; a missing SQLite file is created.
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    /// Only sessions of this app.
    #[arg(long)]
    pub(crate) app: Option<String>,
    /// The folder with large values of the events in FROM.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) from_payloads: Option<PathBuf>,
    /// A folder for large values of the events, instead of the rows of TO; a missing folder is created.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to_payloads: Option<PathBuf>,
    /// Skips sessions that already exist and are equal: use it to continue an interrupted migration.
    #[arg(long)]
    pub(crate) skip_existing: bool,
}
