//! Tests of conversations that are written as words.

use pleach_core::{Branch, Content, EventCompaction, FunctionCall, FunctionResponse, Map, NodePath, Part};

use super::super::*;

/// Builds a session from words. Each word is one event and has the form `author:what`. The author `u` is the user, `a`
/// is the agent, and any other author is another agent.
///
/// The word after the colon is a text or a list of parts joined by `+`: `c1` is a call with the id 1, `r1` its
/// response, `~text` a thought, anything else a text. Settings follow after `/`: `b=BRANCH`, `s=SCOPE`, `p=PATH`,
/// `i=INVOCATION`, `l=ID` (long-running), `ask` (requested a confirmation), `to` (transfers), `<INVOCATION`
/// (rewinds), `sum=1-3` (summarises the events from time 1 to 3). The time of an event is its place, from 0.
fn session(words: &str) -> Vec<Arc<Event>> {
    words.split_whitespace().enumerate().map(|(place, word)| Arc::new(event(place, word))).collect()
}

fn event(place: usize, word: &str) -> Event {
    let mut settings = word.split('/');
    let (author, what) = settings.next().and_then(|said| said.split_once(':')).expect("author:what");
    let author = match author {
        "u" => "user",
        "a" => "agent",
        other => other,
    };
    let parts: Vec<Part> = what.split('+').filter(|part| !part.is_empty()).map(part).collect();
    let is_answer = parts.iter().any(|part| part.function_response.is_some());
    let role = if author == "user" || is_answer { "user" } else { "model" };
    let mut event = Event::from_author(author).with_message(Content::new(role, parts));
    event.set_timestamp(place as f64);
    event.set_invocation_id("i");
    settings.for_each(|setting| set(&mut event, setting));
    event
}

fn part(word: &str) -> Part {
    let id = |word: &str, letter| word.strip_prefix(letter).filter(|id| id.parse::<u8>().is_ok()).map(str::to_owned);
    if let Some(id) = id(word, 'c') {
        return Part::function_call(FunctionCall::new(id.clone(), format!("f{id}"), Map::new()));
    }
    if let Some(id) = id(word, 'r') {
        return Part::function_response(FunctionResponse::new(id.clone(), format!("f{id}"), Map::new()));
    }
    match word {
        "c" => Part::function_call(FunctionCall { name: Some("f".into()), ..FunctionCall::default() }),
        "r" => Part::function_response(FunctionResponse { name: Some("f".into()), ..FunctionResponse::default() }),
        "confirm" => Part::function_call(FunctionCall::new("9", "adk_request_confirmation", Map::new())),
        "input" => Part::function_call(FunctionCall::new("8", "adk_request_input", Map::new())),
        "img" => Part::bytes("image/png", vec![1]),
        word => match word.strip_prefix('~') {
            Some(text) => Part { thought: Some(true), ..Part::text(text) },
            None => Part::text(word),
        },
    }
}

fn set(event: &mut Event, setting: &str) {
    match setting.split_once('=') {
        Some(("b", branch)) => event.set_branch(Some(branch.into())),
        Some(("s", scope)) => event.set_isolation_scope(Some(scope.into())),
        Some(("p", path)) => event.set_path(path.replace('|', "/").into()),
        Some(("i", invocation)) => event.set_invocation_id(invocation),
        Some(("sum", span)) => set_span(event, span),
        Some(("l", id)) => event.set_long_running_tool_ids(Some([id.to_owned()].into())),
        Some(_) => panic!("no such setting: {setting}"),
        None => match setting {
            "ask" => {
                event.actions_mut().requested_tool_confirmations_mut().insert("1".to_owned(), Default::default());
            }
            "to" => event.actions_mut().set_transfer_to_agent(Some("x".to_owned())),
            other => {
                let target = other.strip_prefix('<').expect("a setting");
                event.actions_mut().set_rewind_before_invocation_id(Some(target.to_owned()));
            }
        },
    }
}

fn set_span(event: &mut Event, span: &str) {
    let (start, end) = span.split_once('-').expect("start-end");
    let compacted_content = Content::new("model", [Part::text(format!("sum{span}"))]);
    let (start_timestamp, end_timestamp) = (start.parse().unwrap(), end.parse().unwrap());
    event.actions_mut().set_compaction(Some(EventCompaction { start_timestamp, end_timestamp, compacted_content }));
}

