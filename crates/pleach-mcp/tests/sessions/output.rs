//! Tests of the standard output of a child: messages spread over lines, broken messages, and logs.

use std::time::Duration;

use pleach_context::Tool as _;
use pleach_mcp::{McpError, McpToolset};

use crate::hostile::{names, script};

const LIST: &str = r#"{"tools":[{"name":"a","inputSchema":{}}]}"#;

/// Lists the tools of a child that writes this after the request. `ID` is replaced by the id of the request.
async fn listed(text: &str) -> Result<Vec<String>, McpError> {
    let text = text.replace("LIST", LIST).replace("ID", "'\"$id\"'");
    names(script(&format!("next; printf '{text}'; cat > /dev/null"))).await
}

#[tokio::test]
async fn messages_are_read_in_whatever_lines() {
    for text in [
        // Printed for people, whole or in part, with lines that end as on Windows.
        r#"{\n  "jsonrpc": "2.0",\n  "id": ID,\n  "result": LIST\n}\n"#,
        r#"{\r\n  "jsonrpc": "2.0",\r\n\r\n  "id": ID,\r\n  "result": LIST\r\n}\r\n"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{\n"tools":[\n{"name":"a","inputSchema":{}}\n]}}\n"#,
        r#"[\n{"jsonrpc":"2.0","id":ID,"result":LIST}\n]\n"#,
        // After a byte order mark, after white space, or on one line with other messages.
        r#"\357\273\277{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        r#"\n\n  \t{"jsonrpc":"2.0","id":ID,"result":LIST}  \r\n"#,
        r#"{"jsonrpc":"2.0","method":"notifications/x"}{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        r#"[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":ID,"result":LIST}]\n"#,
        // Among logs.
        r#"Loading...{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        r#"> {"jsonrpc":"2.0","id":ID,"method":"tools/list"}\n{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        r#"[info] ready\n{"broken\n{"level":"info"}\n{}\n[]\n{ready}\n{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        r#"{\n{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        r#"INFO ready {"id":ID,"jsonrpc":"2.0","result":LIST}\n"#,
        r#"INFO ready {"result":LIST,"id":ID,"jsonrpc":"2.0"} done {x}\n"#,
        r#"{cfg} {"level":1} it is "ready {"id":ID,"result":LIST,"jsonrpc":"2.0"}\n"#,
        r#"{"jsonrpc":"2.0","method":"notifications/x"} INFO {"jsonrpc":"2.0","id":ID,"result":LIST} ok\n"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":LIST} answered in 3 ms {"a":1}\n"#,
        // On the line of another message that is not finished.
        r#"{"jsonrpc":"2.0","id":99,"result":{"a":"x{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        // In a batch with other messages.
        r#"[{"jsonrpc":"2.0","id":99,"result":{}},7,{"jsonrpc":"2.0","id":"ID","result":LIST}]\n"#,
        // With members that are odd.
        r#"{"id":"ID","result":LIST}\n"#,
        r#"{"jsonrpc":2,"id":ID.0,"result":LIST,"error":null,"extra":1}\n"#,
        r#"{"jsonrpc":"2.0","id":null,"result":LIST}\n"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a","inputSchema":{},"description":"x\ny"}]}}\n"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a","inputSchema":{"maximum":NaN}}]}}\n"#,
        // Without the end of the line.
        r#"{"jsonrpc":"2.0","id":ID,"result":LIST}"#,
    ] {
        assert_eq!(listed(text).await.as_deref().map_err(ToString::to_string), Ok(&["a".to_owned()][..]), "{text}");
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_an_error_of_its_call_at_once() {
    for text in [
        r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[}}\n"#,
        r#"{"jsonrpc":"2.0","id":"ID","result":{tools}}\n"#,
        r#"{"result":{"tools":[{"id":999,}]},"id":ID,"jsonrpc":"2.0"}\n"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":None}\n"#,
        r#"{"jsonrpc":"2.0","result":{"tools":undefined}}\n"#,
        // Cut.
        r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a"\n"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a"\n{"jsonrpc":"2.0","method":"notifications/x"}\n"#,
        r#"{"jsonrpc":"2.0","id":ID,\n"result":{\n"#,
        // Nothing in it.
        r#"{"jsonrpc":"2.0","id":ID}\n"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":7}}\n"#,
    ] {
        let within = tokio::time::timeout(Duration::from_secs(10), listed(text));
        let error = within.await.unwrap().unwrap_err();
        assert!(matches!(error, McpError::Answer { .. }), "{text}: {error}");
    }
}

#[tokio::test]
async fn the_error_of_a_message_that_cannot_be_read_shows_the_request_and_how_it_begins() {
    for (text, start) in [
        // An object as Python's `print`, JavaScript's `console.log` and Ruby's `p` write it.
        (
            r#"{\047jsonrpc\047: \0472.0\047, \047id\047: ID, \047result\047: {\047tools\047: []}}\n"#,
            "{'jsonrpc': '2.0', 'id': ",
        ),
        (
            r#"{\047id\047: \047ID\047,\n \047result\047: {\047tools\047: None},\n \047jsonrpc\047: \0472.0\047}\n"#,
            "{'id': '",
        ),
        (r#"{\n  jsonrpc: \0472.0\047,\n  id: ID,\n  result: { tools: [ [Object] ] }\n}\n"#, "{ jsonrpc: '2.0', id: "),
        (r#"{"jsonrpc"=>"2.0", "id"=>ID, "result"=>{"tools"=>[]}}\n"#, "{\"jsonrpc\"=>"),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[}}\n"#, "{\"jsonrpc\":\"2.0\",\"id\":"),
    ] {
        let within = tokio::time::timeout(Duration::from_secs(10), listed(text));
        let error = within.await.unwrap().unwrap_err().to_string();
        assert!(error.contains("answered with a message that cannot be read (request 1): "), "{text}: {error}");
        assert!(error.contains(start), "{text}: {error}");
    }
}

// Objects in other notations belong to logs unless they name the protocol.
#[tokio::test]
async fn objects_that_a_log_prints_are_passed_over() {
    let log = r#"{\047id\047: ID, \047result\047: \047ok\047}\n{ id: ID, error: x }\n{\047jsonrpc\047: \0472.0\047, \047id\047: ID, \047method\047: \047tools/list\047}\n"#;
    let text = format!(r#"{log}{{"jsonrpc":"2.0","id":ID,"result":LIST}}\n"#);
    assert_eq!(listed(&text).await.unwrap(), ["a"]);
}

// The error comes before the limit of the call, which is 30 seconds.
#[tokio::test]
async fn the_lines_of_a_log_keep_no_message_open() {
    let begun = r#"{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a\n"#;
    let child = script(&format!(r#"next; printf '{begun}' "$id"; while echo INFO tick; do sleep 0.2; done"#));
    let error = tokio::time::timeout(Duration::from_secs(15), names(child)).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("began a message and did not end it (request 1): {"), "{error}");
}

#[tokio::test]
async fn a_message_that_is_never_ended_fails_at_the_limit_and_the_next_call_gets_another_session() {
    let folder = tempfile::tempdir().unwrap();
    let hangs_once = format!(
        r#"if mkdir '{}' 2>/dev/null; then next; printf '{{"jsonrpc":"2.0","id":%s,"result":{{"tools":[{{"na' "$id"; cat > /dev/null;
           else next; answer '{LIST}'; cat > /dev/null; fi"#,
        folder.path().join("begun").display()
    );
    let limit = Duration::from_secs(2);
    let toolset = McpToolset::builder(script(&hangs_once)).name("s").list_timeout(limit).build().unwrap();
    let error = toolset.list_tools(None).await.unwrap_err();
    assert_eq!(error, McpError::Unfinished { server: "s".to_owned(), what: "list its tools", limit });
    assert_eq!(
        error.to_string(),
        "the MCP server `s` began a message and did not end it: it did not list its tools within 2 s"
    );
    assert_eq!(toolset.list_tools(None).await.unwrap()[0].name(), "a");
}

#[tokio::test]
async fn the_last_line_of_a_server_that_ends_needs_no_end() {
    let message = r#"printf '{"jsonrpc":"2.0","id":%s,"result":%s}' "$id""#;
    assert_eq!(names(script(&format!("next; {message} '{LIST}'"))).await.unwrap(), ["a"]);
    let error = names(script(r#"next; printf '{"jsonrpc":"2.0","id":%s,"result":{"tools' "$id""#)).await.unwrap_err();
    assert!(error.to_string().contains("began a message and did not end it (request 1)"), "{error}");
}

// A server may also write log text without a line break before its notices and requests.
#[tokio::test]
async fn notices_and_requests_on_a_line_of_a_log_are_handled() {
    let asks = r#"next; printf 'Loading... {"id":"p","jsonrpc":"2.0","method":"ping"}\n'; answered=$id; read -r pong
        case "$pong" in *'"p"'*) id=$answered; answer '{"tools":[{"name":"ponged","inputSchema":{}}]}';; esac; cat > /dev/null"#;
    assert_eq!(names(script(asks)).await.unwrap(), ["ponged"]);
    let echo = r#"next; printf '> {"jsonrpc":"2.0","id":%s,"method":"ping"}\n' "$id"; answer 'LIST'; cat > /dev/null"#;
    assert_eq!(names(script(&echo.replace("LIST", LIST))).await.unwrap(), ["a"]);
}

#[tokio::test]
async fn an_error_without_an_id_belongs_to_the_only_call() {
    for error in [r#"{"code":-32700,"message":"parse error"}"#, r#"{"message":"parse error"}"#, r#""parse error""#] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}\n"#);
        let error = listed(&text).await.unwrap_err();
        assert!(matches!(&error, McpError::Refused { message, .. } if message == "parse error"), "{error}");
    }
}

#[tokio::test]
async fn answers_to_nothing_are_passed_over() {
    let text = r#"{"jsonrpc":"2.0","id":77,"result":{}}\n{"jsonrpc":"2.0","id":78,"result":{\n{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#;
    assert_eq!(listed(text).await.unwrap(), ["a"]);
}
