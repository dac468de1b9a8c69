//! The servers that operations are sent to.

use pleach::AuthCredential;
use pleach::openapi::{OpenApiSetupError, OpenApiToolset, OpenApiToolsetBuilder};
use serde_json::{Value, json};

use crate::support::document;

fn with_servers(servers: Value) -> OpenApiToolsetBuilder {
    let mut document = document(json!({"/a": {"get": {}}}));
    document["servers"] = servers;
    OpenApiToolset::builder(document)
}

fn base(builder: OpenApiToolsetBuilder) -> Result<String, String> {
    let toolset = builder.build().map_err(|error| error.to_string())?;
    Ok(toolset.list_tools()[0].base_url().to_owned())
}

#[test]
fn the_server_is_that_of_the_document_or_the_program() {
    let templates = json!([{"url": "https://{region}.example.com/{v}", "variables": {
        "region": {"default": "eu", "enum": ["eu", "us"]}, "v": {"default": "v1"},
    }}]);
    for (builder, expected) in [
        (with_servers(json!([{"url": "https://a.example.com/v1/"}, {"url": "https://b"}])), "https://a.example.com/v1"),
        (with_servers(templates.clone()), "https://eu.example.com/v1"),
        (with_servers(templates.clone()).server_variable("region", "us"), "https://us.example.com/v1"),
        (with_servers(templates).base_url("https://own.example.com/x"), "https://own.example.com/x"),
        (
            with_servers(json!([{"url": "/v2"}])).document_url("https://docs.example.com/api/openapi.json"),
            "https://docs.example.com/v2",
        ),
        (
            with_servers(json!([{"url": "v2"}])).document_url("https://docs.example.com/api/openapi.json"),
            "https://docs.example.com/api/v2",
        ),
        (with_servers(json!([])).document_url("https://docs.example.com/api/openapi.json"), "https://docs.example.com"),
    ] {
        assert_eq!(base(builder).as_deref(), Ok(expected));
    }
}

#[test]
fn servers_that_cannot_be_used_are_faults() {
    let variables = json!([{"url": "https://{region}", "variables": {"region": {"default": "eu", "enum": ["eu"]}}}]);
    for (builder, expected) in [
        (with_servers(json!([{"url": "/v2"}])), "is relative: give the address of the API with `.base_url(…)`"),
        (with_servers(json!([])), "is relative"),
        (with_servers(json!([{"url": "ftp://a"}])), "must begin with `https://` or `http://`"),
        (with_servers(json!([{"url": "https://u:p@a"}])), "contains a user name or password"),
        (with_servers(json!([{"url": "https://a?key=1"}])), "has a query or a fragment"),
        (with_servers(json!([{"url": "https://{x}"}])), "has the variable `x`, which is not declared"),
        (with_servers(json!([{"url": "https://{x"}])), "has a `{` without `}`"),
        (with_servers(json!([{}])), "`url` is missing"),
        (with_servers(json!({})), "the value must be a list"),
        (with_servers(variables.clone()).server_variable("region", "evil.example.com/"), "its enum lacks it"),
        (with_servers(variables).server_variable("other", "x"), "is in no URL of a server that is used"),
        (with_servers(json!([])).base_url("nonsense"), "`.base_url(…)`"),
    ] {
        let error = base(builder).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn paths_and_operations_have_servers_of_their_own() {
    let document = || {
        document(json!({
            "/a": {"servers": [{"url": "https://path.example.com"}], "get": {"operationId": "a"}, "put": {"operationId": "b", "servers": [{"url": "https://own.example.com"}]}},
            "/c": {"get": {"operationId": "c"}},
        }))
    };
    let bases = |toolset: OpenApiToolset| {
        toolset.list_tools().iter().map(|tool| tool.base_url().to_owned()).collect::<Vec<_>>()
    };
    let toolset = OpenApiToolset::builder(document()).build().unwrap();
    assert_eq!(bases(toolset), ["https://path.example.com", "https://own.example.com", "https://pets.example.com/v1"]);
    let toolset = OpenApiToolset::builder(document()).base_url("https://x").build().unwrap();
    assert_eq!(bases(toolset), ["https://x"; 3]);
}

#[test]
fn credentials_and_headers_need_encryption() {
    let plain = || with_servers(json!([{"url": "http://pets.example.com"}]));
    assert!(plain().build().is_ok());
    let error = plain().header("x-key", "hush").build().unwrap_err();
    assert!(
        error.to_string().contains("`pets.example.com` would get credentials or headers without encryption"),
        "{error}"
    );
    assert!(plain().header("x-key", "hush").allow_plain_http().build().is_ok());
    let mut document = document(json!({"/a": {"get": {"security": [{"k": []}]}}}));
    document["components"] = json!({"securitySchemes": {"k": {"type": "http", "scheme": "bearer"}}});
    for (at, is_refused) in [
        ("http://pets.example.com", true),
        ("http://localhost.example.com", true),
        ("http://[::ffff:10.0.0.1]", true),
        ("https://pets.example.com", false),
        ("http://127.0.0.1:1", false),
        ("http://[::1]", false),
        ("http://[::ffff:127.0.0.1]", false),
        ("http://localhost.", false),
        ("http://api.localhost", false),
    ] {
        let built = OpenApiToolset::builder(document.clone()).base_url(at).build();
        assert_eq!(built.is_err(), is_refused, "{at}");
    }
    let unused = OpenApiToolset::builder(document).credential(AuthCredential::api_key("hush")).build().unwrap_err();
    assert!(matches!(unused, OpenApiSetupError::Credential { .. }), "{unused}");
}

#[test]
fn a_variable_stays_in_its_place() {
    let servers = json!([{"url": "https://{host}.example.com", "variables": {"host": {"default": "pets"}}}]);
    let build = |value: &str| with_servers(servers.clone()).server_variable("host", value).build();
    assert!(build("shop").is_ok());
    for value in ["evil.example@x", "evil.example?", "evil.example#", "evil.example\\"] {
        let error = build(value).unwrap_err().to_string();
        assert!(error.contains("cannot have this value of the variable `host`"), "{error}");
    }
}
