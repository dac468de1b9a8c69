//! What a child writes to its standard output: messages in whatever lines, broken ones, and logs.

use std::time::Duration;

use pleach_mcp::McpError;

use crate::hostile::{names, script};

const LIST: &str = r#"{"tools":[{"name":"a","inputSchema":{}}]}"#;

/// Lists the tools of a child that writes this after the request, where `ID` is the request's.
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
        // After a mark of the encoding, after white space, in one line with others.
        r#"\357\273\277{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        r#"\n\n  \t{"jsonrpc":"2.0","id":ID,"result":LIST}  \r\n"#,
        r#"{"jsonrpc":"2.0","method":"notifications/x"}{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        r#"[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":ID,"result":LIST}]\n"#,
        // Among logs.
        r#"Loading...{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        r#"> {"jsonrpc":"2.0","id":ID,"method":"tools/list"}\n{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        r#"[info] ready\n{"broken\n{"level":"info"}\n{}\n[]\n{ready}\n{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
        r#"{\n{"jsonrpc":"2.0","id":ID,"result":LIST}\n"#,
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
