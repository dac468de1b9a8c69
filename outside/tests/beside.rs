//! A user's own crates beside pleach with all its features: each does what it does without pleach.

use pleach::models::openai;
use pleach::prelude::*;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Serves one body to every request, on a loopback port.
async fn serve(body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = Vec::new();
            let mut chunk = [0; 4096];
            while !is_complete(&request) {
                match socket.read(&mut chunk).await {
                    Ok(0) | Err(_) => break,
                    Ok(count) => request.extend_from_slice(&chunk[..count]),
                }
            }
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}")
}

/// Whether the head and the announced body of a request have come.
fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let announced = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    body.len() >= announced.unwrap_or(0)
}

#[tokio::test]
async fn a_client_of_the_user_without_encryption_works() {
    let url = serve("{}").await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    assert_eq!(client.get(url).send().await.unwrap().text().await.unwrap(), "{}");
    drop(reqwest::Client::new());
}

#[test]
fn rustls_finds_the_provider_of_the_build() {
    let config = rustls::ClientConfig::builder().with_root_certificates(rustls::RootCertStore::empty());
    assert!(!config.with_no_client_auth().crypto_provider().cipher_suites.is_empty());
    rustls::client::WebPkiServerVerifier::builder(rustls::RootCertStore::empty().into()).build().unwrap_err();
}

#[tokio::test]
async fn sqlx_of_the_user_opens_a_database() {
    let pool = sqlx::SqlitePool::connect("sqlite::memory:").await.unwrap();
    assert_eq!(sqlx::query_scalar::<_, i64>("SELECT 40 + 2").fetch_one(&pool).await.unwrap(), 42);
}

/// As without any feature but the default ones: keys are sorted, numbers are 64 bits, and depth is limited.
#[test]
fn serde_json_of_the_user_reads_and_writes_as_usual() {
    assert_eq!(json!({"b": 1, "a": 2}).to_string(), r#"{"a":2,"b":1}"#);
    assert!(serde_json::from_str::<Value>("1e400").is_err());
    assert!(serde_json::from_str::<Value>("100000000000000000000").unwrap().is_f64());
    assert!(serde_json::from_str::<Value>(&"[".repeat(200)).unwrap_err().to_string().contains("recursion limit"));
}

#[tokio::test]
async fn an_agent_runs_beside_them() {
    let answer =
        r#"{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Oslo."}}]}"#;
    let model = openai("any").base_url(serve(answer).await).key("none").build().unwrap();
    let agent = LlmAgent::builder("helper").model(model).build().unwrap();
    let runner = Runner::builder("outside").root(agent).build().unwrap();
    assert_eq!(runner.run("ana", "s1", "The capital of Norway?").reply().await.unwrap(), "Oslo.");
}
