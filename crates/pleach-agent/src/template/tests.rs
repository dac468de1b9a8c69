use std::future::ready;

use futures_util::FutureExt as _;
use serde_json::json;

use super::*;

/// State and artifacts of a session.
struct Session {
    state: Value,
    has_artifacts: bool,
}

impl TemplateSource for Session {
    fn state(&self, key: &str) -> Option<Value> {
        self.state.get(key).cloned()
    }

    fn artifact<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Part>, TemplateError>> {
        let found = match name {
            _ if !self.has_artifacts => Err(TemplateError::NoArtifactService),
            "note.txt" | "user:x.txt" => Ok(Some(Part::text(format!("text of {name}")))),
            "bad" => Err(TemplateError::Artifact { name: name.to_owned(), source: "disk on fire".into() }),
            _ => Ok(None),
        };
        Box::pin(ready(found))
    }
}

fn render(template: &str, state: Value, has_artifacts: bool) -> Result<String, TemplateError> {
    let session = Session { state, has_artifacts };
    inject_session_state(template, &session, "helper").now_or_never().expect("nothing waits")
}

#[track_caller]
fn check(template: &str, expected: &str) {
    let state = json!({
        "k": "v", "null": null, "yes": true, "one": 1.0, "big": 1e20, "small": 1e-5, "list": [1, "a"], "map": {"x": 1},
        "é": "e", "user:u": "U", "app:p": "P", "temp:t": "T", "braces": "{k}", "_x1": 7, "क़ि": "hindi",
    });
    assert_eq!(render(template, state, true).map_err(|error| error.to_string()).as_deref(), Ok(expected), "{template}");
}

// These rows of the edge-case table were observed by running google-adk 2.13.0.
#[test]
fn l12_l13_references_are_found_in_any_number_of_braces() {
    for template in ["{k}", "{ k? }", "{{k}}", "{{{k}}}", "{k}}", "{{k}", "{\nk\t}", "{k?}", "{k }"] {
        check(template, "v");
    }
    check("{{ {k} }}", "{{ v }}");
    check("a{k}{k}b{k}", "avvbv");
    check("{k} {", "v {");
    check("{k", "{k");
    check("}{k}{", "}v{");
    check("{a{k}", "{av");
    check("{k}{}{k}", "v{}v");
    check("", "");
}

#[test]
fn l12_l19_a_dollar_or_a_backslash_keeps_a_reference_and_stays() {
    check("${k}", "${k}");
    check("\\{k}", "\\{k}");
    check("${{k}} {k}", "${{k}} v");
    check("$ {k}", "$ v");
    check("{k}${k}", "v${k}");
    check("{none?}${k}", "${k}");
}

#[test]
fn l16_what_is_no_name_stays() {
    for template in [
        "{1abc}",
        "{sp ace}",
        "{a-b}",
        "{k.x}",
        "{}",
        "{?}",
        "{k??}",
        "{user: u}",
        "{foo:bar}",
        "{a:b:c}",
        "{{}}",
        "{ }",
        "{\"a\": 1}",
        "{user:}",
        "{:k}",
        "{user :u}",
    ] {
        check(template, template);
    }
    check("{é} {_x1} {क़ि}", "e 7 hindi");
    check("{user:u} { user:u } {app:p} {temp:t}", "U U P T");
}

#[test]
fn l17_l18_values_are_printed_and_not_searched_again() {
    check("[{null}] [{none?}] [{ none? }]", "[] [] []");
    check("{yes} {one} {big} {small} {list} {map}", "True 1.0 1e+20 1e-05 [1, 'a'] {'x': 1}");
    check("{braces}", "{k}");
}

#[test]
fn l17_an_absent_key_is_an_error_that_names_it_and_the_agent() {
    for key in ["none", "class", "user:none"] {
        let error = render(&format!("a {{{key}}}"), json!({}), true).unwrap_err();
        assert_eq!(error.to_string(), format!("Context variable not found: `{key}` in agent 'helper'."));
        assert_eq!(error.code(), "KeyError");
    }
}

#[test]
fn l14_artifacts_are_loaded_by_any_name() {
    check("{artifact.note.txt} / {artifact.none?}.", "text of note.txt / .");
    check("{artifact.user:x.txt} {artifact. ?}", "text of user:x.txt ");
    for (name, absent) in [("none", "none"), ("a b/c", "a b/c"), ("", "")] {
        let error = render(&format!("{{artifact.{name}}}"), json!({}), true).unwrap_err();
        assert_eq!(
            (error.to_string(), error.code()),
            (format!("Artifact '{absent}' not found in agent 'helper'."), "KeyError")
        );
    }
    let error = render("{artifact.none?}", json!({}), false).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.code()), ("Artifact service is not initialized.", "ValueError"));
    let error = render("{artifact.bad}", json!({}), true).unwrap_err();
    assert_eq!(error.to_string(), "artifact 'bad' cannot be loaded into an instruction: disk on fire");
    assert_eq!(render("no reference", json!({}), false).unwrap(), "no reference");
}

/// Renders 1,000 random templates, whose results `tests/python/record_templates.py` has recorded from google-adk
/// 2.13.0.
#[test]
fn l12_l19_random_templates_are_rendered_as_google_adk_does() {
    struct Recorded;

    impl TemplateSource for Recorded {
        fn state(&self, key: &str) -> Option<Value> {
            let state = json!({
                "k": "v", "null": null, "n": 1, "user:u": "{k}", "app:p": [1.0, {"a": true}], "é": "e", "_1": -2.5e-7,
            });
            state.get(key).cloned()
        }

        fn artifact<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Part>, TemplateError>> {
            Box::pin(ready(Ok((name == "note").then(|| Part::text("a note")))))
        }
    }

    for row in include_str!("../../tests/recorded/templates.jsonl").lines() {
        let row: Vec<Option<String>> = serde_json::from_str(row).unwrap();
        let template = row[0].as_deref().unwrap();
        let found = inject_session_state(template, &Recorded, "helper").now_or_never().unwrap();
        let expected = row[1].clone().ok_or_else(|| row[2].clone().unwrap());
        assert_eq!(found.map_err(|error| error.to_string()), expected, "{template:?}");
    }
}
