//! Files that are refused, and the texts of the errors.

use std::fs;

use pleach_memory::{AddEvents, MemoryError, MemoryService as _, SearchMemory};
use pleach_memory_sqlite::SqliteMemoryService;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Executor as _};

use super::{Place, add, event, found};

async fn execute(place: &Place, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(place.path()).create_if_missing(true);
    options.connect().await.expect("connected").execute(sql).await.expect("executed");
}

async fn refused(place: &Place) -> MemoryError {
    let error = SqliteMemoryService::open(place.path()).await.expect_err("refused");
    assert!(error.to_string().contains("memory.sqlite"), "{error}");
    error
}

#[tokio::test]
async fn s82_another_version_is_refused_and_not_changed() {
    let place = Place::new();
    let create = "CREATE TABLE adk_memory_metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        INSERT INTO adk_memory_metadata VALUES ('schema_version', '2')";
    execute(&place, create).await;
    let before = fs::read(place.path()).expect("a file");
    let error = refused(&place).await;
    assert_eq!(error.code(), "UnsupportedStorageError");
    assert!(error.to_string().contains(r#"schema version "2""#), "{error}");
    assert_eq!(fs::read(place.path()).expect("a file"), before);
}

#[tokio::test]
async fn another_programs_table_is_refused() {
    let place = Place::new();
    execute(&place, "CREATE TABLE memory_events (id INTEGER PRIMARY KEY, event TEXT)").await;
    let error = refused(&place).await;
    assert_eq!(error.code(), "UnsupportedStorageError");
    assert!(error.to_string().contains("another program"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_refused() {
    let place = Place::new();
    fs::write(place.path(), "a text of some length, which is not a database at all").expect("written");
    assert_eq!(refused(&place).await.code(), "CorruptStorageError");
    fs::remove_file(place.path()).expect("removed");
    fs::create_dir(place.path()).expect("a folder");
    assert_eq!(refused(&place).await.code(), "StorageUnavailableError");
}

#[tokio::test]
async fn names_of_in_memory_databases_are_refused() {
    for name in ["", ":memory:"] {
        let error = SqliteMemoryService::open(name).await.expect_err("refused");
        assert_eq!(error.code(), "UnsupportedStorageError");
    }
}

#[tokio::test]
async fn missing_folders_are_created() {
    let place = Place::new();
    let path = place.0.path().join("a/b/memory.sqlite");
    SqliteMemoryService::open(&path).await.expect("a memory");
    assert!(path.exists());
    let error = SqliteMemoryService::open(path.join("c")).await.expect_err("a file is not a folder");
    assert_eq!(error.code(), "StorageUnavailableError");
}

#[tokio::test]
async fn a_damaged_entry_is_named() {
    let place = Place::new();
    let service = place.open().await;
    add(&service, "s", vec![event("e1", 1.0, "tea"), event("e2", 1.0, "coffee")]).await;
    execute(&place, "UPDATE memory_events SET content_json = '{' WHERE id = 2").await;
    let error = service.search_memory(SearchMemory::new("app", "u1", "coffee")).await.expect_err("damaged");
    assert_eq!(error.code(), "CorruptStorageError");
    assert!(error.to_string().starts_with("content_json of entry 2 in SQLite file "), "{error}");
    assert_eq!(found(&service, "tea").await, ["e1"]);
}

#[tokio::test]
async fn other_faults_name_the_file_and_the_cause() {
    let place = Place::new();
    let service = place.open().await;
    execute(&place, "DROP TABLE memory_events_fts").await;
    let error = service.search_memory(SearchMemory::new("app", "u1", "tea")).await.expect_err("no table");
    let text = error.to_string();
    assert!(text.starts_with("sqlite memory storage failed: SQLite file ") && text.contains("no such table"), "{text}");
}

#[tokio::test]
async fn a_closed_service_is_unavailable() {
    let place = Place::new();
    let service = place.open().await;
    service.close().await;
    let req = AddEvents::new("app", "u1", vec![event("e1", 1.0, "tea")]);
    assert_eq!(service.add_events_to_memory(req).await.expect_err("closed").code(), "StorageUnavailableError");
}
