//! A server with ADK's HTTP API and two apps, which need no network: `cargo run --example server`.
//!
//! ```console
//! $ cargo run --example server -- --port 8000 --sessions sqlite:server.db
//! http://127.0.0.1:8000
//! $ curl -X POST http://127.0.0.1:8000/apps/demo/users/ana/sessions -H 'content-type: application/json' -d '{"sessionId": "s1"}'
//! $ curl -N http://127.0.0.1:8000/run_sse -H 'content-type: application/json' -d '{"appName": "demo", "userId": "ana",
//!     "sessionId": "s1", "newMessage": {"parts": [{"text": "weather?"}]}, "streaming": true}'
//! ```
//!
//! The app [`demo`] is a chat with tools and a scripted model; the app [`wf`] is a workflow that asks a question.
//! Ctrl-C shuts the server down: active runs have ten seconds to finish, and connections a few seconds more. The log
//! goes to stderr.

mod args;
mod demo;
mod python;
mod scripted;
mod wf;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use pleach::prelude::*;
use pleach::server::{DevUi, Server, Traces, shutdown_signal};
use pleach::{App, BoxError, InMemoryArtifactService, InMemoryMemoryService, SystemClock};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;

use args::Args;

/// How long active runs may take when the server shuts down.
const DRAIN: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("server: {}", pleach::with_causes(&*error));
            ExitCode::from(2)
        }
    }
}

async fn run() -> std::result::Result<(), BoxError> {
    let Some(args) = Args::parse()? else {
        writeln!(std::io::stdout(), "{}", args::USAGE)?;
        return Ok(());
    };
    let traces = (args.dev || args.ui.is_some()).then(Traces::new);
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let recorded = traces.as_ref().map(Traces::layer);
    tracing_subscriber::registry().with(log.with_filter(LevelFilter::INFO)).with(recorded).init();
    let mut server = Server::new()
        .app(App::new("demo", demo::agent()?)?)
        .app(App::new("wf", wf::workflow()?)?)
        .sessions(connect(&args.sessions).await?)
        .artifacts(InMemoryArtifactService::with_clock(Arc::new(SystemClock)))
        .memory(InMemoryMemoryService::new())
        .allow_origins(args.allow_origins)
        .auto_create_session(args.auto_create_session)
        .url_prefix(args.url_prefix);
    if let Some(calls) = args.max_llm_calls {
        server = server.max_llm_calls(calls);
    }
    if let Some(traces) = traces {
        server = server.dev(true).traces(traces);
    }
    if let Some(folder) = args.ui {
        let ui = DevUi::new(folder);
        server = server.dev_ui(match args.logo {
            Some((text, image_url)) => ui.logo(text, image_url),
            None => ui,
        });
    }
    let server = server.bind((args.host.as_str(), args.port)).await?;
    let stop = shutdown_signal()?;
    writeln!(std::io::stdout(), "http://{}", server.local_addr())?;
    let built = server.server().clone();
    server.serve_until(stop, DRAIN).await;
    Ok(built.close().await?)
}