/// Writes contents as words: `u:` or `m:`, then the parts. A quotation is `q:`, then the quoted text.
fn words(contents: &[SharedContent]) -> String {
    contents.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn word(content: &SharedContent) -> String {
    let quoted =
        content.parts().first().and_then(|part| part.text.as_ref()).is_some_and(|text| text.starts_with("For context"));
    let skip = usize::from(quoted);
    let role = if quoted {
        "q"
    } else if content.role() == Some("user") {
        "u"
    } else {
        "m"
    };
    let parts: Vec<String> = content.parts().iter().skip(skip).map(part_word).collect();
    format!("{role}:{}", parts.join("+"))
}

fn part_word(part: &Part) -> String {
    if let Some(call) = &part.function_call {
        return format!("c{}", call.id.clone().unwrap_or_default());
    }
    if let Some(response) = &part.function_response {
        return format!("r{}", response.id.clone().unwrap_or_default());
    }
    if part.inline_data.is_some() {
        return "img".to_owned();
    }
    let text = part.text.clone().unwrap_or_default();
    let thought = if part.is_thought() { "~" } else { "" };
    // Only the line between the markers of a quotation is written.
    let line = if text.contains("<<<BEGIN") { text.lines().nth(2).unwrap_or_default().to_owned() } else { text };
    format!("{thought}{line}")
}

static ROOT: std::sync::LazyLock<NodePath> = std::sync::LazyLock::new(NodePath::default);

fn view() -> ConversationView<'static> {
    ConversationView {
        agent: "agent",
        branch: None,
        scope: None,
        path: &ROOT,
        is_single_turn: false,
        part: &[],
        task: None,
        user_content: None,
        thoughts_of_others: false,
        pairs_calls_by_id: false,
    }
}

#[track_caller]
fn check(log: &str, expected: &str) {
    check_as(&view(), log, expected);
}

#[track_caller]
fn check_as(view: &ConversationView<'_>, log: &str, expected: &str) {
    assert_eq!(words(&conversation(&session(log), view)), expected, "{log}");
}

#[test]
fn l40_l53_a_conversation_is_what_was_said() {
    check("", "");
    check("u:hi a:hello u:more a:~hm+yes", "u:hi m:hello u:more m:~hm+yes");
    // Roles may follow each other; empty events and those that are only thoughts are hidden.
    check("u:a u:b a: a:~hm a:c a:d", "u:a u:b m:c m:d");
    check("u:img+a a:ok", "u:img+a m:ok");
}

#[test]
fn l40_rewound_events_are_hidden() {
    check("u:a/i=1 a:b/i=1 u:c/i=2 a:d/i=2 u:/i=3/<2 u:e/i=4", "u:a m:b u:e");
}

#[test]
fn l41_scopes_must_be_equal() {
    check("u:a u:b/s=x a:c/s=x a:d", "u:a m:d");
    let scoped = ConversationView { scope: Some("x"), ..view() };
    check_as(&scoped, "u:a u:b/s=x a:c/s=x a:d u:e/s=y", "u:b m:c");
}

#[test]
fn l41_inputs_of_other_nodes_are_hidden() {
    let path = NodePath::from("wf@1/agent@1");
    let own = ConversationView { path: &path, ..view() };
    check_as(&own, "u:a u:mine/p=wf@1|agent@1 u:other/p=wf@1|x@1 a:b/p=wf@1|agent@2", "u:a u:mine m:b");
    // A response is shown, whichever node it was sent to.
    check_as(&own, "u:a a:c1 u:r1/p=wf@1|x@1", "u:a m:c1 u:r1");
}

/// A node, or the workflow around it, may be named `user`. A node whose name only begins with `user` is a different
/// node.
#[test]
fn l41_what_a_node_named_user_writes_is_shown() {
    let path = NodePath::from("wf@1/agent@1");
    let own = ConversationView { path: &path, ..view() };
    check_as(&own, "u:a u:said/p=wf@1|user@2 u:deep/p=user@1|x@1 u:other/p=wf@1|users@1", "u:a u:said u:deep");
    check_as(&own, "u:a u:other/p=wf@1|x@user u:in/p=wf@1|x@1|y@1", "u:a");
}

#[test]
fn l41_requests_to_the_client_are_hidden_and_questions_are_not() {
    check("u:a a:confirm/l=9 a:input/l=8 a:b", "u:a m:c8 m:b");
}

