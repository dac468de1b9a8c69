//! `pleach migrate`: copies all sessions of a database into another one, and compares them.

use pleach::{Session, SessionService};
use serde_json::json;

use crate::args::{Migrate, SessionFilter};
use crate::fault::Fault;
use crate::left_out::LeftOut;
use crate::screen::Screen;
use crate::store::{Pages, apps, load_whole, open_existing, open_or_make};
use crate::transfer::{Copied, Shared, are_equal, copy};

/// The numbers of sessions that were copied or skipped, and of the events that were compared.
#[derive(Default)]
struct Counts {
    sessions: usize,
    skipped: usize,
    events: usize,
}

pub(crate) async fn run(args: Migrate, screen: &mut Screen) -> Result<(), Fault> {
    let from = open_existing(&args.from, args.from_payloads.as_deref()).await?;
    let to = open_or_make(&args.to, args.to_payloads.as_deref()).await?;
    let bar = screen.bar("copying");
    let mut counts = Counts::default();
    let mut shared = Shared::default();
    let mut differences = Vec::new();
    let mut left_out = LeftOut::default();
    let whose = SessionFilter { app: args.app.clone(), user: None };
    for app in apps(&*from, args.app.as_deref()).await? {
        let mut pages = Pages::new(&*from, app, &whose, None);
        while let Some(sessions) = pages.next().await? {
            for listed in sessions {
                let kept = shared.keep_of(&*from, listed.key()).await.map(Some);
                let Some(()) = left_out.unless_broken(kept, screen)? else { continue };
                let loaded = load_whole(&*from, listed.key()).await;
                let Some(session) = left_out.unless_broken(loaded, screen)? else { continue };
                let skipped = counts.skipped;
                let is_equal = copy_one(&session, &*to, args.skip_existing, &mut counts).await?;
                if counts.skipped == skipped {
                    left_out.note_unreadable(&session, screen);
                }
                if !is_equal {
                    differences.push(format!("session {}", listed.key()));
                }
                bar.inc(1);
            }
        }
    }
    shared.write(&*to).await?;
    differences.extend(shared.differences(&*to).await?);
    bar.finish_and_clear();
    to.flush().await?;
    report(&counts, screen)?;
    if differences.is_empty() { left_out.check() } else { Err(Fault::Differs { differences }) }
}

/// Copies one session, and reads the copy back. Returns true if they are equal.
async fn copy_one(session: &Session, to: &dyn SessionService, skips: bool, counts: &mut Counts) -> Result<bool, Fault> {
    let key = session.key();
    match copy(session, to).await? {
        Copied::New => counts.sessions += 1,
        Copied::Exists if skips => counts.skipped += 1,
        Copied::Exists => return Err(Fault::Exists(key.clone())),
    }
    counts.events += session.events.len();
    let copied = to.get_session(key, Default::default()).await?;
    Ok(copied.is_some_and(|copied| are_equal(session, &copied)))
}

fn report(counts: &Counts, screen: &mut Screen) -> Result<(), Fault> {
    let Counts { sessions, skipped, events } = *counts;
    if screen.is_json {
        return screen.value(&json!({ "copied": sessions, "skipped": skipped, "events": events }));
    }
    screen.line(format_args!("{sessions} sessions copied, {skipped} already existed; {events} events compared"))
}
