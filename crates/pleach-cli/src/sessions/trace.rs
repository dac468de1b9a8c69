//! `pleach sessions trace`: shows the events of a session, one per line, or the runs of its nodes.

use pleach::inspect::{Fact, NodeRun, RunTree, TimelineEntry, TurnWork, Work, invocations, timeline};
use pleach::{REQUEST_CREDENTIAL, Session};

use crate::args::Trace;
use crate::fault::Fault;
use crate::graph::invocation;
use crate::screen::{Screen, printable, short, time};
use crate::store::{load, open_to_read};

/// The maximum number of characters of a text or a value that are shown.
const VALUE: usize = 120;

pub(super) async fn run(args: Trace, screen: &mut Screen) -> Result<(), Fault> {
    let store = open_to_read(&args.one.store).await?;
    let session = load(&*store, &args.one).await?;
    let wanted = args.invocation.as_deref().map(|named| invocation(&session, Some(named))).transpose()?;
    let is_wanted = |id: &pleach::InvocationId| wanted.as_ref().is_none_or(|wanted| wanted == id);
    if args.tree {
        return trees(&session, is_wanted, screen);
    }
    for (event, mut entry) in session.events.iter().zip(timeline(&session.events)) {
        if !is_wanted(event.invocation_id()) {
            continue;
        }
        if screen.is_json {
            screen.value(&**event)?;
        } else {
            entry.hide_secrets();
            screen.line(line(&entry))?;
        }
    }
    Ok(())
}

fn trees(
    session: &Session,
    is_wanted: impl Fn(&pleach::InvocationId) -> bool,
    screen: &mut Screen,
) -> Result<(), Fault> {
    for summary in invocations(&session.events).into_iter().filter(|summary| is_wanted(&summary.id)) {
        let tree = RunTree::of(&session.events, &summary.id);
        if screen.is_json {
            screen.value(&tree)?;
            continue;
        }
        let undone = if tree.effective { "" } else { " (undone)" };
        let message = short(&summary.message, VALUE);
        screen.line(format_args!("{}  {}{undone}  {message}", time(summary.began), printable(summary.id.as_str())))?;
        for run in &tree.runs {
            screen.line(run_line(run, tree.turns.len()))?;
        }
    }
    Ok(())
}

/// Returns a run as `NAME@ID STATUS SECONDS`, with its failed attempts. If the invocation has several turns, the work
/// of each turn follows.
fn run_line(run: &NodeRun, turns: usize) -> String {
    let status = serde_json::json!(run.status);
    let mut text = format!(
        "{:indent$}{}  {}  {:.3} s",
        "",
        printable(run.path.leaf()),
        status.as_str().unwrap_or_default(),
        run.seconds,
        indent = 2 + run.depth * 2
    );
    for failed in run.attempts.iter().filter_map(|attempt| attempt.error.as_deref()) {
        text += &format!("  failed: {}", printable(failed));
    }
    if turns > 1 {
        let work = |work: Work| match work {
            Work::Executed => "ran",
            Work::Answered => "answered",
            Work::Replayed => "replayed",
            Work::Waited => "waited",
        };
        let words: Vec<String> = spans(&run.turns).map(|(span, did)| format!("{span} {}", work(did))).collect();
        text += &format!("  ({})", words.join(", "));
    }
    text
}

/// Returns consecutive turns with the same work, as `2` or `2-5`.
fn spans(turns: &[TurnWork]) -> impl Iterator<Item = (String, Work)> {
    turns.chunk_by(|one, next| one.work == next.work).filter_map(|same| {
        let (first, last) = (same.first()?, same.last()?.last);
        let span = if first.first == last { last.to_string() } else { format!("{}-{last}", first.first) };
        Some((span, first.work))
    })
}

/// Returns an event as `TIME  PATH  FACTS`, with the author instead of the path for an event outside nodes.
fn line(entry: &TimelineEntry) -> String {
    let by = if entry.path.is_root() { entry.author.as_str() } else { entry.path.as_str() };
    let parts: Vec<String> = entry.facts.iter().filter_map(fact_text).collect();
    let undone = if entry.effective { "" } else { "(undone) " };
    format!("{}  {}  {undone}{}", time(entry.time), printable(by), parts.join("; ")).trim_end().to_owned()
}

/// Returns a fact in words. Messages of clients and agents about credentials are left out.
fn fact_text(fact: &Fact) -> Option<String> {
    let value = |name: &str, value: &serde_json::Value| {
        if name == REQUEST_CREDENTIAL { String::new() } else { short(&value.to_string(), VALUE) }
    };
    Some(match fact {
        Fact::Says { text } => format!("says {:?}", short(text, VALUE)),
        Fact::Thinks { text } => format!("thinks {:?}", short(text, VALUE)),
        Fact::Calls { name, args, .. } => format!("calls {}({})", printable(name), value(name, args)),
        Fact::Answers { name, response, .. } => format!("{} answers {}", printable(name), value(name, response)),
        Fact::Shows { what, .. } => format!("shows {}", printable(what)),
        Fact::Gives { output } => format!("gives {}", short(&output.to_string(), VALUE)),
        Fact::Takes { route } => format!("takes {}", short(&route.to_string(), VALUE)),
        Fact::Sets { key, value } => format!("sets {} = {}", printable(key), short(&value.to_string(), VALUE)),
        Fact::Saves { file, version } => format!("saves {} version {version}", printable(file)),
        Fact::Transfers { agent } => format!("transfers to {}", printable(agent)),
        Fact::Escalates => "escalates".to_owned(),
        Fact::Fails { code, message } => format!("fails with {}: {}", printable(code), short(message, VALUE)),
        Fact::Rewinds { invocation, first: None } => format!("rewinds to before {}", printable(invocation)),
        Fact::Rewinds { invocation, first: Some(first) } => {
            format!("rewinds to before event {} of {}", printable(first), printable(invocation))
        }
        Fact::Summarises => "summarises".to_owned(),
        Fact::Ends => "ends".to_owned(),
        // A question is a call, which is already listed, and progress is not shown.
        _ => return None,
    })
}
