//! An agent with a model over OpenAI's chat completions.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pleach::models::{HttpModel, openai};
use pleach::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

/// Starts a server that answers each request with the next body of events and records the requests.
fn serve(bodies: Vec<String>) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let recorded = requests.clone();
    std::thread::spawn(move || {
        for body in bodies {
            let (mut stream, _) = listener.accept().unwrap();
            recorded.lock().unwrap().push(request(&mut stream));
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
    });
    (url, requests)
}

fn request(stream: &mut TcpStream) -> Value {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            return body;
        }
    }
}

fn events(chunks: &[Value]) -> String {
    let chunks = chunks.iter().map(|choice| format!("data: {}\n\n", json!({"model": "m-1", "choices": [choice]})));
    chunks.collect::<String>() + "data: [DONE]\n\n"
}

async fn weather(Args(City { city }): Args<City>, ctx: ToolContext) -> Result<String> {
    ctx.state().set("last_city", &city)?;
    Ok(format!("sun in {city}"))
}

fn agent(model: HttpModel) -> Result<LlmAgent> {
    let agent = LlmAgent::builder("helper").model(model).instruction("Be brief.");
    Ok(agent.tool(tool("weather", "The weather in a city.", weather)).build()?)
}

// The agent calls a tool through the HTTP API of the provider.
#[tokio::test]
async fn an_agent_calls_its_tool_and_streams_its_answer() {
    let call = |piece: Value| json!({"delta": {"tool_calls": [piece]}});
    let asks = events(&[
        call(json!({"index": 0, "id": "functions.weather:0", "function": {"name": "weather", "arguments": "{\"ci"}})),
        call(json!({"index": 0, "function": {"arguments": "ty\": \"Oslo\"}"}})),
        json!({"delta": {}, "finish_reason": "tool_calls"}),
    ]);
    let says = events(&[
        json!({"delta": {"content": "Sunny "}}),
        json!({"delta": {"content": "in Oslo."}}),
        json!({"delta": {}, "finish_reason": "stop"}),
    ]);
    let (url, requests) = serve(vec![asks, says]);
    let model = openai("m").base_url(url).key("sk-hush").build().unwrap();
    let runner = Runner::builder("demo").root(agent(model).unwrap()).build().unwrap();
    let mut run = runner.run("ana", "s1", "Oslo?").streaming();
    let (mut shown, mut stored) = (String::new(), Vec::new());
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        if event.is_partial() {
            shown.push_str(&event.fragment());
        } else {
            stored.push(serde_json::to_string(&*event).unwrap());
        }
    }
    assert_eq!((shown.as_str(), stored.len()), ("Sunny in Oslo.", 3));
    assert!(!stored.concat().contains("hush"));
    let requests = requests.lock().unwrap();
    assert_eq!(requests[0]["tools"][0]["function"]["parameters"]["properties"]["city"]["type"], "string");
    let messages = requests[1]["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(messages[2]["tool_calls"][0]["id"], "functions.weather:0");
    assert_eq!(messages[3]["content"], r#"{"result":"sun in Oslo"}"#);
}

#[tokio::test]
async fn a_stream_that_is_cut_inside_arguments_runs_no_tool() {
    let piece = json!({"index": 0, "id": "c1", "function": {"name": "weather", "arguments": "{\"city\": \"Os"}});
    let cut = format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": [piece]}}]}));
    let (url, _) = serve(vec![cut]);
    let model = openai("m").base_url(url).key("sk-hush").build().unwrap();
    let runner = Runner::builder("demo").root(agent(model).unwrap()).build().unwrap();
    let mut run = runner.run("ana", "s1", "Oslo?").streaming();
    let mut failed = None;
    while let Some(event) = run.next().await {
        match event {
            Ok(event) => assert!(event.is_partial() || event.function_calls().next().is_none()),
            Err(error) => failed = Some(error.to_string()),
        }
    }
    let failed = failed.unwrap();
    assert!(failed.contains("the stream ended before the answer was whole"), "{failed}");
}

/// Starts a server that sends `text` again and again, without a pause, until the client leaves.
fn flood(text: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
        while stream.write_all(text.as_bytes()).is_ok() {}
    });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_out_of_the_caller_fires_while_a_server_floods() {
    let delta = |text: &str| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}));
    for event in [": ping\n\n".to_owned(), delta(""), delta(" "), delta("Sunny. ")] {
        let url = flood(event.repeat(1_000));
        let agent = LlmAgent::builder("helper").model(openai("m").base_url(url).build().unwrap()).build().unwrap();
        let runner = Runner::builder("demo").root(agent).build().unwrap();
        let run = async {
            let mut run = runner.run("ana", "s1", "Oslo?").streaming();
            while run.next().await.is_some() {}
        };
        assert!(tokio::time::timeout(Duration::from_millis(100), run).await.is_err(), "{event}");
    }
}

#[derive(serde::Serialize, Deserialize, JsonSchema)]
struct Nothing {}

#[derive(serde::Serialize, Deserialize, JsonSchema)]
struct Report {
    nothing: Option<Nothing>,
}

#[derive(serde::Serialize, Deserialize, JsonSchema)]
struct Free {
    fields: serde_json::Map<String, Value>,
}

#[test]
fn a_strict_answer_may_have_no_fields_and_not_any_fields() {
    let model = || openai("m").key("k").build().unwrap();
    assert!(LlmAgent::builder("a").model(model()).output_schema::<Nothing>().build().is_ok());
    assert!(LlmAgent::builder("a").model(model()).output_schema::<Report>().build().is_ok());
    let error = LlmAgent::builder("a").model(model()).output_schema::<Free>().build().unwrap_err().to_string();
    assert!(error.contains("`fields` (a map)"), "{error}");
}
