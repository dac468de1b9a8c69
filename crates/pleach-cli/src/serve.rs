//! `pleach serve`: the inspector of a database, which only reads.

use std::time::Duration;

use pleach::server::Inspector;
use serde_json::json;

use crate::args::Serve;
use crate::fault::Fault;
use crate::screen::Screen;
use crate::store::open_to_read;

pub(crate) async fn run(args: Serve, screen: &mut Screen) -> Result<(), Fault> {
    if !args.expose && !args.listen.ip().to_canonical().is_loopback() {
        return Err(Fault::Exposed { address: args.listen });
    }
    let store = open_to_read(&args.store.url).await?;
    let server = Inspector::new(store).bind(args.listen).await?;
    let url = format!("http://{}/inspect/", server.local_addr());
    if screen.is_json {
        screen.value(&json!({ "url": url }))?;
    } else {
        screen.line(format_args!("{url}  (Ctrl-C ends it)"))?;
    }
    let built = server.server().clone();
    server.serve_until(stopped(), Duration::ZERO).await;
    built.close().await.map_err(Fault::Closing)
}

/// Waits until the program is ended: by Ctrl-C, or as service managers do. Where that cannot be heard, it ends like any program.
async fn stopped() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupted => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
async fn terminated() {
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
