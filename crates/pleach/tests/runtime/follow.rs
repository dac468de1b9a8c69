//! Runs that continue without their client, and their followers, who see every event exactly once.

use std::sync::Arc;

use futures::future::join_all;
use pleach::prelude::*;
use pleach::{Event, EventId, FollowStatus, InMemorySessionService, RunEnd, RunRequest};

use crate::gated::Gated;
use crate::script::{rest, scripted, scripted_runner, take};
use crate::support::{key, runner, stored, trace};

fn sessions() -> Arc<InMemorySessionService> {
    Arc::new(InMemorySessionService::new())
}

async fn ids(runner: &Runner) -> Vec<EventId> {
    let session = runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap();
    session.events.iter().map(|event| event.id().clone()).collect()
}

#[tokio::test]
async fn a_client_comes_back_by_the_last_event_it_has() {
    let (script, runner) = scripted_runner(sessions());
    let run = runner.run("ana", "s1", "go").detach();
    let mut first = runner.follow("s1", None).await.unwrap();
    script.say("one").await;
    assert_eq!(take(&mut first, 1).await, [": says go"]);
    let seen = first.next().await.unwrap().unwrap();
    assert_eq!((seen.text().as_str(), first.status()), ("one", FollowStatus::Running));
    assert_eq!(first.invocation_id(), Some(run.invocation_id().await.unwrap()));
    drop(first);
    script.say("two").await;
    let mut again = runner.follow(("ana", "s1"), Some(seen.id().clone())).await.unwrap();
    script.fragment("th").await;
    script.say("three").await;
    script.end("done");
    assert_eq!(rest(&mut again).await, ["n@1: says two", "n@1: says th", "n@1: says three", "n@1: \"done\""]);
    assert_eq!(again.status(), FollowStatus::Ended(RunEnd::Done));
    assert_eq!(run.output::<String>().await.unwrap(), "done");
    // The run has ended in the meantime. The follower gets the events stored after `seen` and waits for nothing.
    let mut late = runner.follow("s1", Some(seen.id().clone())).await.unwrap();
    assert_eq!(rest(&mut late).await, ["n@1: says two", "n@1: says three", "n@1: \"done\""]);
    assert_eq!((late.status(), late.invocation_id()), (FollowStatus::NotHere, None));
}

#[tokio::test]
async fn followers_that_join_anywhere_see_every_later_event_once() {
    let (script, runner) = scripted_runner(sessions());
    let mut run = runner.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    let mut followers = vec![(0, runner.follow("s1", None).await.unwrap())];
    for turn in 0..20 {
        script.fragment("frag").await;
        script.say(&format!("event {turn}")).await;
        for (place, id) in ids(&runner).await.into_iter().enumerate() {
            followers.push((place + 1, runner.follow("s1", Some(id)).await.unwrap()));
        }
    }
    script.fail();
    let error = (&mut run).await.unwrap_err();
    assert!(matches!(&error, RunError::Node { error, .. } if error.message() == "broken"), "{error:?}");
    let again = run.await.unwrap_err();
    assert!(matches!(&again, RunError::Followed { message, .. } if message == "broken"), "{again:?}");
    let mut log: Vec<String> = vec![": says go".into()];
    log.extend((0..20).map(|turn| format!("n@1: says event {turn}")));
    log.push("n@1: Exception: broken".into());
    log.push("! Exception: broken".into());
    assert_eq!(followers.len(), 231);
    let lines = join_all(followers.iter_mut().map(|(_, follow)| rest(follow))).await;
    for ((place, follow), mut lines) in followers.iter().zip(lines) {
        lines.retain(|line| line != "n@1: says frag");
        assert_eq!(lines, log[*place..], "joined behind event {place}");
        let end = RunEnd::Failed { code: "Exception".into(), message: "broken".into() };
        assert_eq!(follow.status(), FollowStatus::Ended(end));
    }
}

