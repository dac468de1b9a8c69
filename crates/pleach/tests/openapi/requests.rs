//! Requests that are made from the arguments of calls.

use pleach::openapi::OpenApiToolset;
use serde_json::{Value, json};

use crate::server::{Answer, Request, Server};
use crate::support::{call, document, toolset_at};

/// Calls the only operation of the paths and returns the request.
async fn sent(paths: Value, args: Value) -> Request {
    let server = Server::start(|_| Answer::json("{}")).await;
    let toolset = toolset_at(server.url(), paths);
    assert_eq!(call(&toolset, "f", args).await, json!({}));
    server.request()
}

/// Calls the only operation of the paths, which must send nothing, and returns the error that the model sees.
async fn refused(paths: &Value, args: Value) -> String {
    let server = Server::start(|_| Answer::json("{}")).await;
    let toolset = toolset_at(server.url(), paths.clone());
    let response = call(&toolset, "f", args).await;
    assert_eq!(server.requests().len(), 0, "{response}");
    response["error"].as_str().unwrap().to_owned()
}

fn with_parameters(path: &str, parameters: Value) -> Value {
    json!({path: {"get": {"operationId": "f", "parameters": parameters}}})
}

fn with_body(media: &str, media_type: Value) -> Value {
    json!({"/a": {"post": {"operationId": "f", "requestBody": {"required": true, "content": {media: media_type}}}}})
}

#[tokio::test]
async fn every_place_gets_its_parameters() {
    let parameters = json!([
        {"name": "id", "in": "path", "schema": {"type": "string"}},
        {"name": "kind", "in": "path", "style": "label", "schema": {}},
        {"name": "filter", "in": "query", "style": "deepObject", "schema": {}},
        {"name": "ids", "in": "query", "style": "pipeDelimited", "explode": false, "schema": {}},
        {"name": "json", "in": "query", "content": {"application/json": {"schema": {}}}},
        {"name": "on", "in": "query", "schema": {"type": "boolean"}},
        {"name": "none", "in": "query", "schema": {"type": "string"}},
        {"name": "X-Trace", "in": "header", "schema": {}},
        {"name": "session", "in": "cookie", "schema": {}},
    ]);
    let args = json!({
        "id": "a/b?c#d é", "kind": ["x", "y"], "filter": {"a": 1}, "ids": [1, 2], "json": {"k": ["v"]}, "on": true,
        "none": null, "x_trace": [1, "two"], "session": "s; admin=1",
    });
    let request = sent(with_parameters("/pets/{id}/v{kind}?fixed=1", parameters), args).await;
    assert_eq!(
        request.line,
        "GET /pets/a%2Fb%3Fc%23d%20%C3%A9/v.x,y?fixed=1&filter%5Ba%5D=1&ids=1%7C2&json=%7B%22k%22%3A%5B%22v%22%5D%7D&on=true"
    );
    assert_eq!(request.header("x-trace"), Some("1,two"));
    assert_eq!(request.header("cookie"), Some("session=s%3B%20admin%3D1"));
    assert!(request.header("user-agent").unwrap().starts_with("pleach/"));
}

#[tokio::test]
async fn integers_beyond_64_bits_are_sent_with_all_digits() {
    const DIGITS: &str = "1234567890123456789012345";
    let integer = json!({"type": "integer"});
    let query = json!([{"name": "id", "in": "query", "schema": integer}]);
    let request = sent(with_parameters("/a", query), json!({"id": DIGITS})).await;
    assert_eq!(request.line, format!("GET /a?id={DIGITS}"));
    let object = json!({"type": "object", "properties": {
        "id": integer, "ids": {"type": "array", "items": integer}, "text": {"type": "string"}, "any": {},
    }});
    let args = json!({"id": DIGITS, "ids": [DIGITS, 1], "text": DIGITS, "any": DIGITS});
    let expected = format!("{{\"any\":\"{DIGITS}\",\"id\":{DIGITS},\"ids\":[{DIGITS},1],\"text\":\"{DIGITS}\"}}");
    let request = sent(with_body("application/json", json!({"schema": object})), args.clone()).await;
    assert_eq!(request.body, expected);
    let list = json!({"type": "array", "items": object});
    let request = sent(with_body("application/json", json!({"schema": list})), json!({"body": [args]})).await;
    assert_eq!(request.body, format!("[{expected}]"));
}