#[test]
fn l42_other_branches_are_hidden() {
    let branch = Branch::from("par.p1");
    let own = ConversationView { branch: Some(&branch), ..view() };
    check_as(&own, "u:a a:b/b=par a:c/b=par.p1 a:d/b=par.p2 a:e/b=par.p1.x a:f/b=par.p10", "u:a m:b m:c");
    check("u:a a:b/b=par a:c/b=par.p1", "u:a m:b m:c");
}

#[test]
fn l41_what_a_tool_publishes_is_hidden() {
    check("u:a a:c1 a:busy/b=tool@1 a:busy/b=tool@1.x@2 a:r1 a:b/b=tool@7 a:d/b=agent@1", "u:a m:c1 u:r1 m:b m:d");
    // An agent that runs on such a branch sees its own events.
    let branch = Branch::from("tool@1");
    let own = ConversationView { branch: Some(&branch), ..view() };
    check_as(&own, "a:c1 a:busy/b=tool@1 a:more/b=tool@1.y@1", "m:busy");
}

#[test]
fn l44_other_agents_are_quoted() {
    check("u:a x:hello a:b", "u:a q:hello m:b");
    check("u:a x:~hm x:~hm+hello+img", "u:a q:hello+img");
    let thinking = ConversationView { thoughts_of_others: true, ..view() };
    check_as(&thinking, "u:a x:~hm x:~so+hello", "u:a q:hm q:so+hello");
    // Calls and responses of another agent become texts. The same applies to the user's answer to such a call.
    check("u:a x:c1 x:r1 a:b", "u:a q:{} q:{} m:b");
    check("u:a x:c1/l=1 u:r1 a:b", "u:a q:{} q:{} m:b");
    let nameless = ConversationView { agent: "", ..view() };
    check_as(&nameless, "u:a x:hello", "u:a m:hello");
}

#[test]
fn l46_summaries_replace_what_they_sum_up() {
    check("u:a a:b a:/sum=0-1 u:c", "m:sum0-1 u:c");
    // Overlapping summaries are both kept. A contained summary is not kept. If two are equal, the later one wins.
    check("u:a a:b u:c a:d a:/sum=0-2 a:/sum=1-3 u:e", "m:sum0-2 m:sum1-3 u:e");
    check("u:a a:b u:c a:/sum=0-1 a:/sum=0-2 u:e", "m:sum0-2 u:e");
    check("u:a a:b a:/sum=0-1 a:/sum=0-1 u:c", "m:sum0-1 u:c");
    check("u:a a:b x:/sum=0-1 u:c", "m:sum0-1 u:c");
}

#[test]
fn l46_a_call_that_was_summed_up_comes_back_with_a_later_response() {
    check("u:a a:c1+c2/l=1 a:r1+r2 a:b a:/sum=0-3 u:r1 a:d", "m:sum0-3 m:c1+c2 u:r1+r2 m:d");
    check("u:a a:c1 a:r1 a:/sum=0-1 u:b", "m:sum0-1 m:c1 u:r1 u:b");
}

#[test]
fn l47_responses_without_a_call_are_left_out() {
    check("u:a a:r1 a:b", "u:a m:b");
    check("u:a u:r1", "u:a");
    check("u:a a:c1 a:r1+r2", "u:a m:c1 u:r1");
    check("u:a a:r1 a:c1 a:r1", "u:a m:c1 u:r1");
    check("u:a a:c a:r a:b", "u:a m:c u:r m:b");
}

#[test]
fn l48_responses_at_the_end_come_behind_their_calls() {
    check("u:a a:c1 a:r1", "u:a m:c1 u:r1");
    check("u:a a:c1/l=1 a:r1 a:wait u:b a:ok u:r1", "u:a m:c1 u:r1");
    check("u:a a:c1+c2/l=1 a:r1+r2 a:wait u:r1", "u:a m:c1+c2 u:r1+r2");
    check("u:a a:c1+c2 a:r1 a:x u:r2", "u:a m:c1+c2 u:r1+r2");
    // Two calls that are answered at once: each response follows its own call.
    check("u:a a:c1/l=1 a:b a:c2/l=2 a:d u:r1+r2", "u:a m:c1 u:r1 m:b m:c2 u:r2");
    check("u:a a:c1/l=1 a:r1 a:b a:c2/l=2 a:d u:r2+r1", "u:a m:c1 u:r1 m:b m:c2 u:r2");
    // If the model has used an id twice, the response belongs to the newest call.
    check("u:a a:c1 a:r1 a:b a:c1 a:r1", "u:a m:c1 u:r1 m:b m:c1 u:r1");
}

