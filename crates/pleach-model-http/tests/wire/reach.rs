//! Tests of the addresses, headers and secrets of requests.

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use pleach_contract::TestClock;
use pleach_model::{Model as _, ModelCall, ModelErrorKind};
use pleach_model_http::{HttpModelBuilder, ModelSetupError, openai};
use serde_json::json;

use crate::server::{Reply, Server};
use crate::support::{all, ask, error, with_config};

/// The variable with the address that the child process of the proxy test calls.
const TARGET: &str = "PLEACH_WIRE_TEST_TARGET";

fn sunny() -> Reply {
    Reply::json("200 OK", &json!({"choices": [{"message": {"content": "Sunny."}, "finish_reason": "stop"}]}))
}

/// Returns the error for a server that repeats `said`.
async fn refused(said: String, model: impl Fn(&str) -> HttpModelBuilder) -> String {
    let server = Server::start([Reply::json("403 Forbidden", &json!({"error": {"message": said}}))]).await;
    let error = error(&model(&server.url).build().unwrap(), &ask("hi"), false).await;
    format!("{error} {error:?}")
}

#[tokio::test]
async fn short_passwords_and_cookies_are_hidden() {
    for (name, value) in [("x-pass", "ab12"), ("X-Passphrase", "abcd56"), ("cookie", "c=1234"), ("Set-Cookie2", "c=12")]
    {
        let shown = refused(format!("the value {value} is wrong"), |url| openai("m").base_url(url).header(name, value));
        let shown = shown.await;
        assert!(shown.contains("the value … is wrong"), "{name}: {shown}");
    }
    // The name of a region is a word.
    let shown =
        refused("north is closed".to_owned(), |url| openai("m").base_url(url).header("x-region", "north")).await;
    assert!(shown.contains("north is closed"), "{shown}");
}

#[tokio::test]
async fn a_key_is_hidden_as_urls_write_it() {
    for said in ["k/ey+1 = x", "k%2Fey%2B1%20%3D%20x", "k%2fey%2b1%20%3d%20x", "k%2Fey%2B1+%3D+x", "k/ey+1%20=%20x"] {
        let shown =
            refused(format!("the value <{said}> is wrong"), |url| openai("m").base_url(url).key(" k/ey+1 = x "));
        let shown = shown.await;
        assert!(shown.contains("the value <…> is wrong"), "{said}: {shown}");
        let header = |url: &str| openai("m").base_url(url).header("x-user", "k/ey+1 = x");
        let shown = refused(format!("the value <{said}> is wrong"), header).await;
        assert!(shown.contains("the value <…> is wrong"), "{said}: {shown}");
    }
}

#[tokio::test]
async fn a_query_without_names_is_a_key() {
    for query in ["sk-1", "sk-1=", "v=1&sk-1", "sk%2D1"] {
        let shown =
            refused("<sk-1> is wrong".to_owned(), |url| openai("m").base_url(format!("{url}/v1?{query}"))).await;
        assert!(shown.contains("<…> is wrong"), "{query}: {shown}");
        let exposed = openai("m").base_url(format!("http://gpu.example.com/v1?{query}")).build();
        assert!(matches!(exposed, Err(ModelSetupError::PlainHttp { .. })), "{query}");
    }
}

#[tokio::test]
async fn all_names_of_this_machine_lead_to_it() {
    let server = Server::start([sunny(), sunny(), sunny(), sunny(), sunny()]).await;
    let port = server.url.rsplit(':').next().unwrap();
    for host in ["localhost", "LOCALHOST.", "api.localhost", "a.b.localhost.", "127.1"] {
        let model = openai("m").base_url(format!("http://{host}:{port}/v1")).key("sk-hush").build().unwrap();
        let answers = all(&model, &ask("hi"), false).await.map_err(|(_, error)| error.to_string());
        assert_eq!(answers.unwrap().len(), 1, "{host}");
    }
    for host in ["[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.9.9.9"] {
        assert!(openai("m").base_url(format!("http://{host}/v1")).key("sk-hush").build().is_ok(), "{host}");
    }
    for host in ["localhost.example.com", "xlocalhost", "[::ffff:10.0.0.1]", "[::]", "0.0.0.0", "128.0.0.1"] {
        let built = openai("m").base_url(format!("http://{host}/v1")).key("sk-hush").build();
        assert!(matches!(built, Err(ModelSetupError::PlainHttp { .. })), "{host}");
    }
}

