//! The SQL texts of the inbox: constants that are put together once; values are bound.

use std::sync::LazyLock;

/// Fills in which events may concern questions: those that ask, answer, abort or rewind.
fn filled(text: &str) -> String {
    text.replace("{concerns}", include_str!("../schema/inbox/concerns.sql"))
}

pub(crate) const DELETE: &str = include_str!("../schema/inbox/delete.sql");
pub(crate) const INSERT: &str = include_str!("../schema/inbox/insert.sql");

/// Whether the tables and indexes are there, as we make them.
pub(crate) fn is_sound() -> &'static str {
    concat!("SELECT ", include_str!("../schema/inbox/is_sound.sql"), " AS is_sound")
}

/// Makes what is missing.
pub(crate) fn create() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let text = filled(include_str!("../schema/inbox/create.sql"));
        text.replace("{is_sound}", include_str!("../schema/inbox/is_sound.sql"))
    });
    &TEXT
}

/// Sessions that are behind, of one user or of all, behind a session or from the first on.
pub(crate) fn stale(of_user: bool, is_behind: bool) -> &'static str {
    static TEXTS: LazyLock<[[String; 2]; 2]> = LazyLock::new(|| {
        let text = filled(include_str!("../schema/inbox/stale.sql"));
        let of = |user: &str| [">=", ">"].map(|behind| text.replace("{user}", user).replace("{behind}", behind));
        ["$2::text IS NULL", "user_id = $2"].map(of)
    });
    &TEXTS[usize::from(of_user)][usize::from(is_behind)]
}

/// The events of sessions that may concern questions.
pub(crate) fn events() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| filled(include_str!("../schema/inbox/events.sql")));
    &TEXT
}

/// Stores what the rows of sessions are made from.
pub(crate) fn upsert() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| filled(include_str!("../schema/inbox/upsert.sql")));
    &TEXT
}

/// Open questions, of one user or of all, of one assignee or of all.
pub(crate) fn answer(of_user: bool, of_assignee: bool) -> &'static str {
    static TEXTS: LazyLock<[[String; 2]; 2]> = LazyLock::new(|| {
        let text = include_str!("../schema/inbox/answer.sql");
        // Only the beginning of a text is in the index: entries of an index have a greatest length, and roles have none.
        let assignees = ["$3::text IS NULL", "left(assignee, 128) = left($3, 128) AND assignee = $3"];
        let of = |user: &str| assignees.map(|wanted| text.replace("{user}", user).replace("{assignee}", wanted));
        ["$2::text IS NULL", "user_id = $2"].map(of)
    });
    &TEXTS[usize::from(of_user)][usize::from(of_assignee)]
}