#[test]
fn l49_every_call_is_followed_by_its_last_response() {
    check("u:a a:c1/l=1 a:r1 a:wait/i=1 u:r1/i=2 a:done u:b", "u:a m:c1 u:r1 m:wait m:done u:b");
    check("u:a a:c1+c2 a:r1 a:x u:r2 a:b u:c", "u:a m:c1+c2 u:r1+r2 m:x m:b u:c");
    check("u:a a:c1 a:r1 a:c1 a:r1 u:b", "u:a m:c1 u:r1 m:c1 u:r1 u:b");
    check("u:a a:c1 u:b a:d a:r1 a:e u:f", "u:a m:c1 u:r1 u:b m:d m:e u:f");
}

#[test]
fn l50_texts_between_two_updates_are_left_out() {
    check("u:a a:c1/l=1 a:r1 a:stale a:r1 u:b", "u:a m:c1 u:r1 u:b");
    // Texts stay if another author wrote the update, if it is in another invocation, if the user wrote in between, or
    // if the first response asked for consent.
    check("u:a a:c1/l=1 a:r1 a:kept u:r1 u:b", "u:a m:c1 u:r1 m:kept u:b");
    check("u:a a:c1/l=1 a:r1/i=1 a:kept/i=1 a:r1/i=2 u:b", "u:a m:c1 u:r1 m:kept u:b");
    check("u:a a:c1/l=1 a:r1 a:kept u:x a:r1 u:b", "u:a m:c1 u:r1 m:kept u:x u:b");
    check("u:a a:c1/l=1 a:r1/ask a:kept a:r1 u:b", "u:a m:c1 u:r1 m:kept u:b");
}

#[test]
fn l51_calls_without_a_response_are_left_out() {
    check("u:a a:text+c1 u:b", "u:a m:text u:b");
    check("u:a a:c1 u:b", "u:a u:b");
    check("u:a a:c1/l=1 u:b", "u:a m:c1 u:b");
    check("u:a a:c1+c2 a:r2 u:b", "u:a m:c2 u:r2 u:b");
    check("u:a a:c u:b", "u:a m:c u:b");
}

#[test]
fn l52_the_runtimes_ids_are_hidden_unless_they_pair() {
    let call = FunctionCall::new("adk-1", "f", Map::new());
    let response = FunctionResponse::new("adk-1", "f", Map::new());
    let events = [
        Event::from_author("agent").with_message(Content::new("model", [Part::function_call(call)])),
        Event::from_author("agent").with_message(Content::new("user", [Part::function_response(response)])),
    ]
    .map(Arc::new);
    let sent = |pairs_calls_by_id| {
        let contents = conversation(&events, &ConversationView { pairs_calls_by_id, ..view() });
        serde_json::to_string(&contents).unwrap().matches("adk-1").count()
    };
    assert_eq!((sent(false), sent(true)), (0, 2));
}

#[test]
fn l55_a_task_is_the_first_content() {
    let mut args = Map::new();
    args.insert("request".to_owned(), "é".into());
    let call = Part::function_call(FunctionCall::new("x", "worker", args));
    let mut events = vec![Arc::new(Event::from_author("boss").with_message(call))];
    events.extend(session("a:b/s=x"));
    let scoped = ConversationView { scope: Some("x"), ..view() };
    assert_eq!(words(&conversation(&events, &scoped)), "u:{\"request\": \"é\"} m:b");
    let given = Content::user("given");
    let single = ConversationView { is_single_turn: true, user_content: Some(&given), ..scoped };
    let contents = conversation(&events[1..], &single);
    assert_eq!(contents[0].parts().len(), 2);
    assert_eq!(contents[0].parts()[0], Part::text("given"));
    assert_eq!(words(&conversation(&events[1..], &scoped)), "m:b");
}

#[test]
fn l181_a_single_turn_sees_its_part_of_the_tree() {
    let path = NodePath::from("wf@1/agent@2");
    let own = ConversationView { is_single_turn: true, path: &path, ..view() };
    let log = "u:a a:old/p=wf@1|agent@1 u:in/p=wf@1|agent@2 a:b/p=wf@1|agent@2 a:c/p=wf@1|agent@2|x@1 a:up/p=wf@1";
    check_as(&own, log, "u:a u:in m:b m:c m:up");
}

#[track_caller]
fn check_turn(log: &str, expected: &str) {
    assert_eq!(words(&current_turn(&session(log), &view())), expected, "{log}");
}

