//! `pleach sessions delete`: deletes a session.

use serde_json::json;

use super::confirm::confirms;
use crate::args::Delete;
use crate::fault::Fault;
use crate::screen::{Screen, printable};
use crate::store::{find, open};

pub(super) async fn run(args: Delete, screen: &mut Screen) -> Result<(), Fault> {
    let store = open(&args.one.store).await?;
    let key = find(&*store, &args.one).await?;
    let name = printable(&key.to_string());
    if !args.yes && !confirms(&format!("Delete session {name} and its events?"))? {
        return Err(Fault::Unconfirmed { what: "deleted" });
    }
    store.delete_session(&key).await?;
    if screen.is_json {
        return screen.value(&json!({
            "deleted": { "appName": key.app_name, "userId": key.user_id, "id": key.session_id },
        }));
    }
    screen.line(format_args!("session {name} was deleted"))
}
