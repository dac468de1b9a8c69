//! The SQL texts of listings, and the indexes from which they read a page.
//!
//! An index orders only times of one kind. But a file may also have times of the other kind, which google-adk's
//! other service wrote (numbers in the v1 layout, texts in the lite layout), and values that are not times at all. A
//! separate index holds the sessions with such times. Each page reads it completely; in most files it is empty.
// S32, S65

use std::sync::Arc;

use pleach_core::{micros, seconds};
use pleach_session::ListCursor;

use crate::layout::{SqliteLayout, TimeColumn};
use crate::session_time::SessionTime;
use crate::time;

/// Returns the condition that a time has the form that the layout writes. All such times can be read, and the order
/// of the column is their order.
///
/// A text must have six digits after the second and an existing date. Texts with February 29 do not match, so the
/// other index holds them.
fn own_kind(layout: SqliteLayout) -> &'static str {
    match layout {
        SqliteLayout::Lite => "typeof(update_time) IN ('real', 'integer')",
        SqliteLayout::V1 => concat!(
            "typeof(update_time) = 'text' AND update_time GLOB ",
            "'[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]'",
            " AND substr(update_time, 1, 4) >= '0001' AND substr(update_time, 6, 2) BETWEEN '01' AND '12'",
            " AND substr(update_time, 12, 2) <= '23' AND substr(update_time, 9, 2) BETWEEN '01' AND",
            " CASE substr(update_time, 6, 2) WHEN '02' THEN '28' WHEN '04' THEN '30' WHEN '06' THEN '30' WHEN '09' THEN '30'",
            " WHEN '11' THEN '30' ELSE '31' END",
        ),
    }
}

/// The texts that depend on the layout.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The texts that create the indexes, as SQLite stores them.
    pub(crate) indexes: [Arc<str>; 4],
    page: [[Arc<str>; 2]; 2],
    odd: [[Arc<str>; 2]; 2],
}

/// The sessions of an app to list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListingFilter {
    /// Only the sessions of one user.
    pub(crate) of_user: bool,
    /// Only the sessions that a program has not noted as settled.
    pub(crate) unsettled: bool,
}

/// The session row `s` and its own time.
pub(crate) const OF_ROW: SessionTime<'_> =
    SessionTime { key: ["s.app_name", "s.user_id", "s.id"], at: "s.update_time" };

impl Listing {
    pub(crate) fn of(layout: SqliteLayout) -> Self {
        let own = own_kind(layout);
        let unsettled = include_str!("../schema/settled/unsettled.sql").replace("{ties}", &layout.ties(OF_ROW));
        // Every parameter number is used in every text: see the top of `sql`.
        let texts = |text: &str, of_user: &str, program: &str| {
            let unsettled = unsettled.trim_end().replace("{program}", program);
            ["?2 IS NULL", of_user].map(|user| {
                let text = text.replace("{user}", user).replace("{own}", own);
                ["", &unsettled].map(|unsettled| Arc::from(text.replace("{unsettled}", unsettled)))
            })
        };
        Self {
            indexes: [
                "CREATE INDEX pleach_sessions_1_by_time ON sessions (app_name, update_time, user_id, id)".into(),
                "CREATE INDEX pleach_sessions_1_of_user ON sessions (app_name, user_id, update_time, id)".into(),
                "CREATE INDEX pleach_sessions_1_by_id ON sessions (app_name, id, user_id)".into(),
                format!("CREATE INDEX pleach_sessions_1_odd ON sessions (app_name, user_id, id, update_time) WHERE NOT ({own})").into(),
            ],
            page: texts(include_str!("../schema/list_page.sql"), "user_id = ?2", "?7"),
            // The `+` keeps SQLite from using an index that has all sessions of the user.
            odd: texts(include_str!("../schema/list_odd.sql"), "+user_id = ?2", "?3"),
        }
    }

    /// Returns the text for sessions with times of the layout's own kind.
    pub(crate) fn page(&self, filter: ListingFilter) -> Arc<str> {
        Arc::clone(&self.page[usize::from(filter.of_user)][usize::from(filter.unsettled)])
    }

    /// Returns the text for sessions with other times.
    pub(crate) fn odd(&self, filter: ListingFilter) -> Arc<str> {
        Arc::clone(&self.odd[usize::from(filter.of_user)][usize::from(filter.unsettled)])
    }
}

/// The position after which a page begins, as compared with columns.
pub(crate) struct PlaceColumns<'a> {
    pub(crate) time: TimeColumn,
    pub(crate) user: &'a str,
    pub(crate) session: &'a str,
}

