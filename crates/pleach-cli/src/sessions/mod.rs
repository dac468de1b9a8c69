//! `pleach sessions`: one file for each command.

mod confirm;
mod delete;
mod export;
mod import;
mod list;
mod redact;
mod show;
mod trace;

use crate::args::Sessions;
use crate::fault::Fault;
use crate::screen::Screen;

pub(crate) async fn run(command: Sessions, screen: &mut Screen) -> Result<(), Fault> {
    match command {
        Sessions::List(args) => list::run(args, screen).await,
        Sessions::Show(one) => show::run(one, screen).await,
        Sessions::Trace(one) => trace::run(one, screen).await,
        Sessions::Export(args) => export::run(args, screen).await,
        Sessions::Import(args) => import::run(args, screen).await,
        Sessions::Redact(args) => redact::run(args, screen).await,
        Sessions::Delete(args) => delete::run(args, screen).await,
    }
}