#[tokio::test]
async fn arguments_stay_in_their_place() {
    let paths = with_parameters(
        "/pets/{id}?fixed=1",
        json!([
            {"name": "id", "in": "path", "schema": {"type": "string"}},
            {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
            {"name": "any", "in": "query", "schema": {"type": "object"}},
            {"name": "limit", "in": "query", "schema": {"type": "integer"}},
            {"name": "session", "in": "cookie", "schema": {}},
        ]),
    );
    for (args, expected) in [
        (json!({"id": ".."}), "the argument `id` is a part of the path, and has a segment `.` or `..`"),
        (json!({"id": "../../admin"}), "segment"),
        (json!({"id": "%2e%2e"}), "segment"),
        (json!({"id": ""}), "the argument `id` is empty"),
        (json!({"id": []}), "the argument `id` is empty"),
        (json!({"id": ["..", "x"]}), "segment"),
        (json!({"id": null}), "the argument `id` is missing"),
        (json!({}), "the argument `id` is missing"),
        (
            json!({"id": "1", "x_trace": "a\r\nhost: evil"}),
            "the argument `x_trace` has characters that no header may have",
        ),
        (json!({"id": "1", "x_trace": "a\u{0}"}), "no header may have"),
        (json!({"id": "1", "any": {"limit": 5}}), "has a field with the name of another query parameter"),
        (json!({"id": "1", "any": {"fixed": 2}}), "has a field with the name of another query parameter"),
        (json!({"id": "1", "any": {"a": {"b": 1}}}), "nests values deeper"),
        (json!({"id": "1", "session": {"admin": "1"}}), "a cookie cannot hold"),
        (
            json!({"id": "1", "host": "evil"}),
            "there is no argument `host`; the arguments are: id, x_trace, any, limit, session",
        ),
    ] {
        let error = refused(&paths, args).await;
        assert!(error.contains(expected), "{error}");
    }
}

/// A model cannot change the segments of a path: only the last segment is the argument.
#[tokio::test]
async fn no_text_leaves_its_segment() {
    let parameters = json!([{"name": "id", "in": "path", "schema": {"type": "string"}}]);
    let paths = with_parameters("/pets/{id}", parameters);
    for text in [
        "a?b=c",
        "a#b",
        "a/b",
        "//evil.example.com",
        "a\\b",
        "a%2Fb",
        "a%00b",
        "a\u{0}b",
        "a\tb\r\nhost: evil",
        "a b+c&d=e",
        "@evil.example.com",
        ":80",
        ";x=1",
        "{id}",
        "…",
        "\u{202e}",
        "a..",
        "..a",
        "...",
        "%",
        "%zz",
        "'\"<>|^`",
    ] {
        let line = sent(paths.clone(), json!({"id": text})).await.line;
        let segment = line.strip_prefix("GET /pets/").unwrap_or_else(|| panic!("{text}: {line}"));
        assert!(!segment.contains(['/', '?', '#', ' ', '\\']), "{text}: {line}");
        assert_eq!(decoded(segment), text, "{line}");
    }
}

#[tokio::test]
async fn defaults_are_sent_where_a_value_is_needed() {
    let paths = with_parameters(
        "/a",
        json!([
            {"name": "x", "in": "query", "required": true, "schema": {"type": "integer", "default": 5}},
            {"name": "y", "in": "query", "schema": {"type": "integer", "default": 6}},
        ]),
    );
    assert_eq!(sent(paths, json!({})).await.line, "GET /a?x=5");
}

#[tokio::test]
async fn a_body_of_json_has_its_properties_as_arguments() {
    let schema = json!({"type": "object", "required": ["petName"], "properties": {
        "petName": {"type": "string"}, "tag": {"type": ["string", "null"]}, "age": {"type": "integer"}, "any": {},
    }});
    let paths = with_body("application/json", json!({"schema": schema}));
    let request = sent(paths.clone(), json!({"pet_name": "Rex", "tag": null, "age": null, "any": {"x": [1]}})).await;
    assert_eq!(
        serde_json::from_str::<Value>(&request.body).unwrap(),
        json!({"petName": "Rex", "tag": null, "any": {"x": [1]}})
    );
    assert_eq!(refused(&paths, json!({"tag": "x"})).await, "the argument `pet_name` is missing");
    for (schema, body) in [
        (json!({"type": "array", "items": {"type": "integer"}}), json!([1, 2])),
        (json!({"type": "object"}), json!({"free": 1})),
        (json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true}), json!({"free": 1})),
        (json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}), json!("x")),
        (json!({"allOf": [{"type": "object", "properties": {"a": {}}}]}), json!({"a": 1})),
    ] {
        let paths = with_body("application/vnd.api+json", json!({"schema": schema}));
        let request = sent(paths, json!({"body": body})).await;
        assert_eq!(serde_json::from_str::<Value>(&request.body).unwrap(), body);
        assert_eq!(request.header("content-type"), Some("application/vnd.api+json"));
    }
}

#[tokio::test]
async fn an_optional_body_is_left_out() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {"a": {}}});
    let operation = json!({"operationId": "f", "requestBody": {"content": {"application/json": {"schema": schema}}}});
    let request = sent(json!({"/a": {"post": operation}}), json!({})).await;
    assert_eq!((request.header("content-type"), request.body.as_str()), (None, ""));
}

