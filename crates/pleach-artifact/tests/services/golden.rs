//! Files that google-adk's own service wrote.

use std::fs;
use std::path::Path;

use pleach_artifact::{ArtifactScope, ArtifactService, FileArtifactService};
use pleach_core::{Bytes, Part};
use serde_json::json;

use super::{clock, key, load, save, scope};

/// Copies a folder, because opening a service may write to it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).expect("copied");
        }
    }
}

#[tokio::test]
async fn s77_a_tree_of_google_adk_is_read_and_continued() {
    let folder = tempfile::tempdir().expect("a folder");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), folder.path());
    let service = FileArtifactService::open(folder.path(), clock()).await.expect("a service");

    let names = service.list_artifact_keys(&scope()).await.expect("names");
    assert_eq!(names, ["bare.bin", "gone.txt", "notes/day one.txt", "user:p.png"]);
    let users = service.list_artifact_keys(&ArtifactScope::user("app", "u1")).await.expect("names");
    assert_eq!(users, ["bare.bin", "user:p.png"]);

    let notes = key("notes/day one.txt");
    assert_eq!(load(&service, &notes).await, Some(Part::text("zweite Fassung: ü\n")));
    let infos = service.list_artifact_versions(&notes).await.expect("versions");
    assert_eq!(infos[1].create_time, 1_760_000_002.25);
    assert_eq!(serde_json::Value::from(infos[1].custom_metadata.clone()), json!({"by": "ann", "n": 1.5}));

    let picture = load(&service, &key("user:p.png")).await.expect("a picture");
    let blob = picture.inline_data.expect("inline data");
    assert_eq!(blob.data, Some(Bytes(b"\x89PNG\0\xff".to_vec())));
    assert_eq!(blob.display_name.as_deref(), Some("P"));
    assert_eq!(load(&service, &key("gone.txt")).await, None);

    assert_eq!(save(&service, &notes, "third").await, 2);
    assert_eq!(service.list_versions(&notes).await.expect("versions"), [0, 1, 2]);
}
