//! The command line.

use std::path::PathBuf;

use lexopt::{Arg, ValueExt as _};
use pleach::BoxError;

pub(crate) const USAGE: &str = "\
Serves the apps `demo` and `wf` by the HTTP API of ADK.

usage: server [--host HOST] [--port PORT] [--sessions URL] [--dev] [--ui DIR] [--allow-origin ORIGIN] [--auto-create-session]

  --host HOST            the address to listen at (default: 127.0.0.1)
  --port PORT            the port, 0 for a free one (default: 8000)
  --sessions URL         where sessions are kept (default: memory:)
  --dev                  serve the routes of the development server, too: graphs of apps, traces of runs,
                         and the inspector at /inspect/
  --ui DIR               the same, and host the browser UI in this folder at /dev-ui/
  --allow-origin ORIGIN  pages of this origin may call, too: a literal or regex:PATTERN; may be repeated
  --auto-create-session  runs create sessions that do not exist

The spellings of google-adk, --allow_origins and --auto_create_session, are read, too.

Without --dev and --ui this is the API server alone.";

/// What the user asks for.
pub(crate) struct Args {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) sessions: String,
    pub(crate) dev: bool,
    pub(crate) ui: Option<PathBuf>,
    pub(crate) allow_origins: Vec<String>,
    pub(crate) auto_create_session: bool,
}

impl Args {
    /// Reads the command line; `None` when it asks for help.
    pub(crate) fn parse() -> Result<Option<Self>, BoxError> {
        let mut args = Self {
            host: "127.0.0.1".to_owned(),
            port: 8000,
            sessions: "memory:".to_owned(),
            dev: false,
            ui: None,
            allow_origins: Vec::new(),
            auto_create_session: false,
        };
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("host") => args.host = parser.value()?.string()?,
                Arg::Long("port") => args.port = parser.value()?.parse()?,
                Arg::Long("sessions") => args.sessions = parser.value()?.string()?,
                Arg::Long("dev") => args.dev = true,
                Arg::Long("ui") => args.ui = Some(parser.value()?.into()),
                Arg::Long("allow-origin" | "allow_origins") => args.allow_origins.push(parser.value()?.string()?),
                Arg::Long("auto-create-session" | "auto_create_session") => args.auto_create_session = true,
                Arg::Long("help") | Arg::Short('h') => return Ok(None),
                other => return Err(format!("{}; `--help` shows the options", other.unexpected()).into()),
            }
        }
        Ok(Some(args))
    }
}
