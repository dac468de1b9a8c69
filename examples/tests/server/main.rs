//! Runs the example `server` as a program.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

#[path = "../example/mod.rs"]
mod example;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A running server. It is killed when this value is dropped.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(example::program("server"));
        let mut child =
            command.args(args).args(["--port", "0"]).current_dir(folder).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").expect("the program prints its URL").to_owned();
        Self { child, address }
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> String {
        let (address, body) = (&self.address, body.to_string());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}",
            body.len()
        );
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(format!("{head}\r\ncontent-type: application/json\r\n\r\n{body}").as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_chat_is_served_and_another_process_continues_it() {
    let folder = example::empty_folder("server", "chat");
    let args = ["--sessions", "sqlite:chat.db"];
    let sessions = "/apps/demo/users/ana/sessions";
    let message = |text: &str| json!({"appName": "demo", "userId": "ana", "sessionId": "s1", "newMessage": {"parts": [{"text": text}]}});
    {
        let served = Served::start(&folder, &args);
        assert!(served.send("GET", "/list-apps", &json!({})).ends_with("[\"demo\",\"wf\"]"));
        assert!(served.send("POST", sessions, &json!({"sessionId": "s1"})).starts_with("HTTP/1.1 200"));
        let reply = served.send("POST", "/run", &message("weather?"));
        assert!(reply.contains("tool said: [('city', 'Paris'), ('temp_c', 21)]"), "{reply}");
    }
    let served = Served::start(&folder, &args);
    let reply = served.send("POST", "/run_sse", &message("hi"));
    assert!(reply.contains("You said: hi"), "{reply}");
    let stored = served.send("GET", &format!("{sessions}/s1"), &json!({}));
    assert_eq!(stored.matches("\"author\":\"user\"").count(), 2, "{stored}");
}

#[test]
fn the_development_server_is_optional() {
    let folder = example::empty_folder("server", "dev");
    for (args, status) in [(&[][..], "404"), (&["--dev"], "200")] {
        let served = Served::start(&folder, args);
        let reply = served.send("GET", "/dev/apps/demo/build_graph", &json!({}));
        assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{reply}");
    }
}

#[test]
fn the_options_of_google_adk_are_read_in_either_spelling() {
    let folder = example::empty_folder("server", "options");
    std::fs::create_dir(folder.join("ui")).unwrap();
    let config = "/dev-ui/assets/config/runtime-config.json";
    for options in [
        ["--url_prefix", "--max_llm_calls", "--logo-text", "--logo-image-url"],
        ["--url-prefix", "--max-llm-calls", "--logo_text", "--logo_image_url"],
    ] {
        let values = ["https://front.example/adk", "1", "Shop", "https://shop.example/l.png"];
        let pairs = options.iter().zip(values).flat_map(|(option, value)| [*option, value]);
        let args: Vec<&str> = ["--ui", "ui", "--auto_create_session"].into_iter().chain(pairs).collect();
        let served = Served::start(&folder, &args);
        let reply = served.send("GET", config, &json!({}));
        let body: Value = serde_json::from_str(reply.rsplit("\r\n").next().unwrap()).unwrap();
        let logo = json!({"text": "Shop", "imageUrl": "https://shop.example/l.png"});
        assert_eq!(body, json!({"backendUrl": values[0], "telemetry": null, "logo": logo}));
        assert!(served.send("GET", "/", &json!({})).contains("location: /adk/dev-ui/\r\n"));
        let message = json!({"appName": "demo", "userId": "ana", "sessionId": "s1",
            "newMessage": {"parts": [{"text": "weather?"}]}});
        let reply = served.send("POST", "/run_sse", &message);
        assert!(reply.contains("LlmCallsLimitExceededError"), "{reply}");
    }
}

#[test]
fn the_command_line_is_explained_and_checked() {
    let folder = example::empty_folder("server", "usage");
    let run =
        |args: &[&str]| Command::new(example::program("server")).args(args).current_dir(&folder).output().unwrap();
    let help = run(&["--help"]);
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("usage: server"));
    for (args, text) in [
        (&["--dve"][..], "server: invalid option '--dve'; `--help` shows the options\n"),
        (&["--ui", "nope", "--port", "0"], "the folder of the browser UI does not exist: nope"),
        (&["--logo-text", "Shop"], "--logo-text and --logo-image-url are needed together"),
        (&["--sessions", "nope:x"], "nope"),
        (&["--host", "203.0.113.1", "--port", "1"], "cannot listen at"),
    ] {
        let refused = run(args);
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&refused.stderr).contains(text), "{refused:?}");
    }
}