#[tokio::test]
async fn a_follower_that_stalls_continues_from_the_store_and_blocks_no_run() {
    let (script, runner) = scripted_runner(sessions());
    let run = runner.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    let mut slow = runner.follow("s1", None).await.unwrap();
    // Far more events than a follower may lag behind.
    for turn in 0..1000 {
        script.fragment("frag").await;
        script.say(&format!("{turn}")).await;
        if turn == 500 {
            assert_eq!(take(&mut slow, 11).await[10], "n@1: says 9");
        }
    }
    script.end("done");
    run.await.unwrap();
    let mut expected: Vec<String> = (10..1000).map(|turn| format!("n@1: says {turn}")).collect();
    expected.push("n@1: \"done\"".into());
    // Fragments of events that the follower has read from the store are not shown afterwards.
    assert_eq!(rest(&mut slow).await, expected);
}

/// Events that are stored while the log is read are neither lost nor shown twice, and no fragment comes after its event.
#[tokio::test]
async fn events_stored_while_a_follower_reads_the_log_come_once() {
    for gate in ["before", "after"] {
        for end_meanwhile in [false, true] {
            let sessions = Gated::new();
            let (script, runner) = scripted_runner(sessions.clone());
            let run = runner.run("ana", "s1", "go").detach();
            script.say("one").await;
            let gate = if gate == "before" { &sessions.before } else { &sessions.after };
            let held = gate.acquire().await.unwrap();
            let joining = tokio::spawn({
                let runner = runner.clone();
                async move { runner.follow("s1", None).await.unwrap() }
            });
            tokio::task::yield_now().await;
            script.fragment("tw").await;
            script.say("two").await;
            script.fragment("thr").await;
            if end_meanwhile {
                script.end("done");
                run.await.unwrap();
            }
            drop(held);
            let mut follow = joining.await.unwrap();
            if !end_meanwhile {
                script.end("done");
            }
            let mut lines = rest(&mut follow).await;
            // If the log was read before "two" was stored, "two" comes from the run. If it was read after that, "two"
            // comes from the store, and its fragment is outdated.
            let is_live = Arc::ptr_eq(gate, &sessions.after);
            assert_eq!(lines.iter().any(|line| line.ends_with(" tw")), is_live, "{lines:?}");
            // If the run continues, the event of this fragment is not stored yet.
            let fresh = lines.iter().any(|line| line.ends_with(" thr"));
            assert_eq!(fresh, is_live || !end_meanwhile, "{lines:?}");
            lines.retain(|line| !line.ends_with(" tw") && !line.ends_with(" thr"));
            assert_eq!(lines, [": says go", "n@1: says one", "n@1: says two", "n@1: \"done\""]);
            assert_eq!(follow.status(), FollowStatus::Ended(RunEnd::Done));
        }
    }
}

/// A follower waits for a run that has not created its session yet, even if only the session's id is known.
#[tokio::test]
async fn a_run_that_is_about_to_begin_is_waited_for() {
    let sessions = Gated::new();
    let (script, runner) = scripted_runner(sessions.clone());
    let held = sessions.before.acquire().await.unwrap();
    let run = runner.run("ana", "s1", "go").detach();
    let joining = tokio::spawn({
        let runner = runner.clone();
        async move { runner.follow("s1", None).await.unwrap() }
    });
    tokio::task::yield_now().await;
    drop(held);
    script.end("done");
    assert_eq!(rest(&mut joining.await.unwrap()).await, [": says go", "n@1: \"done\""]);
    run.await.unwrap();
}