impl<'a> PlaceColumns<'a> {
    pub(crate) fn of(after: Option<&'a ListCursor>, layout: SqliteLayout) -> Self {
        let Some(after) = after else { return Self::before(layout.before_all()) };
        // NaN sorts like an infinity with its sign, as in `ListCursor::order`.
        let at = after.update_time;
        let at = if at.is_nan() { f64::INFINITY.copysign(at) } else { at };
        let (user, session) = (after.user_id.as_str(), after.session_id.as_str());
        match layout {
            SqliteLayout::Lite => Self { time: TimeColumn::Number(at), user, session },
            SqliteLayout::V1 if at == f64::NEG_INFINITY => Self::before(layout.before_all()),
            SqliteLayout::V1 if seconds(micros(at)) == at => Self { time: layout.column(at), user, session },
            // Between two microseconds: after all texts of the earlier one.
            SqliteLayout::V1 => Self::before(TimeColumn::Text(time::to_text((at * 1e6).floor() / 1e6) + "~")),
        }
    }

    fn before(time: TimeColumn) -> Self {
        Self { time, user: "", session: "" }
    }
}

impl SqliteLayout {
    fn before_all(self) -> TimeColumn {
        match self {
            Self::Lite => TimeColumn::Number(f64::NEG_INFINITY),
            Self::V1 => TimeColumn::Text(String::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_session::SessionService as _;
    use sqlx::{AssertSqlSafe, Row as _};

    use super::*;
    use crate::{SqliteOptions, SqliteSessionService};

    async fn plan(service: &SqliteSessionService, sql: &str) -> Vec<String> {
        let plan = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")));
        let rows = plan.fetch_all(&service.readers).await.expect("a plan");
        rows.iter().map(|row| row.get("detail")).collect()
    }

    #[tokio::test]
    async fn a_page_is_read_in_the_order_of_an_index_and_scans_nothing() {
        for layout in [SqliteLayout::Lite, SqliteLayout::V1] {
            let folder = tempfile::tempdir().expect("a folder");
            let options = SqliteOptions::new().with_layout(layout);
            let service = SqliteSessionService::open_with(folder.path().join("s.db"), options).await.expect("a file");
            for (of_user, index) in [(false, "by_time"), (true, "of_user")] {
                let filter = ListingFilter { of_user, unsettled: false };
                let page = plan(&service, &service.sql.listing.page(filter)).await;
                assert_eq!(page.len(), 1, "{layout:?}: {page:?}");
                check_page(&page, index);
                let odd = plan(&service, &service.sql.listing.odd(filter)).await;
                assert_eq!(odd.len(), 1, "{odd:?}");
                assert!(odd[0].contains("INDEX pleach_sessions_1_odd"), "{layout:?}: {odd:?}");
            }
            let found = plan(&service, crate::sql::FIND_SESSIONS).await;
            assert_eq!(found, ["SEARCH sessions USING COVERING INDEX pleach_sessions_1_by_id (app_name=? AND id=?)"]);
            let states = plan(&service, &service.sql.list_states).await.join("\n");
            // Only the array of rows is scanned, and the users that are found in it.
            let is_of_page = |step: &&str| step.contains("VIRTUAL TABLE") || *step == "SCAN page";
            let scanned: Vec<&str> = states.lines().filter(|step| step.contains("SCAN") && !is_of_page(step)).collect();
            assert!(scanned.is_empty(), "{scanned:?} in {states}");
        }
    }

    fn check_page(page: &[String], index: &str) {
        assert!(page[0].starts_with("SEARCH s USING"), "{page:?}");
        assert!(page[0].contains(&format!("INDEX pleach_sessions_1_{index} (")), "{page:?}");
        assert!(page[0].contains("update_time"), "{page:?}");
    }

    #[tokio::test]
    async fn a_page_without_settled_sessions_finds_each_note_by_its_key() {
        for layout in [SqliteLayout::Lite, SqliteLayout::V1] {
            let folder = tempfile::tempdir().expect("a folder");
            let options = SqliteOptions::new().with_layout(layout);
            let service = SqliteSessionService::open_with(folder.path().join("s.db"), options).await.expect("a file");
            service.note_settled("v1", &[]).await.expect("a table");
            for (of_user, index) in [(false, "by_time"), (true, "of_user")] {
                let filter = ListingFilter { of_user, unsettled: true };
                let page = plan(&service, &service.sql.listing.page(filter)).await;
                check_page(&page, index);
                let odd = plan(&service, &service.sql.listing.odd(filter)).await;
                assert!(odd[0].contains("INDEX pleach_sessions_1_odd"), "{layout:?}: {odd:?}");
                for steps in [&page, &odd] {
                    let note = steps.iter().find(|step| step.contains(" n USING")).expect("a look at notes");
                    assert!(note.contains("(app_name=? AND user_id=? AND session_id=? AND program=?)"), "{note}");
                    assert!(!steps.iter().any(|step| step.contains("SCAN") || step.contains("TEMP")), "{steps:?}");
                }
            }
        }
    }
}
