//! `pleach serve`: the inspector of a database, which only reads.

use std::time::Duration;

use pleach::server::Inspector;
use serde_json::json;

use crate::args::Serve;
use crate::fault::Fault;
use crate::screen::Screen;
use crate::store::open;

pub(crate) async fn run(args: Serve, screen: &mut Screen) -> Result<(), Fault> {
    if !args.expose && !args.listen.ip().to_canonical().is_loopback() {
        return Err(Fault::Exposed { address: args.listen });
    }
    let store = open(&args.store.url).await?;
    let server = Inspector::new(store).bind(args.listen).await?;
    let url = format!("http://{}/inspect/", server.local_addr());
    if screen.is_json {
        screen.value(&json!({ "url": url }))?;
    } else {
        screen.line(format_args!("{url}  (Ctrl-C ends it)"))?;
    }
    let built = server.server().clone();
    let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
    server.serve_until(stop, Duration::ZERO).await;
    Ok(built.close().await?)
}