#[tokio::test]
async fn sessions_that_cannot_be_followed_are_named() {
    let (runner, _) = runner(FunctionNode::new("n", async || 1));
    let fails = async |session: (&str, &str), after: Option<&str>| {
        let error = runner.follow(session, after.map(EventId::from)).await.unwrap_err();
        format!("{}: {}", error.code(), error.message())
    };
    assert_eq!(fails(("ana", "s1"), None).await, "SessionNotFoundError: session not found: t/ana/s1");
    trace(runner.run("ana", "s1", "go")).await;
    let unknown = "EventNotFoundError: session t/ana/s1 has no event 'e9': take the id from one of its stored events";
    assert_eq!(fails(("ana", "s1"), Some("e9")).await, unknown);
    assert_eq!(
        fails(("ana", " "), None).await,
        "ValueError: the session id must not be blank: use at least one visible character"
    );
    let error = runner.follow("s9", None).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "app 't' has no session with the id 's9': check the id, or run `(user, session)` to create one"
    );
}

#[tokio::test]
async fn another_process_shows_the_events_stored_so_far() {
    let shared = sessions();
    let (script, here) = scripted_runner(Arc::clone(&shared));
    let (_, elsewhere) = scripted_runner(shared);
    let run = here.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    script.say("one").await;
    let mut follow = elsewhere.follow("s1", None).await.unwrap();
    assert_eq!(rest(&mut follow).await, [": says go", "n@1: says one"]);
    assert_eq!(follow.status(), FollowStatus::NotHere);
    let last = ids(&here).await.pop();
    script.say("two").await;
    let mut follow = elsewhere.follow("s1", last).await.unwrap();
    assert_eq!(rest(&mut follow).await, ["n@1: says two"]);
    script.end("done");
    run.await.unwrap();
}

#[tokio::test]
async fn nobody_who_leaves_stops_a_detached_run() {
    let shared = sessions();
    let (script, runner) = scripted_runner(Arc::clone(&shared));
    let mut run = runner.run("ana", "s1", "go");
    script.later("one");
    run.next().await.unwrap().unwrap();
    drop(run.detach());
    let mut watcher = runner.follow("s1", None).await.unwrap();
    assert_eq!(watcher.status(), FollowStatus::Running);
    assert_eq!(take(&mut watcher, 2).await, [": says go", "n@1: says one"]);
    let mut leaver = runner.follow("s1", None).await.unwrap();
    take(&mut leaver, 1).await;
    drop(leaver);
    script.end("done");
    assert_eq!(rest(&mut watcher).await, ["n@1: \"done\""]);
    assert_eq!(stored(&shared).await, ["n@1: says one", "n@1: \"done\""]);
}

#[tokio::test]
async fn a_run_with_a_reader_can_be_followed_as_well() {
    let (script, runner) = scripted_runner(sessions());
    let mut run = runner.run("ana", "s1", "go");
    script.later("one");
    run.next().await.unwrap().unwrap();
    let mut follow = runner.follow("s1", None).await.unwrap();
    assert_eq!(take(&mut follow, 2).await, [": says go", "n@1: says one"]);
    drop(run);
    assert_eq!(rest(&mut follow).await, [] as [&str; 0]);
    assert_eq!(follow.status(), FollowStatus::Ended(RunEnd::Cut));
}

#[tokio::test]
async fn the_handle_follows_its_own_run_also_when_another_one_has_begun() {
    let (script, runner) = scripted_runner(sessions());
    let mut first = runner.run("ana", "s1", "go").detach();
    script.say("one").await;
    script.end("done");
    (&mut first).await.unwrap();
    let second = runner.run("ana", "s1", "more").detach();
    second.invocation_id().await.unwrap();
    let mut follow = first.follow(None).await.unwrap();
    assert_eq!(rest(&mut follow).await, [": says go", "n@1: says one", "n@1: \"done\"", ": says more"]);
    assert_eq!(follow.status(), FollowStatus::Ended(RunEnd::Done));
    let mut follow = second.follow(ids(&runner).await.pop()).await.unwrap();
    script.end("done");
    assert_eq!(rest(&mut follow).await, ["n@1: \"done\""]);
}

