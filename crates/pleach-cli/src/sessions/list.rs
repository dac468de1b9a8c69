//! `pleach sessions list`.

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
        while let Some(sessions) = pages.next().await? {
            for session in sessions {
                let key = session.key();
                count += 1;
                if screen.is_json {
                    screen.value(&json!({
                        "appName": key.app_name, "userId": key.user_id, "id": key.session_id,
                        "lastUpdateTime": session.last_update_time(),
                    }))?;
                } else {
                    let (app, user, id) = (key.app_name.as_str(), key.user_id.as_str(), key.session_id.as_str());
                    let updated = time(session.last_update_time());
                    screen.line(format_args!(
                        "{updated}  {}  {}  {}",
                        printable(app),
                        printable(user),
                        printable(id)
                    ))?;
                }
            }
        }
    }
    if count == 0 && !screen.is_json {
        screen.line("no session")?;
    }
    Ok(())
}
