//! A custom service around pleach: `cargo run --example expenses`.
//!
//! Employees submit expense reports over HTTP. Small expenses are paid at once. Large ones wait for a manager, who
//! finds them in an inbox and may answer at any time, even after a restart. `docs/services.md` builds the service step
//! by step.
//!
//! ```console
//! $ cargo run --example expenses
//! http://127.0.0.1:8080
//! $ curl http://127.0.0.1:8080/employees/ana/expenses -H 'content-type: application/json' -H 'idempotency-key: e1' \
//!     -d '{"cents": 48000, "purpose": "a desk"}'
//! $ curl 'http://127.0.0.1:8080/inbox?assignee=managers'
//! $ curl http://127.0.0.1:8080/employees/ana/expenses/e1/answers/approval -H 'content-type: application/json' \
//!     -H 'x-user: mia' -H 'x-roles: managers' -d '{"approved": true}'
//! $ curl http://127.0.0.1:8080/employees/ana/expenses/e1
//! ```
//!
//! With `--bank-delay 30` a payment takes so long that you can kill the process in the meantime. The next process
//! continues it, and `payments.jsonl` has one line.

mod args;
mod service;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use pleach::prelude::connect;
use pleach::server::shutdown_signal;
use pleach::{BoxError, SystemClock, with_causes};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use args::Args;
use service::{Bank, Policy, Service, recover_always, router};

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("expenses: {}", with_causes(&*error));
            ExitCode::from(2)
        }
    }
}

async fn run() -> Result<(), BoxError> {
    let Some(args) = Args::parse()? else {
        writeln!(std::io::stdout(), "{}", args::USAGE)?;
        return Ok(());
    };
    let policy = Policy { free_cents: 5_000, answer_within: args.answer_within, attempts: 3 };
    let bank = Bank::new(args.ledger, args.bank_delay);
    let service = Service::new(connect(&args.sessions).await?, bank, policy, SystemClock)?;
    let listener = TcpListener::bind(&args.listen).await?;
    let signal = shutdown_signal()?;
    // Handle the deadlines and the unfinished runs that other processes have left.
    service.runner.start_timers();
    let recovery = tokio::spawn(recover_always(service.clone(), args.idle));
    writeln!(std::io::stdout(), "http://{}", listener.local_addr()?)?;

    serve(listener, &service, signal, args.drain).await?;
    let drained = service.runner.drain(args.drain).await;
    tracing::info!(complete = drained.is_complete(), runs = drained.runs.len(), "drained");
    recovery.await?;
    Ok(service.runner.close().await?)
}

/// Serves until the signal arrives. Then it accepts no new connections, ends the streams, and waits for open requests.
async fn serve(
    listener: TcpListener,
    service: &Service,
    signal: impl Future<Output = ()> + Send + 'static,
    drain: Duration,
) -> std::io::Result<()> {
    let stopping = service.stopping.clone();
    let stop = stopping.clone();
    tokio::spawn(async move {
        signal.await;
        stop.cancel();
    });
    let served =
        axum::serve(listener, router(service.clone())).with_graceful_shutdown(stopping.clone().cancelled_owned());
    tokio::select! {
        served = served => served,
        () = overdue(stopping, drain) => Ok(()),
    }
}

/// Completes some time after the service has begun to stop. Otherwise a client that does not read could block the
/// shutdown.
async fn overdue(stopping: CancellationToken, drain: Duration) {
    stopping.cancelled().await;
    tokio::time::sleep(drain).await;
}
