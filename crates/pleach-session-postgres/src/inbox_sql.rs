//! The SQL texts of the inbox: constants that are assembled once; values are bound.

use std::sync::LazyLock;

use pleach_session::PROJECTION;

/// Fills in the version in the names, and the conditions for two kinds of events: those that may concern questions
/// (they ask, answer, abort or rewind), and those that ask with a deadline.
fn filled(text: &str) -> String {
    text.replace("{concerns}", include_str!("../schema/inbox/concerns.sql"))
        .replace("{has_deadline}", include_str!("../schema/inbox/has_deadline.sql").trim_end())
        .replace("{v}", &PROJECTION.to_string())
}

/// The texts of an index on `events`.
pub(crate) struct Index {
    /// Selects whether the index is as we create it.
    pub(crate) find: String,
    /// Three statements: drop an index that was not completed or is another program's, create it while others write,
    /// and mark it as complete. They cannot run in a transaction. `{schema}` is replaced by the name of the schema and
    /// a dot, or by nothing.
    make: [String; 3],
    /// The text of the warning if the index cannot be created.
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

    /// Returns the statements that create the index. `schema` is the quoted name of the schema of `events`, for
    /// connections without a search path of their own.
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
        "listings of open questions read every event: list questions once as the owner of the tables",
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

/// Declares texts without further placeholders.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)+) => {
        $($(#[$doc])* pub(crate) fn $name() -> &'static str {
            static TEXT: LazyLock<String> = LazyLock::new(|| filled($text));
            &TEXT
        })+
    };
}

texts! {
    /// Selects whether the tables exist as we create them.
    is_sound = concat!("SELECT ", include_str!("../schema/inbox/is_sound.sql"), " AS is_sound");
    /// Creates the missing tables.
    create = &include_str!("../schema/inbox/create.sql")
        .replace("{is_sound}", include_str!("../schema/inbox/is_sound.sql"));
    /// Selects the events of sessions that may concern questions.
    events = include_str!("../schema/inbox/events.sql");
    /// Selects the recently asked questions with a deadline.
    deadlines = include_str!("../schema/inbox/deadlines.sql");
    /// Stores the rows of the projected sessions, unless a row that covers more events is stored.
    upsert = include_str!("../schema/inbox/upsert.sql");
    delete = include_str!("../schema/inbox/delete.sql");
    insert = include_str!("../schema/inbox/insert.sql");
    /// Counts the rows for the planner. A role that does not own the tables gets a warning from the server.
    analyze = "ANALYZE (SKIP_LOCKED) pleach_inbox_{v}, pleach_questions_{v}";
}

/// Makes sure that only one builder of the index is at work in a schema.
pub(crate) const TRY_LOCK: &str = "SELECT pg_try_advisory_lock(1685221744, hashtext(current_schema())) AS is_locked";
pub(crate) const UNLOCK: &str = "SELECT pg_advisory_unlock(1685221744, hashtext(current_schema())) AS is_unlocked";
/// Selects whether a build is in progress, for connections that cannot hold a lock until the index is built.
pub(crate) const IS_BUILT: &str =
    "SELECT EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE relid = to_regclass('events')) AS is_built";
/// Selects the schema of the events.
pub(crate) const SCHEMA: &str = "SELECT quote_ident(nspname) AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace \
     WHERE pg_class.oid = to_regclass('events')";
/// Returns the text that selects sessions whose projection is out of date. It selects the sessions of one user or of
/// all, after a given session or from the start.
pub(crate) fn stale(of_user: bool, is_behind: bool) -> &'static str {
    static TEXTS: LazyLock<[[String; 2]; 2]> = LazyLock::new(|| {
        let text = filled(include_str!("../schema/inbox/stale.sql"));
        let of = |user: &str| [">=", ">"].map(|behind| text.replace("{user}", user).replace("{behind}", behind));
        ["$2::text IS NULL", "user_id = $2"].map(of)
    });
    &TEXTS[usize::from(of_user)][usize::from(is_behind)]
}

/// Returns the text that selects open questions: of one user or of all, for one assignee or for all.
pub(crate) fn answer(of_user: bool, of_assignee: bool) -> &'static str {
    static TEXTS: LazyLock<[[String; 2]; 2]> = LazyLock::new(|| {
        let text = filled(include_str!("../schema/inbox/answer.sql"));
        // The index contains only the beginning of an assignee's name, because the length of index entries is
        // limited and the length of names is not.
        let assignees = ["$3::text IS NULL", "left(assignee, 128) = left($3, 128) AND assignee = $3"];
        let of = |user: &str| assignees.map(|wanted| text.replace("{user}", user).replace("{assignee}", wanted));
        ["$2::text IS NULL", "user_id = $2"].map(of)
    });
    &TEXTS[usize::from(of_user)][usize::from(of_assignee)]
}