#[tokio::test]
async fn a_detached_run_that_never_began_returns_the_reason() {
    let (_, runner) = scripted_runner(sessions());
    let run = runner.resume("ana", "s1", "e-7").detach();
    let error = run.invocation_id().await.unwrap_err();
    assert!(matches!(&error, RunError::Followed { .. }), "{error:?}");
    assert_eq!((error.code(), error.message().as_str()), ("SessionNotFoundError", "session not found: t/ana/s1"));
    let error = run.follow(None).await.unwrap_err();
    assert_eq!(error.code(), "SessionNotFoundError");
    assert!(matches!(run.await.unwrap_err(), RunError::SessionNotFound(found) if found == key()));
}

#[tokio::test]
async fn r1130_a_detached_run_is_aborted_and_sealed_by_its_handle() {
    let shared = sessions();
    let (script, runner) = scripted_runner(Arc::clone(&shared));
    let mut run = runner.run("ana", "s1", "go").detach();
    script.say("one").await;
    let mut follow = run.follow(None).await.unwrap();
    run.abort();
    let seal = ": INVOCATION_ABORTED: Invocation was aborted by client.";
    assert_eq!(rest(&mut follow).await, [": says go", "n@1: says one", seal]);
    (&mut run).await.unwrap();
    assert_eq!(run.end(), Some(RunEnd::Aborted));
    assert_eq!(stored(&shared).await, ["n@1: says one", seal]);
    let run = runner.run("ana", "s1", "go").detach();
    run.abort();
    assert!(matches!(run.output::<String>().await.unwrap_err(), RunError::Aborted));
}

#[tokio::test]
async fn r1025_a_detached_run_that_was_cut_off_is_resumed_by_its_invocation() {
    let (script, node) = scripted();
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async || 1);
    let second = wf.add(node);
    wf.edge(START, first).edge(first, second);
    let (runner, sessions) = runner(wf.build_to(second).unwrap());
    let mut run = runner.run("ana", "s1", "go").detach();
    script.fragment("there").await;
    let invocation = run.invocation_id().await.unwrap();
    run.cut();
    (&mut run).await.unwrap();
    assert_eq!((run.end(), stored(&sessions).await), (Some(RunEnd::Cut), vec!["wf@1/first@1: 1".to_owned()]));
    script.end("done");
    let output = runner.resume("ana", "s1", invocation).output::<String>().await.unwrap();
    assert_eq!((output.as_str(), stored(&sessions).await.len()), ("done", 2));
}

#[tokio::test]
async fn a_question_ends_a_detached_run_as_waiting_and_its_answer_can_be_detached_as_well() {
    let (runner, _) = runner(FunctionNode::new("n", async || RequestInput::<String>::ask("q1", "Fine?")));
    let mut run = runner.run("ana", "s1", "go").detach();
    let mut follow = run.follow(None).await.unwrap();
    let lines = rest(&mut follow).await;
    assert_eq!(lines, [": says go", "n@1: asks q1"]);
    (&mut run).await.unwrap();
    assert_eq!(run.end(), Some(RunEnd::Waiting));
    assert!(matches!(run.output::<String>().await, Err(RunError::Waiting(open)) if open[0].id == "q1"));
    let answered = runner.answer("s1", "q1", "yes").unwrap().detach();
    assert_eq!(answered.output::<String>().await.unwrap(), "yes");
}

#[tokio::test]
async fn sessions_with_the_same_id_are_distinguished_by_their_users() {
    let (script, runner) = scripted_runner(sessions());
    let ana = runner.run("ana", "s1", "for ana").detach();
    let bob = runner.run("bob", "s1", "for bob").detach();
    let error = runner.follow("s1", None).await.unwrap_err();
    assert!(matches!(error, RunError::AmbiguousSession { .. }), "{error:?}");
    let mut follow = runner.follow(("bob", "s1"), None).await.unwrap();
    assert_eq!(follow.invocation_id(), Some(bob.invocation_id().await.unwrap()));
    script.end("done");
    script.end("done");
    assert_eq!(rest(&mut follow).await, [": says for bob", "n@1: \"done\""]);
    ana.await.unwrap();
}

