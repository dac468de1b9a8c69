//! The stream of an invocation's events: the order of things in one run.
// R1103, R1107, R1108, R1130

use std::sync::Arc;

use async_stream::stream;
use futures_util::{Stream, future};
use pleach_context::engine::Engine as _;
use pleach_context::{InvocationContext, NodeInput};
use pleach_core::{Content, Event, Question};
use pleach_workflow::RootEnd;

use crate::active::{ActiveRun, Outcome};
use crate::drive::{Drive, Ended, must_stop, stopped};
use crate::invoke::{Invocation, Opened};
use crate::join::joined;
use crate::recorded::recorded;
use crate::runner::RunnerParts;
use crate::seal::seals;
use crate::seat::{Item, Shown};
use crate::store::Stored;
use crate::{RunError, RunRequest};

/// Tells the plugins of a failure.
pub(crate) async fn report(ic: &InvocationContext, error: RunError) -> RunError {
    ic.engine().services().plugins.on_run_error(ic, &error.to_node_error()).await;
    error
}

/// The events of the invocation that `request` starts or resumes.
pub(crate) fn events(
    parts: Arc<RunnerParts>,
    request: RunRequest,
    run: Arc<ActiveRun>,
) -> impl Stream<Item = Item> + Send {
    stream! {
        if run.is_closing() {
            return;
        }
        let opened = match parts.open(request, &run).await {
            Ok(opened) => opened,
            Err(error) => {
                yield Err(error);
                return;
            }
        };
        let Invocation { ic, engine, mut store, input, user_event, mut quiet } = match opened {
            Opened::Begin(invocation) => invocation,
            Opened::Recorded { invocation, other_message } => {
                if let Err(error) = recorded(&parts, &invocation, other_message, &run).await {
                    yield Err(error);
                }
                return;
            }
            Opened::Join(share) => {
                for await item in joined(share, Arc::clone(&run)) {
                    yield item;
                }
                return;
            }
        };
        if let Some(event) = user_event {
            yield Ok(Shown::message(event));
        }
        let early = match ic.engine().services().plugins.before_run(&ic).await {
            Ok(early) => early,
            Err(error) => {
                yield Err(report(&ic, RunError::Plugin(error)).await);
                return;
            }
        };
        let root = pleach_context::engine::root_context(Arc::clone(&ic));
        let ended = if let Some(content) = early {
            let event = early_exit(&ic, content);
            match store.take(&ic, Arc::new(event)).await {
                Ok(stored) => yield Ok(Shown::event(stored.shown)),
                Err(error) => {
                    yield Err(report(&ic, error).await);
                    return;
                }
            }
            Some(Ok(RootEnd::Done(NodeInput::Null)))
        } else {
            let mut drive = Drive::new(Box::pin(engine.run_root(&root, &*parts.root, input)));
            let mut end: Option<Ended> = None;
            'run: loop {
                while let Some((ticket, event)) = ic.engine().queue().take() {
                    let Some((ticket, event)) = quiet.pass(ic.engine().queue(), ticket, event) else { continue };
                    for held in quiet.release() {
                        match drive.drive_while(store.take(&ic, held)).await {
                            Ok(stored) => yield Ok(Shown::event(stored.shown)),
                            Err(error) => {
                                drop(drive);
                                yield Err(report(&ic, error).await);
                                return;
                            }
                        }
                    }
                    let stored = drive.drive_while(store.take(&ic, event)).await;
                    let Stored { shown, original } = match stored {
                        Ok(stored) => stored,
                        Err(error) => {
                            drop(drive);
                            yield Err(report(&ic, error).await);
                            return;
                        }
                    };
                    yield Ok(Shown::event(shown));
                    // What several lanes have queued meanwhile may be dropped (R1130).
                    if must_stop(&ic, &run) {
                        break 'run;
                    }
                    ic.engine().queue().acknowledge(ticket, original);
                }
                if must_stop(&ic, &run) || end.is_some() {
                    break;
                }
                if ic.engine().work_gate().is_wanted()
                    && let Err(error) = store.claim(&ic).await
                {
                    drop(drive);
                    yield Err(report(&ic, error).await);
                    return;
                }
                drive.step(&ic, &run).await;
                end = drive.take_end();
            }
            end
        };
        if let Some(Ok(end)) = &ended {
            for held in quiet.end(matches!(end, RootEnd::Waiting(_))) {
                match store.take(&ic, held).await {
                    Ok(stored) => yield Ok(Shown::event(stored.shown)),
                    Err(error) => {
                        yield Err(report(&ic, error).await);
                        return;
                    }
                }
            }
        }
        let mut succeeded = false;
        if run.is_closing() {
            run.set_outcome(Outcome::Aborted);
        } else if ic.is_aborted() {
            run.set_outcome(Outcome::Aborted);
            ic.engine().services().sent_credentials.forget(&ic);
            for seal in seals(&ic, &parts.root.spec().name) {
                match store.take(&ic, Arc::new(seal)).await {
                    Ok(stored) => yield Ok(Shown::event(stored.shown)),
                    Err(error) => {
                        yield Err(report(&ic, error).await);
                        return;
                    }
                }
            }
        } else if let Some(Err(failure)) = ended {
            let error = RunError::Node { error: failure.error, path: failure.path };
            yield Err(report(&ic, error).await);
            return;
        } else if let Some(Ok(end)) = ended {
            let outcome = outcome(&ic, end);
            if matches!(outcome, Outcome::Done(..)) {
                ic.engine().services().sent_credentials.forget(&ic);
            }
            run.set_outcome(outcome);
            succeeded = true;
        }
        if let Err(error) = ic.engine().services().plugins.after_run(&ic).await {
            yield Err(report(&ic, RunError::Plugin(error)).await);
            return;
        }
        if let (Some(config), true) = (&parts.compaction, succeeded && store.has_stored() && !must_stop(&ic, &run)) {
            run.set_summing_up();
            // Nobody has to wait for a summary: an abort leaves it to a later invocation.
            let compacting = std::pin::pin!(config.compact(&ic, &mut store));
            future::select(compacting, std::pin::pin!(stopped(&ic, &run))).await;
        }
    }
}

/// The event of a run that a plugin ended before it began.
fn early_exit(ic: &InvocationContext, content: Content) -> Event {
    let mut event = Event::from_author("model").with_content(content);
    event.set_invocation_id(ic.invocation_id().clone());
    event
}

pub(crate) fn outcome(ic: &InvocationContext, end: RootEnd) -> Outcome {
    match end {
        RootEnd::Done(output) => Outcome::Done(output, ic.engine().dead_ends()),
        RootEnd::Waiting(ids) => {
            let own = ic.events().into_iter().filter(|event| event.invocation_id() == ic.invocation_id());
            let mut asked: Vec<Question> = own.flat_map(|event| event.questions()).collect();
            // A question that was asked again stands more than once: the last one counts.
            asked.reverse();
            let newest = |id: &String| asked.iter().find(|question| question.id == *id).cloned();
            Outcome::Waiting(ids.iter().filter_map(newest).collect())
        }
    }
}
