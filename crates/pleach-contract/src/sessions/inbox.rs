//! The open questions of all sessions.

use futures_util::future::join_all;
use pleach_core::{Content, Event, FunctionCall, FunctionResponse, Map, Part, RequestInput, SessionKey};
use pleach_session::{
    InboxItem, ListQuestions, ListQuestionsResponse, SessionService, SessionServiceExt as _, walk_questions,
};
use serde_json::json;

use super::{CREATED, created, event, key, loaded, object};

/// An event of the invocation `inv-1` with another body.
fn complete(body: Event, id: &str, after: f64) -> Event {
    let mut event = body;
    event.set_id(id);
    event.set_invocation_id("inv-1");
    event.set_timestamp(CREATED + after);
    event
}

/// An event of `inv-1` that asks a question, `after` seconds after [`CREATED`].
pub fn asks(id: &str, after: f64, question: &str, assignee: Option<&str>) -> Event {
    let request: RequestInput = RequestInput::ask(question, format!("{question}?"));
    let request = match assignee {
        Some(assignee) => request.assign_to(assignee),
        None => request,
    };
    let mut event = request.into_event(question).with_node_path(format!("wf@1/{question}@1").as_str());
    event.set_author("wf");
    complete(event, id, after)
}

/// An event of `inv-1` that answers a question.
pub fn answers(id: &str, after: f64, question: &str) -> Event {
    let response = FunctionResponse::new(question, "adk_request_input", object(json!({"result": "yes"})));
    let content = Content::new("user", [Part::function_response(response)]);
    complete(Event::from_author("user").with_content(content), id, after)
}

fn aborts(id: &str, after: f64) -> Event {
    complete(Event::from_author("wf").with_error("INVOCATION_ABORTED", "aborted"), id, after)
}

fn calls(id: &str, after: f64, name: &str, call: &str, is_long: bool) -> Event {
    let content = Content::new("model", [Part::function_call(FunctionCall::new(call, name, Map::new()))]);
    let event = Event::from_author("agent").with_content(content);
    complete(if is_long { event.with_long_running([call]) } else { event }, id, after)
}

fn rewinds(id: &str, after: f64, invocation: &str) -> Event {
    let mut event = complete(Event::from_author("user"), id, after);
    event.actions_mut().set_rewind_before_invocation_id(Some(invocation.to_owned()));
    event.set_invocation_id("rewind");
    event
}

async fn append(service: &dyn SessionService, key: &SessionKey, event: Event) {
    let mut session = loaded(service, key).await;
    service.append_event(&mut session, event).await.unwrap();
}

async fn listed(service: &dyn SessionService, request: ListQuestions) -> ListQuestionsResponse {
    service.list_questions(request).await.unwrap()
}

async fn ids(service: &dyn SessionService, request: ListQuestions) -> Vec<String> {
    listed(service, request).await.items.into_iter().map(|item| item.question.id).collect()
}

async fn all(service: &dyn SessionService) -> Vec<String> {
    ids(service, ListQuestions::new("app")).await
}

/// Questions are asked, answered, asked again and aborted; the inbox is read after each step.
pub async fn questions_are_listed_until_they_are_answered(service: &dyn SessionService) {
    assert_eq!(all(service).await, [""; 0]);
    created(service, &key("s"), json!({})).await;
    created(service, &key("t"), json!({})).await;
    append(service, &key("s"), event("e1", 1.0)).await;
    assert_eq!(all(service).await, [""; 0]);
    append(service, &key("s"), asks("e2", 5.0, "late", Some("lead"))).await;
    append(service, &key("t"), asks("e1", 3.0, "early", None)).await;
    let found = listed(service, ListQuestions::new("app")).await;
    assert_eq!(found.next, None);
    let seen: Vec<_> = found.items.iter().map(|item| (&item.session, item.question.id.as_str())).collect();
    assert_eq!(seen, [(&key("t"), "early"), (&key("s"), "late")]);
    let question = &found.items[1].question;
    assert_eq!((question.message.as_str(), question.assignee.as_deref()), ("late?", Some("lead")));
    assert_eq!((question.invocation_id.as_str(), question.asked_at), ("inv-1", CREATED + 5.0));
    append(service, &key("t"), answers("e2", 6.0, "early")).await;
    assert_eq!(all(service).await, ["late"]);
    append(service, &key("t"), asks("e3", 7.0, "again", None)).await;
    append(service, &key("t"), event("e4", 8.0)).await;
    assert_eq!(all(service).await, ["late", "again"]);
    append(service, &key("t"), aborts("e5", 9.0)).await;
    assert_eq!(all(service).await, ["late"]);
    assert_eq!(ids(service, ListQuestions::new("other")).await, [""; 0]);
}

