//! The questions with a deadline that were asked lately, found without a table of ours: by the numbers of the rows of `events`.
//!
//! While the last row that was looked at is there, every event that is appended gets a higher number: SQLite continues behind the
//! highest one. Behind a row that was deleted, numbers may have been given again; then an earlier row counts.

use pleach_core::{AppName, SessionKey};
use pleach_session::{InboxItem, LogPlace, NewDeadlines, SessionResult};
use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteRow;

use crate::SqliteSessionService;
use crate::column;
use crate::document::event_of_row;
use crate::writer::EventRow;

/// How many rows are kept that were the last one at a look, for when sessions with later ones are deleted.
const KEPT: usize = 32;

/// The rows that were the last ones at earlier looks, oldest first. An empty log has none.
#[derive(Clone, Default)]
struct Looked {
    rows: Vec<EventRow>,
    /// Whether no row had been deleted or dropped: then everything is behind the beginning, too.
    from_start: bool,
}

impl SqliteSessionService {
    /// Returns the questions with a deadline that the app has asked behind a place, or the end of the log; `None` when the log there has
    /// changed.
    pub(crate) async fn deadlines_since(
        &self,
        app_name: &AppName,
        since: Option<&LogPlace>,
    ) -> SessionResult<Option<NewDeadlines>> {
        let Some(since) = since else { return self.end_of_log().await.map(Some) };
        let Some(mut looked) = since.get::<Looked>().cloned() else { return Ok(None) };
        loop {
            let last = looked.rows.last();
            if last.is_none() && !looked.from_start {
                return Ok(None);
            }
            let found = sqlx::query(AssertSqlSafe(self.sql.inbox.deadlines.clone()))
                .bind(last.map_or(0, |last| last.row))
                .bind(app_name.as_str())
                .fetch_all(&self.readers)
                .await
                .map_err(|error| self.file.fault(error))?;
            let rows = found.iter().map(EventRow::of).collect::<sqlx::Result<Vec<_>>>();
            let rows = rows.map_err(|error| self.file.fault(error))?;
            let known = usize::from(last.is_some());
            if last.is_some() && rows.first() != last {
                looked.rows.pop();
                continue;
            }
            let mut items = Vec::new();
            for (row, place) in found.iter().zip(&rows).skip(known) {
                items.extend(self.deadlines_of(row, &place.session(app_name))?);
            }
            if let Some(newest) = rows.last().filter(|newest| Some(*newest) != last).cloned() {
                looked.rows.push(newest);
            }
            if looked.rows.len() > KEPT {
                looked.rows.remove(0);
                looked.from_start = false;
            }
            return Ok(Some(NewDeadlines { items, place: LogPlace::new(looked) }));
        }
    }

    async fn end_of_log(&self) -> SessionResult<NewDeadlines> {
        let newest = sqlx::query(AssertSqlSafe(self.sql.inbox.newest.clone())).fetch_optional(&self.readers).await;
        let newest = newest.and_then(|row| row.as_ref().map(EventRow::of).transpose());
        let newest = newest.map_err(|error| self.file.fault(error))?;
        let from_start = newest.is_none();
        let looked = Looked { rows: newest.into_iter().collect(), from_start };
        Ok(NewDeadlines { items: Vec::new(), place: LogPlace::new(looked) })
    }

    /// Returns what the event of a row asks. One that cannot be read asks nothing here: a listing of all questions reports it.
    fn deadlines_of(&self, row: &SqliteRow, session: &SessionKey) -> SessionResult<Vec<InboxItem>> {
        let document = column::text(row, "data").map_err(|error| self.file.fault(error))?;
        let Some(document) = document else { return Ok(Vec::new()) };
        let Ok(event) = event_of_row(row, &document, session, &self.file, self.layout()) else { return Ok(Vec::new()) };
        Ok(NewDeadlines::of_event(session, &event).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::{SqliteLayout, SqliteOptions, SqliteSessionService};
    use sqlx::{AssertSqlSafe, Row as _};

    /// An index of the app has all its events: a look would grow with their number.
    #[tokio::test]
    async fn a_look_reads_the_rows_behind_its_place_only() {
        for layout in [SqliteLayout::Lite, SqliteLayout::V1] {
            let folder = tempfile::tempdir().expect("a folder");
            let options = SqliteOptions::new().with_layout(layout);
            let service = SqliteSessionService::open_with(folder.path().join("s.db"), options).await.expect("a file");
            let plan = format!("EXPLAIN QUERY PLAN {}", service.sql.inbox.deadlines);
            let rows = sqlx::query(AssertSqlSafe(plan)).fetch_all(&service.readers).await.expect("a plan");
            let steps: Vec<&str> = rows.iter().map(|row| row.get("detail")).collect();
            let expected = ["SEARCH e USING INTEGER PRIMARY KEY (rowid>?)", "SCALAR SUBQUERY 1", "SEARCH events"];
            assert_eq!(steps, expected, "{layout:?}");
        }
    }
}
