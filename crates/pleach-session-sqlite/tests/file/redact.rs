//! The traces that a redaction leaves in the file.

use pleach_contract::sessions::{created, event, loaded};
use pleach_core::Content;
use pleach_session::{Redaction, SessionServiceExt as _};
use serde_json::json;

use super::{LAYOUTS, Place, key};

/// Returns `true` if a file of the database contains the text.
fn holds(place: &Place, text: &str) -> bool {
    let files = std::fs::read_dir(place.folder.path()).unwrap();
    let mut contents = files.map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    contents.any(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}

/// A short document is inside a page with others, a long one on pages of its own.
#[tokio::test]
async fn a_redacted_document_is_overwritten_in_the_file_and_its_log() {
    for layout in LAYOUTS {
        for length in [10, 50_000, 300_000] {
            let place = Place::of(layout);
            let service = place.open().await;
            let mut session = created(&service, &key("s"), json!({})).await;
            let text = format!("begins 4111 {} ends 4111", "x".repeat(length));
            service.append_event(&mut session, event("e1", 1.0).with_content(Content::user(text))).await.unwrap();
            assert!(holds(&place, "begins 4111") && holds(&place, "ends 4111"));
            service.redact(&key("s"), &"e1".into(), &Redaction::new(["/content"], "a request")).await.unwrap();
            assert!(!holds(&place, "begins 4111") && !holds(&place, "ends 4111"), "{length} {layout:?}");
            assert_eq!(loaded(&service, &key("s")).await.events[0].text(), "[redacted]");
        }
    }
}

/// Redactions of other events move a row within its pages.
#[tokio::test]
async fn no_page_keeps_a_copy_of_a_redacted_row() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        let mut session = created(&service, &key("s"), json!({})).await;
        let names: Vec<_> = (0..40).map(|number| format!("e{number:02}")).collect();
        for (number, name) in names.iter().enumerate() {
            let text = format!("<{name}> {} </{name}>", "x".repeat(number * 37 % 13 * 500));
            service.append_event(&mut session, event(name, 1.0).with_content(Content::user(text))).await.unwrap();
        }
        for number in 0..names.len() {
            let name = &names[number * 7 % names.len()];
            let redaction = Redaction::new(["/content"], "r".repeat(number * 5 % 11 * 300));
            service.redact(&key("s"), &name.as_str().into(), &redaction).await.unwrap();
            assert!(!holds(&place, &format!("<{name}>")) && !holds(&place, &format!("</{name}>")), "{name} {layout:?}");
        }
    }
}

/// Stores a document of the event `e1` as another program would.
async fn insert(place: &Place, document: &str) {
    let time = if place.layout == LAYOUTS[0] { "1760000001.5" } else { "'2025-10-09 08:53:21.500000'" };
    place
        .run(&format!(
            "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data) \
             VALUES ('e1', 'app', 'user', 's', 'inv', {time}, '{document}')"
        ))
        .await;
}

/// A document of another program keeps its unknown fields, and the columns take precedence as in a load.
#[tokio::test]
async fn documents_of_other_programs_keep_their_other_fields() {
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        created(&service, &key("s"), json!({})).await;
        insert(&place, r#"{"author": "a", "invocation_id": "inv", "output": "4111", "news": {"of": 1}}"#).await;
        let before = loaded(&service, &key("s")).await;
        let redacted = service.redact(&key("s"), &"e1".into(), &Redaction::new(["/output"], "r").with_time(1.0)).await;
        let redacted = serde_json::to_value(&*redacted.unwrap()).unwrap();
        assert_eq!((&redacted["news"], &redacted["output"]), (&json!({"of": 1}), &json!("[redacted]")));
        let after = loaded(&service, &key("s")).await;
        assert_eq!(serde_json::to_value(&*after.events[0]).unwrap(), redacted);
        assert_eq!(after.events[0].timestamp(), before.events[0].timestamp(), "{layout:?}");
    }
}

/// Integers that reading would round keep their digits if they are not redacted.
#[tokio::test]
async fn integers_of_other_programs_keep_their_digits() {
    const BIG: &str = "123456789012345678901234567890";
    for layout in LAYOUTS {
        let place = Place::of(layout);
        let service = place.open().await;
        created(&service, &key("s"), json!({})).await;
        let document = format!(
            r#"{{"author": "a", "invocation_id": "inv", "output": {{"card": "4111", "big": [-{BIG}]}}, "news": {BIG}}}"#
        );
        insert(&place, &document).await;
        let redaction = Redaction::new(["/output/card"], "r").with_time(1.0);
        let redacted = service.redact(&key("s"), &"e1".into(), &redaction).await.unwrap();
        assert!(holds(&place, &format!(r#"{{"big":[-{BIG}],"card":"[redacted]"}}"#)), "{layout:?}");
        assert!(holds(&place, &format!(r#""news":{BIG}"#)) && !holds(&place, "4111"), "{layout:?}");
        assert_eq!(*loaded(&service, &key("s")).await.events[0], *redacted);
    }
}
