//! Hostile input: no code panics, every refusal is a typed error, and no write is incomplete.

use std::path::Path;
use std::sync::Arc;

use pleach::prelude::*;
use pleach::{
    AddEvents, ArtifactScope, ArtifactService, Branch, Content, CreateSession, FileArtifactService, GetSessionConfig,
    InMemoryMemoryService, InMemorySessionService, MemoryService, NodePath, Part, SaveArtifact, SearchMemory,
    SessionError, SessionKey, SessionService, SessionServiceExt as _, SqliteMemoryService, SystemClock, connect,
};
use pleach_tests::dice::{Dice, steps};
use serde_json::{Value, json};

use crate::database::Backend;

const SEED: u64 = 11;

/// Texts that have caused faults in parsers or file systems.
const TEXTS: [&str; 26] = [
    "",
    " ",
    "user",
    "a",
    "../..",
    "/etc/x",
    "C:\\x",
    "..",
    ".",
    "a/../../b",
    "\0",
    "a\0b",
    "@1",
    "wf@1/n@2",
    "wf@99999999999999999999/x@",
    "//",
    "user:",
    "user:../x",
    "app:k",
    "temp:k",
    "%00%2e%2e",
    "\u{202e}\u{feff}",
    "\u{1f600}",
    "-1",
    "1e400",
    "artifact://apps/a/../../x",
];

fn text(dice: &mut Dice) -> String {
    match dice.below(6) {
        0 => TEXTS.iter().filter(|_| dice.below(4) == 0).copied().collect(),
        1 => dice.one_of(&TEXTS).repeat(1 + dice.below(300)),
        2 => (0..dice.below(40)).filter_map(|_| char::from_u32(dice.below(0x11_0000) as u32)).collect(),
        _ => (*dice.one_of(&TEXTS)).to_owned(),
    }
}

fn scalar(dice: &mut Dice) -> Value {
    match dice.below(7) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(*dice.one_of(&[0, -1, i64::MAX, i64::MIN])),
        3 => json!(*dice.one_of(&[1e300, -0.5, 1e-300])),
        4 => json!([]),
        5 => json!({}),
        _ => text(dice).into(),
    }
}

/// Changes a part of a value: replaces, removes, renames or nests it.
fn mutate(dice: &mut Dice, value: &mut Value) {
    match value {
        Value::Object(map) if !map.is_empty() && dice.below(5) > 0 => {
            let key = map.keys().nth(dice.below(map.len())).unwrap().clone();
            match dice.below(8) {
                0 => drop(map.remove(&key)),
                1 => {
                    let moved = map.remove(&key).unwrap();
                    map.insert(text(dice), moved);
                }
                _ => mutate(dice, map.get_mut(&key).unwrap()),
            }
        }
        Value::Array(items) if !items.is_empty() && dice.below(5) > 0 => {
            let at = dice.below(items.len());
            match dice.below(8) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => mutate(dice, &mut items[at]),
            }
        }
        other => {
            *other = match dice.below(4) {
                0 => (0..dice.below(140)).fold(scalar(dice), |inner, _| json!([inner])),
                1 => (0..dice.below(140)).fold(scalar(dice), |inner, _| json!({ "a": inner })),
                _ => scalar(dice),
            };
        }
    }
}

fn mutated(dice: &mut Dice, base: &Value) -> Value {
    let mut value = base.clone();
    (0..=dice.below(4)).for_each(|_| mutate(dice, &mut value));
    value
}

fn an_event() -> Value {
    json!({
        "id": "e1", "author": "node", "invocation_id": "i", "branch": "a.b", "output": {"k": [1, "x"]}, "partial": false,
        "content": {"role": "model", "parts": [
            {"text": "t"},
            {"function_call": {"id": "q", "name": "adk_request_input", "args": {"message": "m", "response_schema": {"type": "integer"}}}},
            {"function_response": {"id": "q", "name": "f", "response": {"result": 1}}},
            {"inline_data": {"data": "AAAA", "mime_type": "text/plain"}},
        ]},
        "actions": {
            "state_delta": {"k": 1, "user:k": [1], "app:k": {"a": 1}, "temp:k": 2}, "artifact_delta": {"f": 1}, "route": "r",
            "requested_tool_confirmations": {"q": {"hint": "h", "confirmed": false}}, "rewind_before_invocation_id": "i",
            "render_ui_widgets": [{"id": "w", "provider": "p", "payload": {}}], "agent_state": {"nodes": {}}, "end_of_agent": true,
        },
        "long_running_tool_ids": ["q"], "custom_metadata": {"pleach_completed_runs": ["wf@1/n@1"], "x": {}},
        "node_info": {"path": "wf@1/n@1", "output_for": ["wf@1/n@1"]}, "error_code": "E", "timestamp": 1.5,
    })
}

