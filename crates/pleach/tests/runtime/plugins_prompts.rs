//! `GlobalInstructionPlugin` and `ContextFilterPlugin`: the prompts that models get.

use pleach::model::{LlmRequest, SharedContent};
use pleach::plugins::{ContextFilterPlugin, GlobalInstructionPlugin};
use pleach::prelude::*;
use pleach::{InMemorySessionService, Instruction, Plugin, ReadonlyContext, RunRequest};
use serde_json::json;

use crate::support::trace;

fn runner(model: &ScriptedModel, instruction: &str, plugin: impl Plugin) -> Runner {
    let pay = tool("pay", "Pays.", async || "paid");
    let agent = LlmAgent::builder("a").model(model.clone()).instruction(instruction).tool(pay).build().unwrap();
    Runner::builder("t").root(agent).plugin(plugin).build().unwrap()
}

fn system(model: &ScriptedModel) -> Option<String> {
    model.requests()[0].config.system_instruction.clone()
}

#[tokio::test]
async fn a_global_instruction_comes_first_and_reads_state() {
    let model = ScriptedModel::saying("ok");
    let runner = runner(&model, "Own.", GlobalInstructionPlugin::new("Speak to {who}."));
    let state = json!({"who": "Ana"}).as_object().unwrap().clone();
    trace(runner.start(RunRequest::new(("ana", "s1")).message("hi").state_delta(state))).await;
    // The instruction equals the one of google-adk 2.13.0.
    assert_eq!(system(&model).unwrap(), "Speak to Ana.\n\nOwn.\n\nYou are an agent. Your internal name is \"a\".");
}

#[tokio::test]
async fn a_key_that_is_missing_fails_the_agent_and_a_function_is_used_as_it_is() {
    let model = ScriptedModel::saying("ok");
    let missing = runner(&model, "Own.", GlobalInstructionPlugin::new("Speak to {nobody}."));
    let line = trace(missing.run("ana", "s1", "hi")).await.pop().unwrap();
    let expected = "! RuntimeError: Error in plugin 'global_instruction' during 'before_model_callback' callback: ";
    assert!(line.starts_with(expected) && line.contains("Context variable not found: `nobody`"), "{line}");

    let provider =
        Instruction::provider(|ctx: ReadonlyContext| async move { Ok(format!("{{who}} is {}", ctx.user_id())) });
    let runner = runner(&model, "Own.", GlobalInstructionPlugin::new(provider));
    trace(runner.run("ana", "s1", "hi")).await;
    assert!(system(&model).unwrap().starts_with("{who} is ana\n\nOwn."));
}

#[tokio::test]
async fn an_empty_global_instruction_changes_nothing() {
    let model = ScriptedModel::saying("ok");
    trace(runner(&model, "Own.", GlobalInstructionPlugin::new("")).run("ana", "s1", "hi")).await;
    assert_eq!(system(&model).unwrap(), "Own.\n\nYou are an agent. Your internal name is \"a\".");
}

/// The contents of a request: texts, `call` and `response`.
fn shown(request: &LlmRequest) -> Vec<String> {
    let part = |part: &Part| match part {
        Part { function_call: Some(_), .. } => "call".to_owned(),
        Part { function_response: Some(_), .. } => "response".to_owned(),
        other => other.text.clone().unwrap_or_default(),
    };
    request.contents.iter().flat_map(|content| content.parts()).map(part).collect()
}

#[tokio::test]
async fn only_the_last_invocations_are_shown_and_the_session_keeps_all() {
    let model = ScriptedModel::saying("one").then_call("pay", json!({})).then_text("two").then_text("three");
    let runner = runner(&model, "", ContextFilterPlugin::new().keep_invocations(2));
    for message in ["a", "b", "c"] {
        trace(runner.run("ana", "s1", message)).await;
    }
    let requests = model.requests();
    assert_eq!(shown(&requests[2]), ["a", "one", "b", "call", "response"]);
    assert_eq!(shown(&requests[3]), ["b", "call", "response", "two", "c"]);
}

/// Texts of other agents look like user messages. Even so, the question that all of them work on stays visible.
#[tokio::test]
async fn the_question_of_the_present_invocation_is_always_shown() {
    let model = ScriptedModel::saying("draft").repeating();
    let of = |name: &str| LlmAgent::builder(name).model(model.clone()).build().unwrap();
    let rounds = pleach::LoopAgent::builder("rounds").sub_agent(of("writer")).sub_agent(of("critic")).max_iterations(3);
    let runner = Runner::builder("t").root(rounds.build().unwrap());
    let runner = runner.plugin(ContextFilterPlugin::new().keep_invocations(1)).build().unwrap();
    trace(runner.run("ana", "s1", "old question")).await;
    trace(runner.run("ana", "s1", "new question")).await;
    let requests = model.requests();
    assert_eq!(requests.len(), 12);
    for (place, request) in requests.iter().enumerate() {
        let shown = shown(request);
        let has = |question: &str| shown.iter().any(|text| text == question);
        assert_eq!((has("old question"), has("new question")), (place < 6, place >= 6), "request {place}: {shown:?}");
    }
}