#[test]
fn l45_the_current_turn_begins_with_the_newest_message() {
    check_turn("", "");
    check_turn("a:b", "");
    check_turn("u:a a:b u:c", "u:c");
    check_turn("u:a a:b u:c a:c1 a:r1", "u:c m:c1 u:r1");
    check_turn("u:a x:hello", "q:hello");
    // A transfer belongs to the turn of the message before it.
    check_turn("u:a a:b u:c x:c1/to x:r1/to", "u:c q:{} q:{}");
    // If a result was posted, the turn reaches back to its call.
    check_turn("u:a a:c1/l=1 a:r1 a:wait u:b a:ok u:r1", "u:a m:c1 u:r1");
    check_turn("u:a a:c1 a:r1 u:b a:ok u:r7", "u:b m:ok");
    check_turn("u:a/i=1 a:b/i=1 u:c/i=2 u:/i=3/<2", "u:a m:b");
}

/// The contents of a long session are shared. A step with quadratic cost in its 40,000 events would take minutes.
#[test]
fn a_long_conversation_is_shared() {
    let events = session(&"u:question a:text+c1 a:r1 a:answer ".repeat(10_000));
    let contents = conversation(&events, &view());
    assert_eq!(contents.len(), events.len());
    assert!(contents.iter().zip(&events).all(|(content, event)| content.is_shared_with(event)));
    // The same applies if the passes that pair calls and responses have to run.
    let events = session(&("u:question a:text+c1 a:r1 a:answer ".repeat(10_000) + "a:c2/l=2 u:more"));
    let contents = conversation(&events, &view());
    assert!(contents.iter().zip(&events).all(|(content, event)| content.is_shared_with(event)));
}

/// If calls and responses are already in order, the passes that pair them change nothing.
#[test]
fn l47_l51_what_is_in_place_is_not_moved() {
    let in_place = |log: &str| {
        let events = session(log);
        let entries: Vec<Entry<'_>> = events.iter().filter_map(Entry::of).collect();
        let found = pairs::are_in_place(&entries);
        let paired: Vec<SharedContent> = pair(entries.clone()).into_iter().map(|entry| entry.content).collect();
        let before: Vec<SharedContent> = entries.into_iter().map(|entry| entry.content).collect();
        assert!(!found || words(&paired) == words(&before), "{log}");
        found
    };
    for log in ["", "u:a a:b", "u:a a:c1 a:r1", "a:c1+c2 a:r2+r1 u:a a:c1 a:r1", "a:c1+c1 a:r1 a:b"] {
        assert!(in_place(log), "{log}");
    }
    for log in [
        "a:c1",
        "a:r1",
        "a:c1 u:a a:r1",
        "a:c1+c2 a:r1",
        "a:c1 a:r1+r2",
        "a:c a:r",
        "a:c1 a:r1 a:r1",
        "a:c1 a:r1+c2 a:r2",
    ] {
        assert!(!in_place(log), "{log}");
    }
    let recorded = include_str!("../../../tests/recorded/conversations.txt").lines();
    let logs = recorded.filter_map(|row| row.split('|').nth(1));
    assert!(logs.filter(|log| in_place(log)).count() > 20);
}

/// Compares 1,500 random sessions with the contents of google-adk 2.13.0, recorded by
/// `tests/python/record_conversations.py`.
#[test]
fn l40_l53_random_conversations_are_those_of_google_adk() {
    let branch = Branch::from("p.q");
    let mut faults = Vec::new();
    let rows: Vec<&str> = include_str!("../../../tests/recorded/conversations.txt").lines().collect();
    for row in &rows {
        let [name, log, expected] = row.split('|').collect::<Vec<_>>()[..] else { panic!("not a row: {row}") };
        let own = match name {
            "nameless" => ConversationView { agent: "", ..view() },
            "thoughts" => ConversationView { thoughts_of_others: true, ..view() },
            "branch" => ConversationView { branch: Some(&branch), ..view() },
            "scope" => ConversationView { scope: Some("s"), ..view() },
            _ => view(),
        };
        let events = session(log);
        let found = words(&if name == "none" { current_turn(&events, &own) } else { conversation(&events, &own) });
        if found != expected {
            faults.push(format!("{row}\n    {found}"));
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {} differ:\n{}",
        faults.len(),
        rows.len(),
        faults[..faults.len().min(20)].join("\n")
    );
}
