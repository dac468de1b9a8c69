//! Finding recently asked questions with a deadline by the row numbers of `events`, without a table of pleach's own.
//!
//! SQLite numbers a new row after the highest existing number. So while the last row of the previous scan exists, every
//! event appended later has a higher number. If that row was deleted, SQLite may have reused its number; then the scan
//! starts at an earlier known row.

use pleach_core::{AppName, SessionKey};
use pleach_session::{InboxItem, LogPlace, NewDeadlines, SessionResult};
use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteRow;

use crate::SqliteSessionService;
use crate::column;
use crate::document::event_of_row;
use crate::writer::EventRow;

/// The number of rows that are remembered from earlier scans, in case sessions with later rows are deleted.
const KEPT: usize = 32;

/// The last rows of earlier scans, oldest first. For an empty log there are none.
#[derive(Clone, Default)]
struct ScanPosition {
    rows: Vec<EventRow>,
    /// Whether the first scan found an empty log and no remembered row was dropped. If all remembered rows are gone,
    /// the scan can then start at the beginning of the log.
    from_start: bool,
}

impl SqliteSessionService {
    /// Returns the questions with a deadline that the app has asked since a position in the log. Without a position,
    /// returns only the position of the log's end. Returns `None` if the log has changed at `since`.
    pub(crate) async fn deadlines_since(
        &self,
        app_name: &AppName,
        since: Option<&LogPlace>,
    ) -> SessionResult<Option<NewDeadlines>> {
        let Some(since) = since else { return self.end_of_log().await.map(Some) };
        let Some(mut position) = since.get::<ScanPosition>().cloned() else { return Ok(None) };
        loop {
            let last = position.rows.last();
            if last.is_none() && !position.from_start {
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
                position.rows.pop();
                continue;
            }
            let mut items = Vec::new();
            for (row, place) in found.iter().zip(&rows).skip(known) {
                items.extend(self.deadlines_of(row, &place.session(app_name))?);
            }
            if let Some(newest) = rows.last().filter(|newest| Some(*newest) != last).cloned() {
                position.rows.push(newest);
            }
            if position.rows.len() > KEPT {
                position.rows.remove(0);
                position.from_start = false;
            }
            return Ok(Some(NewDeadlines { items, place: LogPlace::new(position) }));
        }
    }

    async fn end_of_log(&self) -> SessionResult<NewDeadlines> {
        let newest = sqlx::query(AssertSqlSafe(self.sql.inbox.newest.clone())).fetch_optional(&self.readers).await;
        let newest = newest.and_then(|row| row.as_ref().map(EventRow::of).transpose());
        let newest = newest.map_err(|error| self.file.fault(error))?;
        let from_start = newest.is_none();
        let position = ScanPosition { rows: newest.into_iter().collect(), from_start };
        Ok(NewDeadlines { items: Vec::new(), place: LogPlace::new(position) })
    }

    /// Returns the questions that the event of a row asks. An event that cannot be read is skipped here; a listing of
    /// all questions reports it.
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

    /// No index holds all events of the app, because a scan would then take longer the more there are.
    #[tokio::test]
    async fn a_scan_reads_only_the_rows_after_its_place() {
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