// A child of this program has the variables of a proxy: a test may not set variables of its own process.
#[tokio::test]
async fn this_machine_is_never_reached_through_a_proxy() {
    let (target, proxy) = (Server::start([sunny(), sunny()]).await, Server::start([]).await);
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "reach::calls_this_machine_if_asked", "--nocapture"]).env(TARGET, &target.url);
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        child.env(name, &proxy.url);
    }
    child.env_remove("no_proxy").env_remove("NO_PROXY");
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((target.requests().len(), proxy.connections()), (2, 0));
}

#[tokio::test]
async fn calls_this_machine_if_asked() {
    let Ok(url) = std::env::var(TARGET) else { return };
    let once = json!({"attempts": 1});
    let near = openai("m").base_url(format!("{url}/v1")).key("sk-hush").build().unwrap();
    let request = with_config(json!({"httpOptions": {"retryOptions": once}}));
    all(&near, &request, false).await.map_err(|(_, error)| error.to_string()).unwrap();
    // The model is elsewhere, and a request names this machine.
    let far = openai("m").base_url("http://models.example.com/v1").build().unwrap();
    let request = with_config(json!({"httpOptions": {"baseUrl": format!("{url}/v1"), "retryOptions": once}}));
    all(&far, &request, false).await.map_err(|(_, error)| error.to_string()).unwrap();
}

#[tokio::test]
async fn headers_of_the_connection_are_refused() {
    let names =
        ["Host", "content-length", "Connection", "keep-alive", "proxy-connection", "TE", "trailer", "upgrade", "via"];
    for name in names.into_iter().chain(["Transfer-Encoding", "Expect"]) {
        let error = openai("m").base_url("http://localhost").header(name, "hush").build().unwrap_err();
        assert!(matches!(&error, ModelSetupError::Header { header, .. } if header == name), "{error}");
        let model = openai("m").base_url("http://localhost:1").build().unwrap();
        let request = with_config(json!({"httpOptions": {"headers": {name: "hush"}}}));
        let error = crate::support::error(&model, &request, false).await;
        assert_eq!(error.kind(), ModelErrorKind::InvalidRequest, "{error}");
        assert!(
            error.to_string().contains(&format!("the header `{name}`")) && !error.to_string().contains("hush"),
            "{error}"
        );
    }
}

// The server sends the head and then nothing, so only the announced length can be judged.
#[tokio::test]
async fn an_answer_that_announces_too_many_bytes_is_refused_at_once() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ncontent-length: 4001\r\n\r\n";
    for (kind, streaming, option) in [
        ("application/json", false, "more than 4000 bytes; allow more with `.max_response_bytes(…)`"),
        ("text/event-stream", true, "more than 4000 bytes in all; allow more with `.max_stream_bytes(…)`"),
    ] {
        let server = Server::start([Reply::raw(head.replace("{}", kind)).hold()]).await;
        let model =
            openai("m").base_url(&server.url).max_response_bytes(4_000).max_stream_bytes(4_000).build().unwrap();
        let clock = TestClock::new();
        let request = ask("hi");
        let mut stream = model.generate(ModelCall::new(&request, &clock).streaming(streaming));
        let error = tokio::time::timeout(Duration::from_secs(20), stream.next()).await.unwrap().unwrap().unwrap_err();
        assert!(error.to_string().contains(option), "{error}");
        assert!(stream.next().now_or_never().flatten().is_none());
        server.closed().await;
    }
}
