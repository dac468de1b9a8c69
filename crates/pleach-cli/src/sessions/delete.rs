//! `pleach sessions delete`.

use std::io::{IsTerminal as _, Write as _};

use serde_json::json;

use crate::args::Delete;
use crate::fault::Fault;
use crate::screen::{Screen, printable};
use crate::store::{find, open};

pub(super) async fn run(args: Delete, screen: &mut Screen) -> Result<(), Fault> {
    let store = open(&args.one.store).await?;
    let key = find(&*store, &args.one).await?;
    let name = printable(&key.to_string());
    if !args.yes && !confirms(&name)? {
        return Err(Fault::Unconfirmed);
    }
    store.delete_session(&key).await?;
    if screen.is_json {
        return screen.value(&json!({
            "deleted": { "appName": key.app_name, "userId": key.user_id, "id": key.session_id },
        }));
    }
    screen.line(format_args!("session {name} is deleted"))
}

/// Asks the person at the terminal.
fn confirms(name: &str) -> Result<bool, Fault> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut terminal = std::io::stderr();
    write!(terminal, "Delete session {name} and its events? [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
