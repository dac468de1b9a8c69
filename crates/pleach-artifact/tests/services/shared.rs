//! Rules that hold for every service.

use pleach_artifact::{
    ArtifactScope, ArtifactService, FileArtifactService, InMemoryArtifactService, SaveArtifact, rewind_tombstone,
};
use pleach_core::{Part, SessionKey};
use serde_json::json;

use super::{clock, code, key, load, other_session, save, scope};

/// Creates one test for each rule and service.
macro_rules! rules {
    ($($rule:ident),+ $(,)?) => {
        $(mod $rule {
            #[tokio::test]
            async fn inmemory() {
                super::$rule(&super::InMemoryArtifactService::with_clock(super::clock())).await;
            }

            #[tokio::test]
            async fn file() {
                let folder = tempfile::tempdir().expect("a folder");
                let service = super::FileArtifactService::open(folder.path(), super::clock()).await;
                super::$rule(&service.expect("a service")).await;
            }
        })+
    };
}

rules!(
    s70_versions_are_described,
    s71_versions_count_from_zero_and_restart_after_delete,
    s72_user_names_are_seen_from_every_session,
    s74_bytes_come_back_as_they_were,
    s74_a_part_without_content_is_refused,
    s76_the_tombstone_is_a_version_that_loads_as_none,
    s77_ids_that_leave_their_folder_are_refused,
    s77_saved_artifacts_can_be_listed_in_their_scope,
    names_nest_without_disturbing_each_other,
    apps_users_and_sessions_are_apart,
);