#[tokio::test]
async fn a_body_that_is_sent_has_its_required_properties() {
    let schema =
        json!({"type": "object", "required": ["a"], "properties": {"a": {}, "b": {"$ref": "#/components/schemas/S"}}});
    let operation = json!({"operationId": "f", "requestBody": {"content": {"application/json": {"schema": schema}}}});
    let mut document = document(json!({"/a": {"post": operation}}));
    document["components"] = json!({"schemas": {"S": {"type": "string"}}});
    let server = Server::start(|_| Answer::json("{}")).await;
    let toolset = OpenApiToolset::builder(document).base_url(server.url()).build().unwrap();
    assert_eq!(crate::support::schema_of(&toolset, "f")["required"], json!(["a"]));
    assert_eq!(call(&toolset, "f", json!({"b": "x"})).await, json!({"error": "the argument `a` is missing"}));
    // Null does not fit the schema that `b` refers to.
    assert_eq!(call(&toolset, "f", json!({"a": 1, "b": null})).await, json!({}));
    assert_eq!(server.request().body, r#"{"a":1}"#);
}

#[tokio::test]
async fn fields_of_an_exploded_object_are_no_other_properties_of_a_form() {
    let schema = json!({"type": "object", "properties": {"role": {}, "meta": {"type": "object"}}});
    let media_type = json!({"schema": schema, "encoding": {"meta": {"style": "form", "explode": true}}});
    let body = json!({"content": {"application/x-www-form-urlencoded": media_type}});
    let paths = json!({"/a": {"post": {"operationId": "f", "requestBody": body}}});
    let toolset = crate::support::toolset_at("http://127.0.0.1:1".to_owned(), paths);
    let response = call(&toolset, "f", json!({"meta": {"role": "admin"}})).await;
    assert_eq!(response, json!({"error": "the argument `meta` has a field with the name of another property"}));
}

#[tokio::test]
async fn the_best_content_type_is_chosen() {
    let text = json!({"schema": {"type": "string"}});
    let schema = json!({"schema": {"type": "object", "properties": {"a": {}}}});
    for (content, expected) in [
        (json!({"text/plain": text, "application/json": schema, "multipart/form-data": schema}), "application/json"),
        (
            json!({"application/xml": schema, "application/x-www-form-urlencoded": schema}),
            "application/x-www-form-urlencoded",
        ),
        (json!({"*/*": schema}), "application/json"),
        (json!({"application/json; charset=utf-8": schema}), "application/json; charset=utf-8"),
    ] {
        let paths = json!({"/a": {"post": {"operationId": "f", "requestBody": {"content": content}}}});
        assert_eq!(sent(paths, json!({"a": 1})).await.header("content-type"), Some(expected));
    }
}

#[tokio::test]
async fn forms_and_texts_are_sent_as_the_document_says() {
    let schema = json!({"type": "object", "properties": {"a": {}, "tags": {}, "meta": {}, "deep": {}}});
    let media_type = json!({"schema": schema, "encoding": {"deep": {"style": "deepObject", "explode": true}}});
    let args = json!({"a": "x&y=z", "tags": [1, 2], "meta": {"k": 1}, "deep": {"k": 1}});
    let request = sent(with_body("application/x-www-form-urlencoded", media_type), args).await;
    assert_eq!(request.body, "a=x%26y%3Dz&deep%5Bk%5D=1&meta=%7B%22k%22%3A1%7D&tags=1&tags=2");
    for media in ["text/plain", "application/octet-stream", "text/csv"] {
        let request = sent(with_body(media, json!({"schema": {"type": "string"}})), json!({"body": "a,b\n1,2"})).await;
        assert_eq!((request.header("content-type"), request.body.as_str()), (Some(media), "a,b\n1,2"));
    }
}

#[tokio::test]
async fn parts_keep_their_borders() {
    let schema = json!({"type": "object", "properties": {
        "title": {"type": "string"}, "meta": {"type": "object"}, "file": {"type": "string", "format": "binary"},
    }});
    let media_type = json!({"schema": schema, "encoding": {"file": {"contentType": "text/csv, text/plain"}}});
    let paths = with_body("multipart/form-data", media_type);
    let title = "x\r\n--b\r\ncontent-disposition: form-data; name=\"admin\"\r\n\r\n1";
    let request = sent(paths, json!({"title": title, "meta": {"k": 1}, "file": "a,b"})).await;
    let content_type = request.header("content-type").unwrap();
    let border = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    let expected = format!(
        "--{border}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"file\"\r\ncontent-type: text/csv\r\n\r\na,b\r\n\
         --{border}\r\ncontent-disposition: form-data; name=\"meta\"\r\ncontent-type: application/json\r\n\r\n{{\"k\":1}}\r\n\
         --{border}\r\ncontent-disposition: form-data; name=\"title\"\r\n\r\n{title}\r\n--{border}--\r\n"
    );
    assert_eq!(request.body, expected);
}

#[tokio::test]
async fn headers_of_the_program_are_not_the_models() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let parameters = json!([{"name": "X-Tenant", "in": "header", "required": true, "schema": {}}]);
    let toolset = OpenApiToolset::builder(document(with_parameters("/a", parameters)))
        .base_url(server.url())
        .header("x-tenant", "north")
        .header_provider(
            |ctx| async move { Ok([("x-user", ctx.user_id().to_owned()), ("accept", "text/csv".to_owned())]) },
        )
        .build()
        .unwrap();
    assert_eq!(call(&toolset, "f", json!({})).await, json!({}));
    let request = server.request();
    let headers = ["x-tenant", "x-user", "accept"].map(|name| request.header(name));
    assert_eq!(headers, [Some("north"), Some("ana"), Some("text/csv")]);
}

/// Decodes `%XX`.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}
