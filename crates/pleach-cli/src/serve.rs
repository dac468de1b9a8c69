//! `pleach serve`: runs a read-only inspector of a database.

use std::time::Duration;

use pleach::server::{Inspector, shutdown_signal};
use serde_json::json;

use crate::args::Serve;
use crate::fault::Fault;
use crate::screen::Screen;
use crate::store::open_to_read;

pub(crate) async fn run(args: Serve, screen: &mut Screen) -> Result<(), Fault> {
    if !args.expose && !args.listen.ip().to_canonical().is_loopback() {
        return Err(Fault::Exposed { address: args.listen });
    }
    let store = open_to_read(&args.store).await?;
    let server = Inspector::new(store).bind(args.listen).await?;
    let stop = shutdown_signal()?;
    let url = format!("http://{}/inspect/", server.local_addr());
    if screen.is_json {
        screen.value(&json!({ "url": url }))?;
    } else {
        screen.line(format_args!("{url}  (press Ctrl-C to stop)"))?;
    }
    let built = server.server().clone();
    server.serve_until(stop, Duration::ZERO).await;
    built.close().await.map_err(Fault::Closing)
}