/// Reads mutated events and stores the events that can be read.
async fn store_events(service: &dyn SessionService, steps: usize) {
    let mut dice = Dice::of_environment(SEED);
    let mut session = service.create_session(CreateSession::new("t", "ana").with_session_id("s1")).await.unwrap();
    let (mut stored, mut refused) = (0, 0);
    for step in 0..steps {
        let Ok(mut event) = serde_json::from_value::<Event>(mutated(&mut dice, &an_event())) else { continue };
        if dice.below(20) > 0 {
            // The event gets a new id. Otherwise most events would be refused because an earlier event has the same id.
            event.set_id(format!("e{step}"));
        }
        // If an event can be read, it can also be shown and searched for questions.
        let _ = (
            format!("{event:?}"),
            event.questions(),
            event.interrupt_ids().len(),
            event.is_final_response(),
            event.text(),
        );
        let before = session.clone();
        match service.append_event(&mut session, event).await {
            Ok(_) => stored += 1,
            Err(error) => {
                assert!(
                    !matches!(error, SessionError::Storage { .. } | SessionError::Corrupt { .. }),
                    "step {step}: {error}"
                );
                assert_eq!(session, before, "step {step}");
                refused += 1;
            }
        }
        if step % 64 == 0 {
            let loaded = service.get_session(session.key(), GetSessionConfig::all()).await.unwrap().unwrap();
            assert_eq!(loaded.events.len(), session.events.len(), "step {step}");
            session = loaded;
        }
    }
    assert!(steps < 200 || (stored > 0 && refused > 0), "{stored} stored, {refused} refused");
    // The inbox can be listed, even after such events.
    service.list_questions(pleach::ListQuestions::new("t")).await.unwrap();
}

#[tokio::test]
async fn hostile_events_are_stored_whole_or_refused_by_a_typed_error() {
    store_events(&InMemorySessionService::new(), steps(2_000)).await;
    for backend in [Backend::SqliteLite, Backend::SqliteV1, Backend::Postgres] {
        let Some(database) = backend.database().await else { continue };
        store_events(&*database.open().await, steps(400)).await;
    }
}

#[derive(Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Reply {
    amount: u8,
    note: Option<String>,
    lines: Vec<(i32, bool)>,
}

