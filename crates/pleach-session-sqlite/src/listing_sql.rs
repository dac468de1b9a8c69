//! The SQL texts of listings, and the indexes that they read a page by.
//!
//! Times of one kind are in order in an index. A file may have others: numbers in the v1 layout and texts in the lite one, which google-adk's
//! other service has written, and what is no time at all. Sessions with these are in an index of their own, which is read whole for each
//! page and is empty in most files.
// S32, S65

use std::sync::Arc;

use pleach_core::{micros, seconds};
use pleach_session::ListCursor;

use crate::layout::{SqliteLayout, TimeColumn};
use crate::time;

/// Whether a time is written as the layout writes it, so that the order of the column is that of the times. Each such time can be read.
///
/// A text has six digits behind the second and is a day of the calendar; February 29 is left to the other index.
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
    /// The texts that make the indexes, as SQLite keeps them.
    pub(crate) indexes: [Arc<str>; 3],
    page: [Arc<str>; 2],
    odd: [Arc<str>; 2],
}

impl Listing {
    pub(crate) fn of(layout: SqliteLayout) -> Self {
        let own = own_kind(layout);
        // Every number is used in every text: see the head of `sql`.
        let texts = |text: &str| {
            ["?2 IS NULL", "user_id = ?2"].map(|user| Arc::from(text.replace("{user}", user).replace("{own}", own)))
        };
        Self {
            indexes: [
                "CREATE INDEX pleach_sessions_1_by_time ON sessions (app_name, update_time, user_id, id)".into(),
                "CREATE INDEX pleach_sessions_1_of_user ON sessions (app_name, user_id, update_time, id)".into(),
                format!("CREATE INDEX pleach_sessions_1_odd ON sessions (app_name) WHERE NOT ({own})").into(),
            ],
            page: texts(include_str!("../schema/list_page.sql")),
            odd: texts(include_str!("../schema/list_odd.sql")),
        }
    }

    /// Sessions with times of the layout's own kind.
    pub(crate) fn page(&self, of_user: bool) -> Arc<str> {
        Arc::clone(&self.page[usize::from(of_user)])
    }

    /// Sessions with other times.
    pub(crate) fn odd(&self, of_user: bool) -> Arc<str> {
        Arc::clone(&self.odd[usize::from(of_user)])
    }
}

/// The place behind which a page begins, as it is compared with columns.
pub(crate) struct PlaceColumns<'a> {
    pub(crate) time: TimeColumn,
    pub(crate) user: &'a str,
    pub(crate) session: &'a str,
}

impl<'a> PlaceColumns<'a> {
    pub(crate) fn of(after: Option<&'a ListCursor>, layout: SqliteLayout) -> Self {
        let Some(after) = after else { return Self::before(layout.before_all()) };
        // NaN is put at an end, like `ListCursor::order` does.
        let at = after.update_time;
        let at = if at.is_nan() { f64::INFINITY.copysign(at) } else { at };
        let (user, session) = (after.user_id.as_str(), after.session_id.as_str());
        match layout {
            _ if at == f64::NEG_INFINITY => Self::before(layout.before_all()),
            SqliteLayout::Lite => Self { time: TimeColumn::Number(at), user, session },
            SqliteLayout::V1 if seconds(micros(at)) == at => Self { time: layout.column(at), user, session },
            // Between two microseconds: behind all texts of the earlier one.
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