/// Filters alone and together; the empty user is a user, and every text is an assignee.
pub async fn questions_are_listed_by_user_and_assignee(service: &dyn SessionService) {
    let long = "x".repeat(5000);
    let texts = ["team lead", "", "Ä\'%_"];
    for (number, user) in ["u", "", "v"].into_iter().enumerate() {
        let key = SessionKey::new("app", user, "s");
        created(service, &key, json!({})).await;
        for (place, assignee) in texts.iter().copied().chain([long.as_str()]).enumerate() {
            let after = f64::from(u32::try_from(number * 10 + place).unwrap());
            append(service, &key, asks(&format!("e{place}"), after, &format!("{user}{place}"), Some(assignee))).await;
        }
    }
    let of = |assignee: &str| ListQuestions::new("app").with_assignee(assignee);
    assert_eq!(all(service).await.len(), 12);
    assert_eq!(ids(service, ListQuestions::new("app").with_user("")).await, ["0", "1", "2", "3"]);
    assert_eq!(ids(service, of("team lead")).await, ["u0", "0", "v0"]);
    assert_eq!(ids(service, of("team")).await, [""; 0]);
    // No assignee is not the empty one.
    assert_eq!(ids(service, of("")).await, [""; 0]);
    assert_eq!(ids(service, of(texts[2])).await, ["u2", "2", "v2"]);
    assert_eq!(ids(service, of(&long)).await, ["u3", "3", "v3"]);
    assert_eq!(ids(service, of(&long[1..])).await, [""; 0]);
    assert_eq!(ids(service, of("team lead").with_user("v")).await, ["v0"]);
    assert_eq!(ids(service, ListQuestions::new("app").with_user("nobody")).await, [""; 0]);
}

/// Pages add up to the whole list, even if questions were asked at the same time.
pub async fn a_listing_of_questions_can_be_paged(service: &dyn SessionService) {
    for (user, id) in [("u2", "a"), ("u1", "b"), ("u1", "a"), ("U", "a")] {
        let key = SessionKey::new("app", user, id);
        created(service, &key, json!({})).await;
        for number in 0..3_u32 {
            let after = f64::from(number / 2);
            append(service, &key, asks(&format!("e{number}"), after, &format!("{user}{id}{number}"), None)).await;
        }
    }
    let whole = listed(service, ListQuestions::new("app")).await;
    assert_eq!((whole.items.len(), &whole.next), (12, &None));
    let first: Vec<_> = whole.items.iter().take(4).map(|item| item.question.id.as_str()).collect();
    assert_eq!(first, ["Ua0", "Ua1", "u1a0", "u1a1"]);
    for size in [1, 5, 12] {
        let mut paged = Vec::new();
        let mut request = ListQuestions::new("app").with_limit(size);
        loop {
            let page = listed(service, request.clone()).await;
            assert!(page.items.len() <= size);
            paged.extend(page.items);
            let Some(next) = page.next else { break };
            request = request.with_after(next);
        }
        assert_eq!(paged, whole.items, "{size}");
    }
    assert_eq!(listed(service, ListQuestions::new("app").with_limit(0)).await, ListQuestionsResponse::default());
}

/// A session that is created again under the same id begins without questions.
pub async fn questions_of_a_deleted_session_are_gone(service: &dyn SessionService) {
    for round in 0..3 {
        created(service, &key("s"), json!({})).await;
        assert_eq!(all(service).await, [""; 0], "{round}");
        append(service, &key("s"), asks("e1", f64::from(round), "q", None)).await;
        assert_eq!(all(service).await, ["q"]);
        service.delete_session(&key("s")).await.unwrap();
        if round == 1 {
            assert_eq!(all(service).await, [""; 0]);
        }
    }
    created(service, &key("s"), json!({})).await;
    append(service, &key("s"), event("e1", 1.0)).await;
    assert_eq!(all(service).await, [""; 0]);
}

