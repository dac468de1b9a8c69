//! `pleach graph`: a picture of the runs of an invocation.

use pleach::inspect::{Picture, RunSummary, RunTree, observed_outline};
use pleach::{InvocationId, Session, dot_of_run, mermaid_of_run};

use crate::args::{Graph, GraphFormat};
use crate::fault::Fault;
use crate::screen::Screen;
use crate::store::{load, open_to_read};

pub(crate) async fn run(args: Graph, screen: &mut Screen) -> Result<(), Fault> {
    let store = open_to_read(&args.one.store).await?;
    let session = load(&*store, &args.one).await?;
    let invocation = invocation(&session, args.invocation.as_deref())?;
    let tree = RunTree::of(&session.events, &invocation);
    let missing = || Fault::Missing { session: session.key().clone(), what: format!("runs of nodes in {invocation}") };
    let outline = observed_outline(&tree)?.ok_or_else(missing)?;
    let picture = || Picture::of(&outline, Some(&RunSummary::of(&session.events, &invocation)));
    if screen.is_json {
        return screen.value(&picture()?);
    }
    screen.document(&match args.format {
        GraphFormat::Mermaid => mermaid_of_run(&outline, &session.events, &invocation),
        GraphFormat::Dot => dot_of_run(&outline, &session.events, &invocation),
        GraphFormat::Svg => picture()?.to_svg(),
    })
}

/// Returns the named invocation, or the last one with runs of nodes.
pub(crate) fn invocation(session: &Session, named: Option<&str>) -> Result<InvocationId, Fault> {
    let missing = |what: String| Fault::Missing { session: session.key().clone(), what };
    let mut newest = session.events.iter().rev();
    match named {
        Some(id) => {
            let found = newest.find(|event| event.invocation_id().as_str() == id);
            found.map(|event| event.invocation_id().clone()).ok_or_else(|| missing(format!("invocation {id:?}")))
        }
        None => {
            let found = newest.find(|event| !event.path().is_root() && !event.invocation_id().is_empty());
            found.map(|event| event.invocation_id().clone()).ok_or_else(|| missing("runs of nodes".to_owned()))
        }
    }
}