#[tokio::test]
async fn a_conversation_is_shortened_when_enough_can_go() {
    let model = ScriptedModel::saying("ok").repeating();
    let runner = runner(&model, "", ContextFilterPlugin::new().keep_invocations(1).remove_amount(2));
    for message in ["a", "b", "c", "d"] {
        trace(runner.run("ana", "s1", message)).await;
    }
    let counts: Vec<usize> = model.requests().iter().map(|request| request.contents.len()).collect();
    assert_eq!(counts, [1, 3, 1, 1]);
}

#[tokio::test]
async fn a_function_cannot_tear_calls_and_responses_apart() {
    let drops = |kind: fn(&Part) -> bool| {
        ContextFilterPlugin::new().filter(move |mut contents: Vec<SharedContent>| {
            contents.retain(|content| !content.parts().iter().any(kind));
            contents
        })
    };
    let of_calls = drops(|part| part.function_call.is_some());
    let of_responses = drops(|part| part.function_response.is_some());
    for plugin in [of_calls, of_responses] {
        let calls = [("pay", json!({"n": 1})), ("pay", json!({"n": 2}))];
        let model = ScriptedModel::new().then_calls(calls).then_text("done");
        trace(runner(&model, "", plugin).run("ana", "s1", "go")).await;
        assert_eq!(shown(&model.requests()[1]), ["go"]);
    }
}

#[tokio::test]
async fn one_of_two_calls_at_once_goes_with_its_response_and_ids_stay_hidden() {
    let plugin = ContextFilterPlugin::new().filter(|mut contents: Vec<SharedContent>| {
        let responses = contents.iter_mut().filter(|content| content.function_responses().count() == 2);
        responses.for_each(|content| drop(content.to_mut().parts_mut().pop()));
        contents
    });
    let model = ScriptedModel::new().then_calls([("pay", json!({"n": 1})), ("pay", json!({"n": 2}))]).then_text("done");
    trace(runner(&model, "", plugin).run("ana", "s1", "go")).await;
    let request = &model.requests()[1];
    let call = request.contents[1].function_calls().next().unwrap();
    assert_eq!(
        (shown(request), json!(call.args)),
        (vec!["go".into(), "call".into(), "response".into()], json!({"n": 1}))
    );
    assert!(!json!(request.contents).to_string().contains("adk-"), "{}", json!(request.contents));
}

#[tokio::test]
async fn a_call_whose_result_comes_later_is_shown_with_it() {
    let model = ScriptedModel::calling("order", json!({})).then_text("ordered").then_text("so so").then_text("came");
    let order = tool("order", "Orders.", async || json!({"status": "pending"})).long_running();
    let agent = LlmAgent::builder("a").model(model.clone()).tool(order).build().unwrap();
    let sessions = std::sync::Arc::new(InMemorySessionService::new());
    let builder = Runner::builder("t").root(agent).sessions(sessions.clone());
    let runner = builder.plugin(ContextFilterPlugin::new().keep_invocations(1)).build().unwrap();
    trace(runner.run("ana", "s1", "first")).await;
    trace(runner.run("ana", "s1", "how are you?")).await;
    let session = sessions.get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap();
    let id = session.events.iter().find_map(|event| event.function_calls().next()?.id.clone()).unwrap();
    let result = json!({"status": "here"}).as_object().unwrap().clone();
    let response = Part::function_response(pleach::FunctionResponse::new(id, "order", result));
    trace(runner.run("ana", "s1", Content::new("user", [response]))).await;
    let requests = model.requests();
    let last = shown(requests.last().unwrap());
    let calls = last.iter().filter(|part| *part == "call").count();
    let responses = last.iter().filter(|part| *part == "response").count();
    assert!(calls == 1 && responses == 1 && last[0] == "first", "{last:?}");
}

#[tokio::test]
async fn a_function_that_panics_leaves_the_conversation_whole() {
    let model = ScriptedModel::saying("ok");
    let plugin = ContextFilterPlugin::new().filter(|_| panic!("broken"));
    trace(runner(&model, "", plugin).run("ana", "s1", "go")).await;
    assert_eq!(shown(&model.requests()[0]), ["go"]);
}
