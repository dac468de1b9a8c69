//! `pleach sessions export`: writes sessions as JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use pleach::{SessionKey, SessionService, to_camel};

use crate::args::{Export, One};
use crate::fault::Fault;
use crate::left_out::LeftOut;
use crate::screen::Screen;
use crate::store::{Pages, apps, find, load_whole, open_to_read};

pub(super) async fn run(args: Export, screen: &mut Screen) -> Result<(), Fault> {
    let store = open_to_read(&args.store).await?;
    let keys = keys(&*store, &args).await?;
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(BufWriter::new(create(path)?)),
        None => Box::new(BufWriter::new(std::io::stdout())),
    };
    let bar = screen.bar("exporting");
    let mut left_out = LeftOut::default();
    for key in keys {
        let loaded = load_whole(&*store, &key).await;
        let Some(session) = left_out.unless_broken(loaded, screen)? else { continue };
        left_out.note_unreadable(&session, screen);
        let value = to_camel(&session).map_err(std::io::Error::from)?;
        writeln!(out, "{value}")?;
        bar.inc(1);
    }
    out.flush()?;
    bar.finish_and_clear();
    left_out.check()
}

/// Creates a file that only its owner can read, because sessions contain the messages of users.
fn create(path: &Path) -> Result<File, Fault> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| Fault::File { path: path.to_owned(), error })
}

async fn keys(store: &dyn SessionService, args: &Export) -> Result<Vec<SessionKey>, Fault> {
    if let Some(id) = &args.id {
        let (app, user) = (args.whose.app.clone(), args.whose.user.clone());
        let one = One { store: args.store.clone(), id: id.clone(), app, user };
        return Ok(vec![find(store, &one).await?]);
    }
    let mut keys = Vec::new();
    for app in apps(store, args.whose.app.as_deref()).await? {
        let mut pages = Pages::new(store, app, &args.whose, None);
        while let Some(sessions) = pages.next().await? {
            keys.extend(sessions.iter().map(|session| session.key().clone()));
        }
    }
    Ok(keys)
}