#[tokio::test]
async fn the_log_of_a_session_of_other_programs_is_followed_by_place_and_not_by_time() {
    use pleach::{CreateSession, SessionServiceExt};
    let shared = sessions();
    let (script, runner) = scripted_runner(Arc::clone(&shared));
    let create = CreateSession::new("t", "ana").with_session_id("s1").with_create_time(1.0);
    let mut session = shared.create_session(create).await.unwrap();
    for (id, time) in [("a", 9e9), ("b", 5e9), ("c", 6e9)] {
        let mut event = Event::message(id).with_author("other");
        event.set_id(id);
        event.set_timestamp(time);
        shared.append_event(&mut session, event).await.unwrap();
    }
    let run = runner.start(RunRequest::new(("ana", "s1")).message("go")).detach();
    run.invocation_id().await.unwrap();
    let mut follow = runner.follow(("ana", "s1"), Some("a".into())).await.unwrap();
    script.fragment("fr").await;
    script.say("one").await;
    script.end("done");
    let lines = [": says b", ": says c", ": says go", "n@1: says fr", "n@1: says one", "n@1: \"done\""];
    assert_eq!(rest(&mut follow).await, lines);
}

/// Only positions in the log decide what a follower sees.
#[tokio::test]
async fn an_event_with_a_far_future_time_hides_no_later_event() {
    use pleach::{CreateSession, SessionServiceExt};
    let shared = sessions();
    let (script, runner) = scripted_runner(Arc::clone(&shared));
    let create = CreateSession::new("t", "ana").with_session_id("s1").with_create_time(1.0);
    let mut session = shared.create_session(create).await.unwrap();
    let mut append = async |id: &str, time: f64| {
        let mut event = Event::message(id).with_author("other");
        event.set_id(id);
        event.set_timestamp(time);
        shared.append_event(&mut session, event).await.unwrap();
    };
    append("future", 9e10).await;
    append("now", 5e9).await;
    let run = runner.start(RunRequest::new(("ana", "s1")).message("go")).detach();
    run.invocation_id().await.unwrap();
    let mut all = runner.follow("s1", None).await.unwrap();
    let mut behind = runner.follow("s1", Some("future".into())).await.unwrap();
    script.fragment("fr").await;
    script.say("one").await;
    script.end("done");
    let live = [": says go", "n@1: says fr", "n@1: says one", "n@1: \"done\""];
    assert_eq!(rest(&mut all).await, [&[": says future", ": says now"], &live[..]].concat());
    assert_eq!(rest(&mut behind).await, [&[": says now"], &live[..]].concat());
}

#[tokio::test]
async fn a_follower_far_behind_misses_no_event_because_of_times() {
    let root = FunctionNode::new("n", async |ctx: Context| -> Result<i64> {
        for number in 0..600 {
            let mut event = Event::message(number.to_string());
            event.set_timestamp(if number == 3 { 9e10 } else { 0.0 });
            ctx.emit(event).await?;
        }
        Ok(1)
    });
    let (runner, _) = runner(root);
    let run = runner.run("ana", "s1", "go").detach();
    let mut follow = run.follow(None).await.unwrap();
    run.await.unwrap();
    assert_eq!(rest(&mut follow).await.len(), 602);
}

