//! The SQL texts of the inbox: constants that are put together once; values are bound.

use std::sync::LazyLock;

use pleach_session::PROJECTION;

/// Fills in the version in the names, which events may concern questions (those that ask, answer, abort or rewind), and which ask with a
/// deadline.
fn filled(text: &str) -> String {
    text.replace("{concerns}", include_str!("../schema/inbox/concerns.sql"))
        .replace("{has_deadline}", include_str!("../schema/inbox/has_deadline.sql").trim_end())
        .replace("{v}", &PROJECTION.to_string())
}

/// The texts of an index on `events`.
pub(crate) struct Index {
    /// Whether it is there, as we make it.
    pub(crate) find: String,
    /// Removes one that was not completed, or is another's; makes it while others write; marks it as whole. Outside of transactions
    /// only. `{schema}` is to be replaced by the name of the schema and a dot, or by nothing.
    make: [String; 3],
    /// The text of the warning where it cannot be made.
    pub(crate) without: &'static str,
}

impl Index {
    fn of(name: &str, columns_and_condition: &str, comment: &str, without: &'static str) -> Self {
        let find = include_str!("../schema/inbox/find_index.sql").replace("{comment}", comment);
        Self {
            find: filled(&find.replace("{index}", name)),
            make: [
                filled(&format!("DROP INDEX CONCURRENTLY IF EXISTS {{schema}}{name}")),
                filled(&format!("CREATE INDEX CONCURRENTLY {name} ON {{schema}}events {columns_and_condition}")),
                filled(&format!("COMMENT ON INDEX {{schema}}{name} IS '{comment}'")),
            ],
            without,
        }
    }

    /// The statements that make it. `schema` is the quoted name of the schema of `events`, where the connection has no search path of
    /// its own.
    pub(crate) fn make(&self, schema: Option<&str>) -> [String; 3] {
        let prefix = schema.map_or_else(String::new, |schema| format!("{schema}."));
        self.make.clone().map(|text| text.replace("{schema}", &prefix))
    }
}

/// The index of the events that may concern questions.
pub(crate) static EVENTS: LazyLock<Index> = LazyLock::new(|| {
    Index::of(
        "pleach_events_{v}",
        "(app_name, user_id, session_id) WHERE {concerns}",
        "pleach: the events that may concern open questions",
        "listings of open questions read every event: list them once as the owner of the tables",
    )
});

/// The index of the events that ask with a deadline, by their times.
pub(crate) static DEADLINES: LazyLock<Index> = LazyLock::new(|| {
    Index::of(
        "pleach_deadlines_{v}",
        "(app_name, \"timestamp\") WHERE {has_deadline}",
        "pleach: the events that ask questions with a deadline",
        "deadlines of other processes are found by listing all open questions: start the timers once as the owner of the tables",
    )
});

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
    /// The events of sessions that may concern questions.
    events = include_str!("../schema/inbox/events.sql");
    /// What was asked lately with a deadline.
    deadlines = include_str!("../schema/inbox/deadlines.sql");
    /// Stores what the rows of sessions are made from.
    upsert = include_str!("../schema/inbox/upsert.sql");
    delete = include_str!("../schema/inbox/delete.sql");
    insert = include_str!("../schema/inbox/insert.sql");
    /// Counts the rows for the planner. Who does not own the tables gets a warning of the server.
    analyze = "ANALYZE (SKIP_LOCKED) pleach_inbox_{v}, pleach_questions_{v}";
}

/// Makes sure that one builder of the index is at work in a schema.
pub(crate) const TRY_LOCK: &str = "SELECT pg_try_advisory_lock(1685221744, hashtext(current_schema())) AS is_locked";
pub(crate) const UNLOCK: &str = "SELECT pg_advisory_unlock(1685221744, hashtext(current_schema())) AS is_unlocked";
/// Whether one is at work, for connections that cannot hold a lock until the index is built.
pub(crate) const IS_BUILT: &str =
    "SELECT EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE relid = to_regclass('events')) AS is_built";
/// The schema of the events.
pub(crate) const SCHEMA: &str = "SELECT quote_ident(nspname) AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace \
     WHERE pg_class.oid = to_regclass('events')";
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
