//! The command line.

use std::path::PathBuf;

use lexopt::{Arg, ValueExt as _};
use pleach::BoxError;

pub(crate) const USAGE: &str = "\
Serves the apps `demo` and `wf` with the HTTP API of ADK.

usage: server [--host HOST] [--port PORT] [--sessions URL] [--dev] [--ui DIR] [--allow-origins ORIGIN] [--auto-create-session]
              [--url-prefix PREFIX] [--max-llm-calls N] [--logo-text TEXT --logo-image-url URL]

  --host HOST            the address to listen at (default: 127.0.0.1)
  --port PORT            the port, 0 for a free one (default: 8000)
  --sessions URL         where sessions are kept (default: memory:)
  --dev                  also serve the routes of the development server: graphs of apps, traces of runs,
                         and the inspector at /inspect/
  --ui DIR               like --dev, and host the browser UI in this folder at /dev-ui/
  --allow-origins ORIGIN allow calls from pages of this origin: a literal or regex:PATTERN; may be repeated
  --auto-create-session  let runs create missing sessions
  --url-prefix PREFIX    the path or URL under which a proxy exposes the server; redirects use it
  --max-llm-calls N      how often a run may call its model; 0 for no limit
  --logo-text TEXT       the logo of the browser UI: its text,
  --logo-image-url URL   and its image

google-adk's spellings with underscores, such as --allow_origins, also work. ADK_DEFAULT_APP_NAME names the app for requests that
name none.

Without --dev and --ui, only the API server runs.";

/// The parsed command line.
pub(crate) struct Args {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) sessions: String,
    pub(crate) dev: bool,
    pub(crate) ui: Option<PathBuf>,
    pub(crate) allow_origins: Vec<String>,
    pub(crate) auto_create_session: bool,
    pub(crate) url_prefix: String,
    pub(crate) max_llm_calls: Option<u32>,
    /// The text of the logo and the URL of its image.
    pub(crate) logo: Option<(String, String)>,
}

impl Args {
    /// Reads the command line; `None` if it asks for help.
    pub(crate) fn parse() -> Result<Option<Self>, BoxError> {
        let mut args = Self {
            host: "127.0.0.1".to_owned(),
            port: 8000,
            sessions: "memory:".to_owned(),
            dev: false,
            ui: None,
            allow_origins: Vec::new(),
            auto_create_session: false,
            url_prefix: String::new(),
            max_llm_calls: None,
            logo: None,
        };
        let (mut logo_text, mut logo_image_url) = (None, None);
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            let name = match arg {
                Arg::Long(name) => name.replace('_', "-"),
                Arg::Short('h') => return Ok(None),
                other => return Err(unexpected(other)),
            };
            match name.as_str() {
                "host" => args.host = parser.value()?.string()?,
                "port" => args.port = parser.value()?.parse()?,
                "sessions" => args.sessions = parser.value()?.string()?,
                "dev" => args.dev = true,
                "ui" => args.ui = Some(parser.value()?.into()),
                "allow-origin" | "allow-origins" => args.allow_origins.push(parser.value()?.string()?),
                "auto-create-session" => args.auto_create_session = true,
                "url-prefix" => args.url_prefix = parser.value()?.string()?,
                "max-llm-calls" => args.max_llm_calls = Some(parser.value()?.parse()?),
                "logo-text" => logo_text = Some(parser.value()?.string()?),
                "logo-image-url" => logo_image_url = Some(parser.value()?.string()?),
                "help" => return Ok(None),
                other => return Err(unexpected(Arg::Long(other))),
            }
        }
        args.logo = match (logo_text, logo_image_url) {
            (None, None) => None,
            (Some(text), Some(image_url)) => Some((text, image_url)),
            _ => return Err("--logo-text and --logo-image-url are needed together".into()),
        };
        Ok(Some(args))
    }
}

fn unexpected(arg: Arg<'_>) -> BoxError {
    format!("{}; `--help` shows the options", arg.unexpected()).into()
}