#[tokio::test]
async fn a_follower_continues_across_pauses() {
    let root = || {
        let mut wf = Workflow::builder("wf");
        let ask = wf.node("ask", async || RequestInput::<String>::ask("q1", "Fine?"));
        let last = wf.node("last", async |Input(given): Input<String>| given);
        wf.edge(START, ask).edge(ask, last);
        wf.build_to(last).unwrap()
    };
    let (here, shared) = runner(root());
    let elsewhere = Runner::builder("t").root(root()).sessions(Arc::clone(&shared)).build().unwrap();
    let options = pleach::FollowOptions::new().across_pauses(true);
    trace(here.run("ana", "s1", "go")).await;
    let mut follow = here.follow_with("s1", options.clone()).await.unwrap();
    assert_eq!(take(&mut follow, 2).await, [": says go", "wf@1/ask@1: asks q1"]);
    // The run begins and ends before the follower is polled again.
    assert_eq!(here.answer("s1", "q1", "yes").unwrap().output::<String>().await.unwrap(), "yes");
    let lines = rest(&mut follow).await;
    assert_eq!((lines.len(), lines[1].as_str()), (2, "wf@1/last@1: \"yes\""), "{lines:?}");
    assert_eq!(follow.status(), FollowStatus::Ended(RunEnd::Done));
    // Another process answers.
    let last = ids(&here).await.pop();
    trace(here.run("ana", "s1", "more")).await;
    let mut follow = here.follow_with("s1", options.after(last)).await.unwrap();
    assert_eq!(take(&mut follow, 2).await, [": says more", "wf@1/ask@1: asks q1"]);
    elsewhere.answer("s1", "q1", "no").unwrap().output::<String>().await.unwrap();
    assert_eq!(take(&mut follow, 2).await[1], "wf@1/last@1: \"no\"");
    // Without the option the follower ends at the pause.
    assert_eq!(rest(&mut here.follow("s1", None).await.unwrap()).await.len(), 8);
}

/// A refused request has run nothing, so only its caller gets the error.
#[tokio::test]
async fn a_refused_request_does_not_end_the_followers_of_its_session() {
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<bool>::ask("q1", "Fine?"));
    let last = wf.node("last", async |Input(given): Input<bool>| given);
    wf.edge(START, ask).edge(ask, last);
    let (runner, _) = runner(wf.build_to(last).unwrap());
    let options = pleach::FollowOptions::new().across_pauses(true);
    let request = |message: &str| RunRequest::new(("ana", "s1")).message(message).invocation_id("i1");
    trace(runner.start(request("go"))).await;
    let mut follow = runner.follow_with("s1", options.clone()).await.unwrap();
    assert_eq!(take(&mut follow, 2).await, [": says go", "wf@1/ask@1: asks q1"]);

    let misfit = runner.answer("s1", "q1", "perhaps").unwrap().detach().await;
    assert!(matches!(misfit, Err(RunError::Answer { .. })), "{misfit:?}");
    let unknown = runner.answer("s1", "q9", true).unwrap().detach().await;
    assert!(matches!(unknown, Err(RunError::UnknownQuestion { .. })), "{unknown:?}");
    let other = runner.start(request("another message")).detach().await;
    assert!(matches!(other, Err(RunError::OtherMessage { .. })), "{other:?}");
    assert!(futures::poll!(std::pin::pin!(follow.next())).is_pending());
    assert_eq!(follow.status(), FollowStatus::NotHere);

    assert!(runner.answer("s1", "q1", true).unwrap().output::<bool>().await.unwrap());
    let lines = rest(&mut follow).await;
    assert_eq!((lines.len(), lines[1].as_str()), (2, "wf@1/last@1: true"), "{lines:?}");

    // Neither a late answer nor a message that was stored before ends followers.
    let mut follow = runner.follow_with("s1", options.after(ids(&runner).await.pop())).await.unwrap();
    let late = runner.answer("s1", "q1", false).unwrap().detach().await;
    assert!(matches!(late, Err(RunError::AlreadyAnswered { .. })), "{late:?}");
    runner.start(request("go")).detach().await.unwrap();
    assert!(futures::poll!(std::pin::pin!(follow.next())).is_pending());
    assert_eq!(follow.status(), FollowStatus::NotHere);
}