async fn s70_versions_are_described(service: &dyn ArtifactService) {
    let metadata = json!({"by": "ann", "none": null}).as_object().cloned().expect("an object");
    save(service, &key("f"), "one").await;
    let req = SaveArtifact::new(key("f"), "two").with_custom_metadata(metadata.clone());
    assert_eq!(service.save_artifact(req).await.expect("stored"), 1);

    let all = service.list_artifact_versions(&key("f")).await.expect("versions");
    assert_eq!(all.iter().map(|v| v.version).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(all.iter().map(|v| v.create_time).collect::<Vec<_>>(), [100.0, 101.0]);
    assert!(all[0].custom_metadata.is_empty());
    assert_eq!(all[1].custom_metadata, metadata);
    for (version, expected) in [(None, Some(&all[1])), (Some(0), Some(&all[0])), (Some(2), None), (Some(-1), None)] {
        let found = service.get_artifact_version(&key("f"), version).await.expect("a version");
        assert_eq!(found.as_ref(), expected);
    }
}

async fn s71_versions_count_from_zero_and_restart_after_delete(service: &dyn ArtifactService) {
    assert_eq!(load(service, &key("f")).await, None);
    assert_eq!(save(service, &key("f"), "zero").await, 0);
    assert_eq!(save(service, &key("f"), "one").await, 1);
    assert_eq!(load(service, &key("f")).await, Some(Part::text("one")));
    for (version, expected) in [(0, Some("zero")), (1, Some("one")), (2, None), (-1, None)] {
        let found = service.load_artifact(&key("f"), Some(version)).await.expect("a part");
        assert_eq!(found, expected.map(Part::text));
    }
    assert_eq!(service.list_versions(&key("f")).await.expect("versions"), [0, 1]);

    service.delete_artifact(&key("f")).await.expect("deleted");
    service.delete_artifact(&key("f")).await.expect("deleting nothing succeeds");
    assert_eq!(load(service, &key("f")).await, None);
    assert_eq!(service.list_versions(&key("f")).await.expect("versions"), [0; 0]);
    assert_eq!(service.list_artifact_keys(&scope()).await.expect("names"), [""; 0]);
    assert_eq!(save(service, &key("f"), "again").await, 0);
}

async fn s72_user_names_are_seen_from_every_session(service: &dyn ArtifactService) {
    save(service, &key("user:a"), "mine").await;
    save(service, &key("z"), "of the session").await;
    save(service, &key("b"), "of the session").await;

    let elsewhere = other_session().artifact("user:a");
    assert_eq!(load(service, &elsewhere).await, Some(Part::text("mine")));
    assert_eq!(load(service, &other_session().artifact("b")).await, None);
    let names = async |scope: &ArtifactScope| service.list_artifact_keys(scope).await.expect("names");
    assert_eq!(names(&scope()).await, ["b", "user:a", "z"]);
    assert_eq!(names(&other_session()).await, ["user:a"]);
    assert_eq!(names(&ArtifactScope::user("app", "u1")).await, ["user:a"]);
}

async fn s74_bytes_come_back_as_they_were(service: &dyn ArtifactService) {
    let mut part = Part::bytes("image/png", vec![0, 159, 255]);
    part.inline_data.as_mut().expect("inline data").display_name = Some("P".into());
    save(service, &key("p.png"), part.clone()).await;
    assert_eq!(load(service, &key("p.png")).await, Some(part));
    let info = service.get_artifact_version(&key("p.png"), None).await.expect("a version");
    assert_eq!(info.expect("a version").mime_type.as_deref(), Some("image/png"));
}

async fn s74_a_part_without_content_is_refused(service: &dyn ArtifactService) {
    assert_eq!(code(service, &key("f"), Part::default()).await, "InputValidationError");
    assert_eq!(service.list_versions(&key("f")).await.expect("versions"), [0; 0]);
}

async fn s76_the_tombstone_is_a_version_that_loads_as_none(service: &dyn ArtifactService) {
    save(service, &key("f"), "text").await;
    assert_eq!(save(service, &key("f"), rewind_tombstone()).await, 1);
    assert_eq!(load(service, &key("f")).await, None);
    assert_eq!(service.list_versions(&key("f")).await.expect("versions"), [0, 1]);
    assert_eq!(save(service, &key("f"), Part::bytes("image/png", Vec::new())).await, 2);
    assert!(load(service, &key("f")).await.is_some());
}

async fn s77_ids_that_leave_their_folder_are_refused(service: &dyn ArtifactService) {
    for (app, user, session) in [("..", "u", "s"), ("a", "u/../v", "s"), ("a", "u", "/s"), ("", "u", "s")] {
        let scope = ArtifactScope::session(&SessionKey::new(app, user, session));
        let key = scope.artifact("f");
        assert_eq!(code(service, &key, "x").await, "InputValidationError");
        assert!(service.load_artifact(&key, None).await.is_err());
        assert!(service.delete_artifact(&key).await.is_err());
        assert!(service.list_artifact_keys(&scope).await.is_err());
    }
}

/// A `user:` name is stored outside the session, and was once saved under session ids that no listing accepts.
async fn s77_saved_artifacts_can_be_listed_in_their_scope(service: &dyn ArtifactService) {
    for session in ["..", "/s", "a//b", " ", "a\0", "a/versions", "user", "s1"] {
        let scope = ArtifactScope::session(&SessionKey::new("app", "u1", session));
        for name in ["user:f", "f"] {
            let saved = service.save_artifact(SaveArtifact::new(scope.artifact(name), "x")).await;
            let listed = service.list_artifact_keys(&scope).await;
            let is_listed = listed.is_ok_and(|names| names.iter().any(|listed| listed == name));
            assert_eq!(saved.is_ok(), is_listed, "{session:?}: {name}");
        }
    }
    let user = service.list_artifact_keys(&ArtifactScope::user("app", "u1")).await.expect("names");
    assert_eq!(user, ["user:f"]);
}

async fn names_nest_without_disturbing_each_other(service: &dyn ArtifactService) {
    save(service, &key("doc"), "parent").await;
    save(service, &key("doc/page"), "child").await;
    assert_eq!(service.list_artifact_keys(&scope()).await.expect("names"), ["doc", "doc/page"]);
    service.delete_artifact(&key("doc")).await.expect("deleted");
    assert_eq!(load(service, &key("doc/page")).await, Some(Part::text("child")));
    assert_eq!(service.list_artifact_keys(&scope()).await.expect("names"), ["doc/page"]);
}

async fn apps_users_and_sessions_are_apart(service: &dyn ArtifactService) {
    save(service, &key("f"), "x").await;
    save(service, &key("user:f"), "x").await;
    for other in [("app2", "u1", "s1"), ("app", "u2", "s1")] {
        let scope = ArtifactScope::session(&SessionKey::new(other.0, other.1, other.2));
        assert_eq!(service.list_artifact_keys(&scope).await.expect("names"), [""; 0]);
        assert_eq!(load(service, &scope.artifact("user:f")).await, None);
    }
}