/// Long-running tools, requests for credentials and confirmation, other calls, answers of agents.
pub async fn every_kind_of_question_and_answer_is_noticed(service: &dyn SessionService) {
    created(service, &key("s"), json!({})).await;
    let plain = calls("e1", 1.0, "plain", "c1", false);
    let ship = calls("e2", 2.0, "ship", "c2", true);
    let credential = calls("e3", 3.0, "adk_request_credential", "c3", false);
    let confirmation = calls("e4", 4.0, "adk_request_confirmation", "c4", true);
    for (event, expected) in [
        (plain, vec![]),
        (ship, vec!["c2"]),
        (credential, vec!["c2", "c3"]),
        (confirmation, vec!["c2", "c3", "c4"]),
        (answers("e5", 5.0, "c3"), vec!["c2", "c4"]),
        (rewinds("e6", 6.0, "inv-1"), vec![]),
        (rewinds("e7", 7.0, "rewind"), vec!["c2", "c4"]),
        (answers("e8", 8.0, "c4"), vec!["c2"]),
    ] {
        let id = event.id().to_string();
        append(service, &key("s"), event).await;
        assert_eq!(all(service).await, expected, "{id}");
    }
}

/// A generator of pseudo-random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn drawn(dice: &mut Dice, number: u32) -> Event {
    let (id, after) = (format!("e{number:04}"), f64::from(number));
    let question = format!("q{}", dice.below(3));
    let mut event = match dice.below(12) {
        0..4 => asks(&id, after, &question, (dice.below(2) == 0).then_some("lead")),
        4..7 => answers(&id, after, &question),
        7 => aborts(&id, after),
        8 => calls(&id, after, "ship", &question, dice.below(2) == 0),
        9 if dice.below(3) == 0 => rewinds(&id, after, &format!("inv-{}", dice.below(3))),
        _ => super::event(&id, after),
    };
    if event.invocation_id().as_str() != "rewind" {
        event.set_invocation_id(format!("inv-{}", dice.below(3)).as_str());
    }
    event
}

/// With random histories, reading the inbox at any point gives the same result as reading every history whole.
pub async fn the_inbox_agrees_with_the_histories(service: &dyn SessionService) {
    let mut dice = Dice(2026);
    let keys: Vec<_> = (0..6).map(|n| SessionKey::new("app", format!("u{}", n % 2), format!("s{}", n / 2))).collect();
    for key in &keys {
        created(service, key, json!({})).await;
    }
    for number in 0..240 {
        let key = &keys[usize::try_from(dice.below(6)).unwrap()];
        if dice.below(40) == 0 {
            service.delete_session(key).await.unwrap();
            created(service, key, json!({})).await;
        }
        append(service, key, drawn(&mut dice, number)).await;
        let mut request = ListQuestions::new("app");
        match dice.below(8) {
            0 => {}
            1 => request = request.with_user("u1"),
            2 => request = request.with_assignee("lead"),
            _ => continue,
        }
        let whole = walk_questions(service, &request).await.unwrap();
        assert_eq!(listed(service, request.clone()).await, whole, "{number}");
    }
}

/// Readers that update the same sessions, with writers between them, leave an inbox that agrees with the histories.
pub async fn an_inbox_that_is_read_by_many_while_it_changes_ends_right(service: &dyn SessionService) {
    let keys: Vec<_> = (0..8).map(|n| SessionKey::new("app", "user", format!("s{n}"))).collect();
    for key in &keys {
        created(service, key, json!({})).await;
    }
    let write = async |key: SessionKey, seed: u64| {
        let mut dice = Dice(seed);
        for number in 0..25 {
            append(service, &key, drawn(&mut dice, number)).await;
            // A reader that has answered does not find the question again, even if others read meanwhile.
            let request = ListQuestions::new("app");
            let own = |items: Vec<InboxItem>| -> Vec<InboxItem> {
                items.into_iter().filter(|item| item.session == key).collect()
            };
            let found = own(listed(service, request.clone()).await.items);
            assert_eq!(found, own(walk_questions(service, &request).await.unwrap().items), "{key} {number}");
        }
    };
    join_all(keys.iter().zip(1..).map(|(key, seed)| write(key.clone(), seed))).await;
    let request = ListQuestions::new("app");
    assert_eq!(listed(service, request.clone()).await, walk_questions(service, &request).await.unwrap());
}