/// Two processes resume, and one of them loses the session before it has stored anything. This must not end the
/// followers in that process.
#[tokio::test]
async fn a_resume_that_another_process_was_before_does_not_end_the_followers() {
    let root = || {
        let mut wf = Workflow::builder("wf");
        let first = wf.node("first", async || 1);
        let work = wf.node("work", async || {
            tokio::task::yield_now().await;
            2
        });
        wf.edge(START, first).edge(first, work);
        wf.build_to(work).unwrap()
    };
    let (here, shared) = runner(root());
    let there = Runner::builder("t").root(root()).sessions(Arc::clone(&shared)).build().unwrap();
    let mut run = here.run("ana", "s1", "go");
    let invocation = run.next().await.unwrap().unwrap().invocation_id().clone();
    drop(run);
    let mut follow = here.follow_with("s1", pleach::FollowOptions::new().across_pauses(true)).await.unwrap();
    assert_eq!(take(&mut follow, 2).await.len(), 2);
    // Both processes have loaded the session before one of them claims it.
    let ends = futures::future::join(
        here.resume("ana", "s1", invocation.clone()).output::<i64>(),
        there.resume("ana", "s1", invocation).output::<i64>(),
    );
    let (lost, won) = ends.await;
    assert_eq!(won.unwrap(), 2);
    assert!(matches!(lost, Err(RunError::Session(_))), "{lost:?}");
    assert_eq!(take(&mut follow, 1).await, ["wf@1/work@1: 2"]);
}

/// A follower that starts while a run is being opened sees the events of the run.
#[tokio::test]
async fn a_run_that_is_being_opened_is_followed() {
    let (script, runner) = scripted_runner(sessions());
    let mut run = runner.run("ana", "s1", "go");
    assert!(futures::poll!(std::pin::pin!(run.next())).is_pending());
    let gated = runner.run("ana", "s1", "refused");
    drop(gated);
    let mut follow = runner.follow("s1", None).await.unwrap();
    script.later("one");
    script.end("done");
    let (lines, events) = futures::join!(rest(&mut follow), trace(run));
    assert_eq!((lines.len(), events.len()), (3, 2), "{lines:?}");
}

#[tokio::test]
async fn followers_who_ask_for_checkpoints_and_echoes_see_them() {
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async || 1);
    let ask = wf.node("ask", async || RequestInput::<String>::ask("q1", "Fine?"));
    let last = wf.node("last", async |Input(given): Input<String>| given);
    wf.edge(START, first).edge(first, ask.dynamic()).edge(ask, last);
    let shared = sessions();
    let builder = Runner::builder("t").root(wf.build_to(last).unwrap()).sessions(Arc::clone(&shared)).resumable(true);
    let runner = builder.build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.answer("s1", "q1", "yes").unwrap()).await;
    let lines = async |checkpoints: bool, echoes: bool| {
        let options = pleach::FollowOptions::new().checkpoints(checkpoints).echoes(echoes);
        rest(&mut runner.follow_with("s1", options).await.unwrap()).await
    };
    let plain = lines(false, false).await;
    assert_eq!(plain.len(), 5, "{plain:?}");
    assert_eq!((plain[1].as_str(), plain[4].as_str()), ("wf@1/first@1: 1", "wf@1/last@1: \"yes\""));
    let echoed = lines(false, true).await;
    assert_eq!(echoed.iter().filter(|line| *line == "wf@1/first@1: 1").count(), 2, "{echoed:?}");
    let all = lines(true, true).await;
    assert_eq!(all.len(), ids(&runner).await.len());
    assert_eq!(lines(true, false).await.len() - plain.len(), all.len() - echoed.len());
}

