//! Artifacts, memory and listings.

use std::sync::Arc;
use std::time::Duration;

use pleach::{
    AddEvents, ArtifactScope, ArtifactService, BoxError, Clock, Content, CreateSession, Event, FileArtifactService,
    InMemoryArtifactService, InMemoryMemoryService, ListSessions, MemoryService, Part, SaveArtifact, SearchMemory,
    SqliteMemoryService, SystemClock,
};

use super::growth::growth;
use crate::events::event;
use crate::measure::now;
use crate::row::Row;
use crate::stores::Backend;

pub(super) fn rows() -> Vec<Row> {
    let mut rows = vec![
        growth("artifact_versions,mem", 100, async |count| {
            versions(&InMemoryArtifactService::with_clock(clock()), count).await
        }),
        growth("artifact_names,mem", 100, async |count| {
            names(&InMemoryArtifactService::with_clock(clock()), count).await
        }),
        growth("artifact_versions,file", 50, async |count| {
            let folder = tempfile::tempdir()?;
            versions(&FileArtifactService::open(folder.path(), clock()).await?, count).await
        }),
        growth("artifact_names,file", 50, async |count| {
            let folder = tempfile::tempdir()?;
            names(&FileArtifactService::open(folder.path(), clock()).await?, count).await
        }),
        growth("memory_words,mem", 2_000, async |words| search(&InMemoryMemoryService::new(), 10, words).await),
        growth("memory_entries,mem", 200, async |count| search(&InMemoryMemoryService::new(), count, 10).await),
        growth("memory_words,sqlite", 2_000, async |words| {
            let folder = tempfile::tempdir()?;
            search(&SqliteMemoryService::open(folder.path().join("memory.db")).await?, 10, words).await
        }),
        growth("memory_entries,sqlite", 200, async |count| {
            let folder = tempfile::tempdir()?;
            search(&SqliteMemoryService::open(folder.path().join("memory.db")).await?, count, 10).await
        }),
    ];
    rows.extend(Backend::ALL.into_iter().map(|backend| {
        let row = growth("", 100, async move |count| list(backend, count).await);
        Row { param: format!("list_sessions,{}", backend.name()), ..row }.on(backend)
    }));
    rows
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

fn scope() -> ArtifactScope {
    ArtifactScope::user("bench", "ana")
}

/// Saves `count` versions of one artifact and lists them.
async fn versions(service: &dyn ArtifactService, count: usize) -> Result<Duration, BoxError> {
    let key = scope().artifact("user:report.txt");
    let begin = now();
    for _ in 0..count {
        service.save_artifact(SaveArtifact::new(key.clone(), Part::text("report"))).await?;
    }
    let found = service.list_artifact_versions(&key).await?.len();
    let time = begin.elapsed();
    if found == count { Ok(time) } else { Err(format!("{found} versions instead of {count}").into()) }
}

/// Saves `count` artifacts and lists them.
async fn names(service: &dyn ArtifactService, count: usize) -> Result<Duration, BoxError> {
    let begin = now();
    for number in 0..count {
        let key = scope().artifact(format!("user:report{number}.txt"));
        service.save_artifact(SaveArtifact::new(key, Part::text("report"))).await?;
    }
    let found = service.list_artifact_keys(&scope()).await?.len();
    let time = begin.elapsed();
    if found == count { Ok(time) } else { Err(format!("{found} names instead of {count}").into()) }
}

/// Adds `count` entries of some words and searches for all of the words.
async fn search(service: &dyn MemoryService, count: usize, words: usize) -> Result<Duration, BoxError> {
    let text: Vec<String> = (0..words).map(|word| format!("word{word}")).collect();
    let text = text.join(" ");
    let entry = |number| -> Arc<Event> {
        let mut entry = event(number);
        entry.set_content(Some(Content::model(text.clone())));
        Arc::new(entry)
    };
    let add = AddEvents::new("bench", "ana", (0..count).map(entry).collect()).with_session("s");
    let begin = now();
    service.add_events_to_memory(add).await?;
    let found = service.search_memory(SearchMemory::new("bench", "ana", text)).await?;
    let time = begin.elapsed();
    if found.memories.is_empty() { Err("nothing found".into()) } else { Ok(time) }
}

async fn list(backend: Backend, count: usize) -> Result<Duration, BoxError> {
    let store = backend.open().await?;
    let service = store.unsynced().await?;
    for number in 0..count {
        service.create_session(CreateSession::new("listed", format!("user{}", number % 10))).await?;
    }
    let begin = now();
    let found = store.sessions.list_sessions(ListSessions::new("listed")).await?.sessions.len();
    let time = begin.elapsed();
    store.sessions.close().await?;
    if found == count { Ok(time) } else { Err(format!("{found} sessions instead of {count}").into()) }
}
