//! `pleach sessions import`: imports sessions that `export` has written.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use pleach::{Session, SessionService};
use serde_json::json;

use crate::args::Import;
use crate::fault::Fault;
use crate::screen::Screen;
use crate::store::{check_whole, open_or_make};
use crate::transfer::{Copied, Shared, copy};

pub(super) async fn run(args: Import, screen: &mut Screen) -> Result<(), Fault> {
    let input = read(&args.file)?;
    let store = open_or_make(&args.store.url, args.store.payloads.as_deref()).await?;
    let bar = screen.bar("importing");
    let mut counts = Counts::default();
    let mut shared = Shared::default();
    let mut outcome = Ok(());
    for (index, line) in input.lines().enumerate() {
        let line = line.map_err(|error| Fault::File { path: args.file.clone(), error })?;
        if line.trim().is_empty() {
            continue;
        }
        outcome = one(&line, index + 1, &*store, args.skip_existing, &mut shared, &mut counts).await;
        if outcome.is_err() {
            break;
        }
        bar.inc(1);
    }
    // This is done even after a failure, because the imported events have changed app and user state, which must be
    // restored.
    shared.write(&*store).await?;
    outcome?;
    bar.finish_and_clear();
    let Counts { imported, skipped, events } = counts;
    if screen.is_json {
        return screen.value(&json!({ "imported": imported, "skipped": skipped, "events": events }));
    }
    screen.line(format_args!("{imported} sessions with {events} events imported, {skipped} existed already"))
}

/// The numbers of sessions and events that were imported.
#[derive(Default)]
struct Counts {
    imported: usize,
    skipped: usize,
    events: usize,
}

async fn one(
    line: &str,
    number: usize,
    store: &dyn SessionService,
    skips: bool,
    shared: &mut Shared,
    counts: &mut Counts,
) -> Result<(), Fault> {
    let session: Session = serde_json::from_str(line).map_err(|error| Fault::Line { line: number, error })?;
    check_whole(&session)?;
    // Existing app and user state wins; missing keys come from the file.
    shared.keep_of(store, session.key()).await?;
    match copy(&session, store).await? {
        Copied::New => {
            shared.offer(&session);
            counts.imported += 1;
            counts.events += session.events.len();
        }
        Copied::Exists if skips => counts.skipped += 1,
        Copied::Exists => return Err(Fault::Exists(session.key().clone())),
    }
    Ok(())
}

fn read(path: &Path) -> Result<Box<dyn BufRead>, Fault> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let file = File::open(path).map_err(|error| Fault::File { path: path.to_owned(), error })?;
    Ok(Box::new(BufReader::new(file)))
}
