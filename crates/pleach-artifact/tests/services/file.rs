//! Rules of the file service only.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use pleach_artifact::{ArtifactScope, ArtifactService, FileArtifactService, SaveArtifact};
use pleach_core::{FileData, Part};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{clock, code, key, load, save, scope};

async fn service() -> (TempDir, FileArtifactService) {
    let folder = tempfile::tempdir().expect("a folder");
    let service = FileArtifactService::open(folder.path().join("root"), clock()).await;
    (folder, service.expect("a service"))
}

fn all_files(folder: &Path, below: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all_files(&path, below, found);
        } else {
            let relative = path.strip_prefix(below).expect("below");
            found.insert(relative.to_string_lossy().into_owned());
        }
    }
}

#[tokio::test]
async fn s73_a_bare_name_without_session_is_the_users() {
    let (_folder, service) = service().await;
    let user = ArtifactScope::user("app", "u1");
    save(&service, &user.artifact("f"), "x").await;
    assert_eq!(service.list_artifact_keys(&scope()).await.expect("names"), ["f"]);
    assert_eq!(load(&service, &key("f")).await, None);
    assert_eq!(load(&service, &key("user:f")).await, Some(Part::text("x")));
}

#[tokio::test]
async fn s74_file_data_is_refused_and_missing_types_get_a_default() {
    let (_folder, service) = service().await;
    let file = Part { file_data: Some(Box::new(FileData::default())), ..Part::default() };
    assert_eq!(code(&service, &key("f"), file).await, "InputValidationError");
    let mut part = Part::bytes("", vec![1]);
    save(&service, &key("b"), part.clone()).await;
    part.inline_data.as_mut().expect("inline data").mime_type = Some("application/octet-stream".into());
    assert_eq!(load(&service, &key("b")).await, Some(part.clone()));
    part.inline_data.as_mut().expect("inline data").data = None;
    assert_eq!(code(&service, &key("b"), part).await, "InputValidationError");
    save(&service, &key("t"), "text").await;
    let info = service.get_artifact_version(&key("t"), None).await.expect("a version");
    assert_eq!(info.expect("a version").mime_type, None);
}

#[tokio::test]
async fn s77_files_lie_where_google_adk_looks_for_them() {
    let (folder, service) = service().await;
    save(&service, &key("a/b c.txt"), "x").await;
    save(&service, &key("user:p.png"), Part::bytes("image/png", vec![1])).await;
    let root = folder.path().join("root");
    let mut found = BTreeSet::new();
    all_files(&root, &root, &mut found);
    let session = "apps/app/users/u1/sessions/s1/artifacts/a/b c.txt/versions/0";
    let user = "apps/app/users/u1/artifacts/p.png/versions/0";
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        [
            format!("{user}/metadata.json"),
            format!("{user}/p.png"),
            format!("{session}/b c.txt"),
            format!("{session}/metadata.json"),
        ]
    );
    let metadata = fs::read(root.join(user).join("metadata.json")).expect("a file");
    let real = fs::canonicalize(&root).expect("a folder");
    assert_eq!(
        serde_json::from_slice::<Value>(&metadata).expect("JSON"),
        json!({
            "version": 0,
            "canonicalUri": format!("file://{}/{user}/p.png", real.display()),
            "customMetadata": {},
            "createTime": 101.0,
            "mimeType": "image/png",
            "fileName": "user:p.png",
        })
    );
}

#[tokio::test]
async fn s77_names_that_lead_out_are_refused_and_nothing_is_written() {
    let (folder, service) = service().await;
    for name in
        ["../f", "a/../../f", "/etc/f", "\\f", "C:f", "user:../f", "..\\f", "a\0", "metadata.json", "x/Versions/y"]
    {
        assert_eq!(code(&service, &key(name), "x").await, "InputValidationError", "{name}");
    }
    let mut found = BTreeSet::new();
    all_files(folder.path(), folder.path(), &mut found);
    assert_eq!(found, BTreeSet::new());
}

#[cfg(unix)]
#[tokio::test]
async fn s77_links_that_lead_out_are_refused() {
    let (folder, service) = service().await;
    save(&service, &key("inside"), "x").await;
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).expect("a folder");
    let artifacts = folder.path().join("root/apps/app/users/u1/sessions/s1/artifacts");
    std::os::unix::fs::symlink(&outside, artifacts.join("link")).expect("a link");
    for name in ["link", "link/f"] {
        assert_eq!(code(&service, &key(name), "x").await, "InputValidationError");
        assert!(service.load_artifact(&key(name), None).await.is_err());
    }
    assert_eq!(service.list_artifact_keys(&scope()).await.expect("names"), ["inside"]);
}