/// Answers are mutated. In every other session the history is mutated as well.
#[tokio::test]
async fn hostile_histories_and_answers_end_in_a_typed_error_or_a_run() {
    let mut dice = Dice::of_environment(SEED);
    let sessions = Arc::new(InMemorySessionService::new());
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<Reply>::ask("q", "m"));
    let then = wf.node("then", async |Input(reply): Input<Reply>| reply.amount);
    wf.edge(START, ask).edge(ask, then);
    let wf = wf.build_to(then).unwrap();
    let runner = Runner::builder("t").root(wf).sessions(Arc::clone(&sessions)).build().unwrap();
    let answer = json!({"amount": 7, "note": "n", "lines": [[1, true]]});
    let (mut done, mut refused) = (0, 0);
    let total = steps(600);
    for step in 0..total {
        let id = format!("s{step}");
        let waiting = runner.run("ana", id.as_str(), "go").output::<u8>().await;
        assert!(matches!(waiting, Err(RunError::Waiting(_))), "{waiting:?}");
        let key = SessionKey::new("t", "ana", id.as_str());
        let is_foreign = dice.below(2) == 0;
        if is_foreign {
            // Another writer appends to the session.
            let mut session = sessions.get_session(&key, GetSessionConfig::all()).await.unwrap().unwrap();
            let invocation = session.events[0].invocation_id().clone();
            if let Ok(mut event) = serde_json::from_value::<Event>(mutated(&mut dice, &an_event())) {
                event.set_invocation_id(invocation);
                event.clear_timestamp();
                let _ = sessions.append_event(&mut session, event).await;
            }
        }
        let _ = runner.questions(("ana", id.as_str())).await;
        let before = sessions.get_session(&key, GetSessionConfig::all()).await.unwrap().unwrap().events.len();
        let question = if dice.below(4) == 0 { text(&mut dice) } else { "q".to_owned() };
        let given = mutated(&mut dice, &answer);
        let outcome = match runner.answer(("ana", id.as_str()), question.as_str(), given) {
            Ok(run) => run.output::<u8>().await,
            Err(error) => Err(error),
        };
        let after = sessions.get_session(&key, GetSessionConfig::all()).await.unwrap().unwrap().events.len();
        match outcome {
            Ok(_) => done += 1,
            Err(RunError::Answer { .. } | RunError::UnknownQuestion { .. }) => {
                assert_eq!(after, before, "step {step}: a refused answer stored something");
                refused += 1;
            }
            // The run of a stored answer must end well, unless another writer has written.
            Err(error) => assert!(is_foreign || after == before, "step {step}: {error}"),
        }
        if after == before && !is_foreign {
            // Nothing was stored, so the question is still open.
            let output = runner.answer(("ana", id.as_str()), "q", answer.clone()).unwrap().output::<u8>().await;
            assert_eq!(output.unwrap(), 7, "step {step}");
        }
    }
    assert!(total < 100 || (done > 0 && refused > 0), "{done} answered, {refused} refused");
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn hostile_artifact_names_stay_below_their_root() {
    let mut dice = Dice::of_environment(SEED);
    let folder = tempfile::tempdir().unwrap();
    let outer = folder.path().join("outer");
    let root = outer.join("root");
    std::fs::create_dir_all(&root).unwrap();
    let service = FileArtifactService::open(&root, Arc::new(SystemClock)).await.unwrap();
    let mut saved = 0;
    for step in 0..steps(600) {
        let [app, user, session] = [(); 3].map(|()| if dice.below(3) == 0 { text(&mut dice) } else { "a".to_owned() });
        let user_scope = ArtifactScope::user(app.as_str(), user.as_str());
        let scope = match dice.below(3) {
            0 => user_scope.clone(),
            _ => ArtifactScope::session(&SessionKey::new(app, user, session)),
        };
        let key = scope.artifact(text(&mut dice));
        let content = format!("content {step}");
        if service.save_artifact(SaveArtifact::new(key.clone(), Part::text(content.as_str()))).await.is_ok() {
            saved += 1;
            let loaded = service.load_artifact(&key, None).await.unwrap().unwrap();
            assert_eq!(loaded.text.as_deref(), Some(content.as_str()), "{key:?}");
            // Names with `user:` do not use the session of their scope, so the session id is not checked.
            let listed = if key.filename.starts_with("user:") { user_scope } else { scope };
            assert!(!service.list_artifact_keys(&listed).await.unwrap().is_empty(), "{key:?}");
        }
        if dice.below(4) == 0 {
            let _ = service.delete_artifact(&key).await;
        }
        assert_eq!(
            (entries(folder.path()), entries(&outer)),
            (vec!["outer".to_owned()], vec!["root".to_owned()]),
            "{key:?}"
        );
    }
    assert!(saved > 0);
}

async fn search(service: &dyn MemoryService, steps: usize) {
    let mut dice = Dice::of_environment(SEED);
    for _ in 0..steps {
        let event = Arc::new(Event::message(Content::user(text(&mut dice))));
        let _ = service.add_events_to_memory(AddEvents::new("t", "ana", vec![event])).await;
        let query = if dice.below(3) == 0 { "\" OR (NEAR* ^a:b -c".to_owned() } else { text(&mut dice) };
        service.search_memory(SearchMemory::new("t", "ana", query)).await.unwrap();
    }
}

#[tokio::test]
async fn hostile_search_texts_find_something_or_nothing() {
    search(&InMemoryMemoryService::new(), steps(300)).await;
    let folder = tempfile::tempdir().unwrap();
    search(&SqliteMemoryService::open(folder.path().join("m.db")).await.unwrap(), steps(300)).await;
}

#[tokio::test]
async fn hostile_urls_and_paths_are_refused_or_read() {
    let mut dice = Dice::of_environment(SEED);
    for _ in 0..steps(2_000) {
        let garbage = text(&mut dice);
        // These URLs never name a file or a server: the scheme has no backend, or SQLite does not know the options.
        let _ = connect(&format!("x{garbage}")).await.unwrap_err().to_string();
        let folder = Path::new("/nonexistent");
        let _ = connect(&format!("sqlite:///{}/x.db?{garbage}", folder.display())).await.unwrap_err().to_string();
        let path = NodePath::from(garbage.as_str());
        let _ = (path.name(), path.run_id(), path.parent(), path.static_path(), path.segments().count(), path.leaf());
        let branch = Branch::from(garbage.as_str());
        let _ = (branch.segments().count(), branch.run_ids().count(), Branch::below(Some(&branch), "x"));
    }
}
