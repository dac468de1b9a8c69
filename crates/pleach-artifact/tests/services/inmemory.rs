//! Rules of the in-memory service only.

use pleach_artifact::{ArtifactReference, ArtifactScope, ArtifactService, InMemoryArtifactService};
use pleach_core::{FileData, Part, SessionKey};

use super::{clock, code, key, load, other_session, save};

fn service() -> InMemoryArtifactService {
    InMemoryArtifactService::with_clock(clock())
}

fn file(uri: &str, mime_type: Option<&str>) -> Part {
    Part {
        file_data: Some(Box::new(FileData {
            file_uri: Some(uri.to_owned()),
            mime_type: mime_type.map(str::to_owned),
            ..FileData::default()
        })),
        ..Part::default()
    }
}

fn reference(filename: &str, version: i64) -> Part {
    let key = key(filename);
    file(&ArtifactReference { key, version }.to_string(), None)
}

#[tokio::test]
async fn s73_a_bare_name_needs_a_session() {
    let service = service();
    let key = ArtifactScope::user("app", "u1").artifact("f");
    assert_eq!(code(&service, &key, "x").await, "InputValidationError");
    let error = service.load_artifact(&key, None).await.expect_err("no session");
    assert!(
        error.to_string().starts_with("artifact `f` belongs to a session, but the scope has no session: "),
        "{error}"
    );
}

#[tokio::test]
async fn s74_media_types_and_uris() {
    let service = service();
    save(&service, &key("t"), "text").await;
    save(&service, &key("user:t"), "text").await;
    save(&service, &key("g"), file("gs://bucket/x", Some("a/b"))).await;
    for (name, uri, mime_type) in [
        ("t", "memory://apps/app/users/u1/sessions/s1/artifacts/t/versions/0", "text/plain"),
        ("user:t", "memory://apps/app/users/u1/artifacts/user:t/versions/0", "text/plain"),
        ("g", "memory://apps/app/users/u1/sessions/s1/artifacts/g/versions/0", "a/b"),
    ] {
        let info = service.get_artifact_version(&key(name), None).await.expect("a version");
        let info = info.expect("a version");
        assert_eq!((info.canonical_uri.as_str(), info.mime_type.as_deref()), (uri, Some(mime_type)));
    }
    assert_eq!(load(&service, &key("g")).await, Some(file("gs://bucket/x", Some("a/b"))));
}

#[tokio::test]
async fn s75_references_are_followed_five_times() {
    let service = service();
    save(&service, &key("r0"), "end").await;
    for hop in 1..=6 {
        save(&service, &key(&format!("r{hop}")), reference(&format!("r{}", hop - 1), 0)).await;
    }
    assert_eq!(load(&service, &key("r5")).await, Some(Part::text("end")));
    let error = service.load_artifact(&key("r6"), None).await.expect_err("too long");
    assert_eq!(error.code(), "InputValidationError");
    save(&service, &key("lost"), reference("nothing", 3)).await;
    assert_eq!(load(&service, &key("lost")).await, None);
    let far = "artifact://apps/app/users/u1/sessions/s1/artifacts/r0/versions/100000000000000000000";
    save(&service, &key("far"), file(far, None)).await;
    assert_eq!(load(&service, &key("far")).await, None);
    save(&service, &key("self"), reference("self", 0)).await;
    assert!(service.load_artifact(&key("self"), None).await.is_err());
}

#[tokio::test]
async fn s75_references_stay_with_the_user_and_the_session() {
    let service = service();
    save(&service, &other_session().artifact("f"), "other").await;
    for scope in [
        other_session(),
        ArtifactScope::session(&SessionKey::new("app", "u2", "s1")),
        ArtifactScope::user("app2", "u1"),
    ] {
        let key_there = scope.artifact("user:f");
        let uri = ArtifactReference { key: key_there, version: 0 }.to_string();
        assert_eq!(code(&service, &key("r"), file(&uri, None)).await, "InputValidationError");
    }
    assert_eq!(code(&service, &key("r"), file("artifact://x", None)).await, "InputValidationError");
}

#[tokio::test]
async fn s77_a_session_called_user_is_refused() {
    let service = service();
    for session in ["user", "user/x"] {
        let scope = ArtifactScope::session(&SessionKey::new("app", "u1", session));
        assert_eq!(code(&service, &scope.artifact("f"), "x").await, "InputValidationError");
    }
}
