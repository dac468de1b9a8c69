//! The SQL texts of the inbox: constants that are put together once; values are bound.

use std::sync::LazyLock;

use pleach_session::PROJECTION;

/// What the index says of itself once it is whole.
const COMMENT: &str = "pleach: the events that may concern open questions";

/// Fills in the version in the names, and which events may concern questions: those that ask, answer, abort or rewind.
fn filled(text: &str) -> String {
    text.replace("{v}", &PROJECTION.to_string())
        .replace("{concerns}", include_str!("../schema/inbox/concerns.sql"))
        .replace("{comment}", COMMENT)
}

/// Declares texts without further blanks.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)+) => {
        $($(#[$doc])* pub(crate) fn $name() -> &'static str {
            static TEXT: LazyLock<String> = LazyLock::new(|| filled($text));
            &TEXT
        })+
    };
}

texts! {
    /// Whether the tables are there, as we make them.
    is_sound = concat!("SELECT ", include_str!("../schema/inbox/is_sound.sql"), " AS is_sound");
    /// Makes the tables that are missing.
    create = &include_str!("../schema/inbox/create.sql")
        .replace("{is_sound}", include_str!("../schema/inbox/is_sound.sql"));
    /// Whether the index is there, as we make it.
    find_index = include_str!("../schema/inbox/find_index.sql");
    /// Removes an index that was not completed, or is another's. Outside of transactions only.
    drop_index = "DROP INDEX CONCURRENTLY IF EXISTS pleach_events_{v}";
    /// Makes the index while others write. Outside of transactions only.
    create_index =
        "CREATE INDEX CONCURRENTLY pleach_events_{v} ON events (app_name, user_id, session_id) WHERE {concerns}";
    /// Marks the index as whole.
    comment_index = "COMMENT ON INDEX pleach_events_{v} IS '{comment}'";
    /// The events of sessions that may concern questions.
    events = include_str!("../schema/inbox/events.sql");
    /// Stores what the rows of sessions are made from.
    upsert = include_str!("../schema/inbox/upsert.sql");
    delete = include_str!("../schema/inbox/delete.sql");
    insert = include_str!("../schema/inbox/insert.sql");
    /// Counts the rows for the planner. Who does not own the tables gets a warning of the server.
    analyze = "ANALYZE (SKIP_LOCKED) pleach_inbox_{v}, pleach_questions_{v}";
}

/// Makes sure that one builder of the index is at work in a schema.
pub(crate) const TRY_LOCK: &str = "SELECT pg_try_advisory_lock(1685221744, hashtext(current_schema())) AS is_locked";
/// The index is built in the time it takes.
pub(crate) const NO_TIMEOUTS: &str = "SET statement_timeout = 0; SET lock_timeout = 0";

/// Sessions that are behind, of one user or of all, behind a session or from the first on.
pub(crate) fn stale(of_user: bool, is_behind: bool) -> &'static str {
    static TEXTS: LazyLock<[[String; 2]; 2]> = LazyLock::new(|| {
        let text = filled(include_str!("../schema/inbox/stale.sql"));
        let of = |user: &str| [">=", ">"].map(|behind| text.replace("{user}", user).replace("{behind}", behind));
        ["$2::text IS NULL", "user_id = $2"].map(of)
    });
    &TEXTS[usize::from(of_user)][usize::from(is_behind)]
}

/// Open questions, of one user or of all, of one assignee or of all.
pub(crate) fn answer(of_user: bool, of_assignee: bool) -> &'static str {
    static TEXTS: LazyLock<[[String; 2]; 2]> = LazyLock::new(|| {
        let text = filled(include_str!("../schema/inbox/answer.sql"));
        // Only the beginning of a text is in the index: entries of an index have a greatest length, and roles have none.
        let assignees = ["$3::text IS NULL", "left(assignee, 128) = left($3, 128) AND assignee = $3"];
        let of = |user: &str| assignees.map(|wanted| text.replace("{user}", user).replace("{assignee}", wanted));
        ["$2::text IS NULL", "user_id = $2"].map(of)
    });
    &TEXTS[usize::from(of_user)][usize::from(of_assignee)]
}