/// If any path below the root is a link, nothing beyond the link is read, written, listed or removed.
#[cfg(unix)]
#[tokio::test]
async fn no_link_below_the_root_is_followed() {
    use std::os::unix::fs::symlink;

    let place = "root/apps/app/users/u1/sessions/s1/artifacts";
    // A payload and its metadata are files; everything else is a folder.
    for link in ["", "f", "f/versions", "f/versions/0", "f/versions/0/f", "f/versions/0/metadata.json"] {
        let (folder, service) = service().await;
        save(&service, &key("f"), "secret").await;
        let (path, moved) =
            (folder.path().join(format!("{place}/{link}").trim_end_matches('/')), folder.path().join("moved"));
        fs::rename(&path, &moved).expect("moved");
        symlink(&moved, &path).expect("a link");
        let before = files(&moved);
        let seen = service.load_artifact(&key("f"), None).await;
        assert!(!matches!(seen, Ok(Some(_))), "{link}: {seen:?}");
        if link != "f/versions/0/metadata.json" && link != "f/versions/0/f" {
            let names = service.list_artifact_keys(&scope()).await;
            assert!(names.is_err() || names.unwrap().is_empty(), "{link}");
        }
        let saved = SaveArtifact::new(key("f"), Part::text("new"));
        let _ = service.save_artifact(saved).await;
        let _ = service.delete_artifact(&key("f")).await;
        assert_eq!(files(&moved), before, "{link}");
    }
}

/// Returns all files at or below a path, with their contents.
#[cfg(unix)]
fn files(path: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    if path.is_file() {
        return vec![(path.to_owned(), fs::read(path).expect("a file"))];
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).expect("a folder") {
        found.extend(files(&entry.expect("an entry").path()));
    }
    found.sort();
    found
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_new_folders_and_files() {
    use std::os::unix::fs::PermissionsExt as _;

    let (folder, service) = service().await;
    save(&service, &key("f"), "secret").await;
    let mut open = vec![folder.path().join("root")];
    while let Some(path) = open.pop() {
        let mode = fs::metadata(&path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        if path.is_dir() {
            open.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        }
    }
}

#[tokio::test]
async fn s77_an_abandoned_save_is_not_seen_and_keeps_its_number() {
    let (folder, service) = service().await;
    save(&service, &key("f"), "zero").await;
    let versions = folder.path().join("root/apps/app/users/u1/sessions/s1/artifacts/f/versions");
    fs::create_dir(versions.join(".1.pending")).expect("a folder");
    assert_eq!(load(&service, &key("f")).await, Some(Part::text("zero")));
    assert_eq!(save(&service, &key("f"), "two").await, 2);
    assert_eq!(service.list_versions(&key("f")).await.expect("versions"), [0, 2]);
}

#[tokio::test]
async fn s77_paths_never_come_from_the_metadata() {
    let (folder, service) = service().await;
    save(&service, &key("f"), "mine").await;
    let path = folder.path().join("root/apps/app/users/u1/sessions/s1/artifacts/f/versions/0/metadata.json");
    let tampered = json!({"version": 0, "canonicalUri": "file:///etc/hostname", "fileName": "f"});
    fs::write(&path, tampered.to_string()).expect("written");
    assert_eq!(load(&service, &key("f")).await, Some(Part::text("mine")));
    let info = service.get_artifact_version(&key("f"), None).await.expect("a version");
    assert!(!info.expect("a version").canonical_uri.contains("hostname"));

    fs::write(&path, "{").expect("written");
    let error = service.load_artifact(&key("f"), None).await.expect_err("damaged");
    assert_eq!(error.code(), "ArtifactStorageError");
    assert_eq!(service.list_artifact_keys(&scope()).await.expect("names"), ["f"]);
}

#[tokio::test(flavor = "current_thread")]
async fn concurrent_saves_get_different_versions() {
    let (_folder, service) = service().await;
    let service = Arc::new(service);
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let service = Arc::clone(&service);
            tokio::spawn(async move {
                let req = SaveArtifact::new(key("f"), format!("{n}"));
                (n, service.save_artifact(req).await.expect("stored"))
            })
        })
        .collect();
    let mut versions = Vec::new();
    for task in tasks {
        let (n, version) = task.await.expect("a task");
        let part = service.load_artifact(&key("f"), Some(version)).await.expect("a part");
        assert_eq!(part, Some(Part::text(format!("{n}"))));
        versions.push(version);
    }
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions.len(), 20);
}

/// The error is logged, and metadata may be secret.
#[tokio::test]
async fn damaged_metadata_is_not_shown() {
    let (folder, service) = service().await;
    save(&service, &key("f"), "mine").await;
    let path = folder.path().join("root/apps/app/users/u1/sessions/s1/artifacts/f/versions/0/metadata.json");
    fs::write(&path, r#"{"version": 0, "mimeType": ["sk-live-1"], "fileName": "f"}"#).expect("written");
    let error = service.load_artifact(&key("f"), None).await.expect_err("damaged");
    assert!(error.to_string().contains("line 1, column"), "{error}");
    fs::write(&path, r#"{"version": "sk-live-1"}"#).expect("written");
    let error = service.load_artifact(&key("f"), None).await.expect_err("damaged");
    assert!(!format!("{error} {error:?}").contains("sk-live-1"), "{error}");
}

/// No number follows the largest one.
#[tokio::test]
async fn no_version_follows_the_last_one() {
    let (folder, service) = service().await;
    save(&service, &key("f"), "mine").await;
    let versions = folder.path().join("root/apps/app/users/u1/sessions/s1/artifacts/f/versions");
    fs::create_dir(versions.join(i64::MAX.to_string())).expect("a folder");
    let request = SaveArtifact::new(key("f"), Part::text("more"));
    let error = service.save_artifact(request).await.expect_err("there is no number");
    assert!(error.to_string().contains("no version can follow 9223372036854775807"), "{error}");
}