/// A database returns events by their times. The order of the appends decides which events came after another one.
#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_client_that_saw_an_event_with_a_far_future_time_gets_the_later_events() {
    use pleach::{CreateSession, SessionServiceExt, SqliteLayout, SqliteOptions, SqliteSessionService};
    for layout in [SqliteLayout::Lite, SqliteLayout::V1] {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new().with_layout(layout);
        let shared = SqliteSessionService::open_with(folder.path().join("s.db"), options).await.unwrap();
        let create = CreateSession::new("t", "ana").with_session_id("s1").with_create_time(1.0);
        let mut session = shared.create_session(create).await.unwrap();
        for (id, time) in [("a", 5e9), ("future", 9e10), ("b", 6e9), ("c", 6e9)] {
            let mut event = Event::message(id).with_author("other");
            event.set_id(id);
            event.set_timestamp(time);
            shared.append_event(&mut session, event).await.unwrap();
        }
        let (_, runner) = scripted_runner(shared);
        let behind = async |id: &str| rest(&mut runner.follow("s1", Some(id.into())).await.unwrap()).await;
        assert_eq!(behind("future").await, [": says b", ": says c"]);
        assert_eq!(behind("a").await, [": says future", ": says b", ": says c"]);
        assert_eq!(behind("b").await, [": says c"]);
        assert_eq!(behind("c").await, [] as [&str; 0]);
    }
}

/// A replay reads the events in the order in which the store returns them, so every layout must keep the order of the
/// run.
#[cfg(feature = "sqlite")]
#[tokio::test]
async fn events_after_a_far_future_time_are_loaded_in_the_order_of_the_run() {
    use pleach::{CreateSession, SessionServiceExt, SqliteLayout, SqliteOptions, SqliteSessionService};
    let root = || {
        FunctionNode::new("n", async |ctx: Context| -> Result<i64> {
            for number in 0..40 {
                let mut event = Event::message(number.to_string());
                event.set_timestamp(if number == 3 { 9e10 } else { 0.0 });
                ctx.emit(event).await?;
            }
            Ok(1)
        })
    };
    for (layout, stored) in [
        (SqliteLayout::Lite, None),
        (SqliteLayout::V1, None),
        (SqliteLayout::Lite, Some(9e10)),
        (SqliteLayout::V1, Some(9e10)),
        (SqliteLayout::V1, Some(253_402_300_000.0)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new().with_layout(layout);
        let shared = SqliteSessionService::open_with(folder.path().join("s.db"), options).await.unwrap();
        let create = CreateSession::new("t", "ana").with_session_id("s1").with_create_time(1.0);
        let mut session = shared.create_session(create).await.unwrap();
        if let Some(time) = stored {
            let mut event = Event::message("far").with_author("other");
            event.set_timestamp(time);
            shared.append_event(&mut session, event).await.unwrap();
        }
        let runner = Runner::builder("t").root(root()).sessions(shared).build().unwrap();
        let mut run = runner.run("ana", "s1", "go");
        let mut shown = Vec::new();
        while let Some(event) = run.next().await {
            shown.push(event.unwrap().id().clone());
        }
        let loaded = ids(&runner).await;
        assert!(loaded.ends_with(&shown), "{layout:?} {stored:?}: {loaded:?} {shown:?}");
    }
}

/// A run that was cut off must be resumed; sending its message again is not enough.
#[tokio::test]
async fn the_error_of_a_run_that_was_cut_off_names_the_remedy() {
    let (script, runner) = scripted_runner(sessions());
    let first = runner.run("ana", "s1", "go").detach();
    let invocation = first.invocation_id().await.unwrap();
    script.fragment("there").await;
    first.cut();
    let error = first.output::<String>().await.unwrap_err();
    assert!(matches!(&error, RunError::Cut { invocation: Some(id) } if *id == invocation), "{error:?}");
    let text = format!("the run of invocation {invocation} was cut off before it ended: resume the invocation");
    assert_eq!((error.to_string(), error.code()), (text, "INVOCATION_CUT"));
    let drained = runner.resume("ana", "s1", invocation.clone()).detach();
    drained.invocation_id().await.unwrap();
    script.fragment("there").await;
    runner.drain(std::time::Duration::ZERO).await;
    let error = drained.output::<String>().await.unwrap_err();
    assert!(matches!(&error, RunError::Cut { invocation: Some(id) } if *id == invocation), "{error:?}");
}
