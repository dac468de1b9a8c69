//! `pleach sessions list`: lists sessions.

use std::collections::HashMap;

use pleach::{Session, with_causes};
use serde_json::json;

use crate::args::List;
use crate::fault::Fault;
use crate::screen::{Screen, printable, time};
use crate::store::{Pages, apps, open_to_read};

pub(super) async fn run(args: List, screen: &mut Screen) -> Result<(), Fault> {
    let store = open_to_read(&args.store).await?;
    let mut count = 0_usize;
    for app in apps(&*store, args.whose.app.as_deref()).await? {
        let mut pages = Pages::new(&*store, app, &args.whose, args.limit);
        while let Some(page) = pages.next_judged().await? {
            let faults: HashMap<_, _> = page.faults.into_iter().map(|fault| (fault.session, fault.error)).collect();
            for session in page.sessions {
                count += 1;
                let fault = faults.get(session.key()).map(|error| with_causes(&**error));
                write(&session, fault.as_deref(), screen)?;
            }
        }
    }
    if count == 0 && !screen.is_json {
        screen.line("no sessions")?;
    }
    Ok(())
}

/// Writes a session, and names the parts that cannot be read.
fn write(session: &Session, fault: Option<&str>, screen: &mut Screen) -> Result<(), Fault> {
    let key = session.key();
    if screen.is_json {
        let mut value = json!({
            "appName": key.app_name, "userId": key.user_id, "id": key.session_id,
            "lastUpdateTime": session.last_update_time(),
        });
        if let Some(fault) = fault {
            value["fault"] = fault.into();
        }
        if !session.unreadable.is_empty() {
            value["unreadableState"] = json!(session.unreadable);
        }
        return screen.value(&value);
    }
    let mut line = time(session.last_update_time());
    for name in [key.app_name.as_str(), key.user_id.as_str(), key.session_id.as_str()] {
        line.push_str(&format!("  {}", printable(name)));
    }
    if let Some(fault) = fault {
        line.push_str(&format!("  (cannot be read: {})", printable(fault)));
    }
    if !session.unreadable.is_empty() {
        let keys: Vec<&str> = session.unreadable.keys().map(String::as_str).collect();
        line.push_str(&format!("  (state that cannot be read: {})", printable(&keys.join(", "))));
    }
    screen.line(line)
}
