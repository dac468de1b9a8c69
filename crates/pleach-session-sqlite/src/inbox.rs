//! The inbox: open questions from a projection that is brought up to date before it is read.
//!
//! Appends know nothing of it. A partial index on `events` has those that may concern questions, whoever appends them;
//! sessions whose number of entries is not the projected one are projected again, from these events alone.

use futures_util::TryStreamExt as _;
use pleach_core::{Event, SessionKey};
use pleach_session::{
    Gathering, GetSessionConfig, InboxItem, ListQuestions, ListQuestionsResponse, PROJECTION, Projected,
    QuestionCursor, SessionError, SessionResult, asked_questions, walk_questions,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};

use crate::SqliteSessionService;
use crate::document::event_of_row;
use crate::inbox_sql::is_missing;
use crate::load;
use crate::writer::{Message, Projection};

/// How many sessions that are behind are looked for at once.
const PAGE: usize = 4096;
/// About how many events are read and projected at once.
const BATCH: i64 = 4096;

/// How often missing tables are made before the projection is given up.
const TRIES: usize = 4;

/// Why there is no answer from the projection.
enum Trouble {
    /// Our tables or our index are missing, or not as we make them.
    Missing,
    /// The projection cannot be written.
    Unwritable(SessionError),
    /// The answer is an error.
    Failed(SessionError),
}

/// A session that is behind.
struct Stale {
    user: String,
    session: String,
    events: i64,
}

impl SqliteSessionService {
    /// Answers from the projection, which is made when it is missing; by loading every session when it cannot be written.
    pub(crate) async fn questions(&self, request: &ListQuestions) -> SessionResult<ListQuestionsResponse> {
        for _ in 0..TRIES {
            let outcome = match self.projected(request).await {
                Err(Trouble::Missing) => self.write(Projection::Make).await.map_err(Trouble::Unwritable),
                Ok(answer) => return Ok(answer),
                Err(trouble) => Err(trouble),
            };
            match outcome {
                Ok(()) | Err(Trouble::Missing) => {}
                Err(Trouble::Unwritable(error)) => return self.walk(request, &error).await,
                Err(Trouble::Failed(error)) => return Err(error),
            }
        }
        self.walk(request, &self.file.unsupported("other programs drop the tables of the inbox")).await
    }

    async fn walk(&self, request: &ListQuestions, error: &SessionError) -> SessionResult<ListQuestionsResponse> {
        tracing::warn!(file = %self.file, %error, "no projection of open questions: every session is loaded");
        walk_questions(self, request).await
    }

    async fn projected(&self, request: &ListQuestions) -> Result<ListQuestionsResponse, Trouble> {
        self.writer.settle().await.map_err(Trouble::Failed)?;
        let mut stale = self.stale(request, None).await?;
        while let Some(last) = stale.last() {
            let mut rest = &*stale;
            while !rest.is_empty() {
                let (batch, others) = rest.split_at(batch_size(rest));
                self.project(request, batch).await?;
                rest = others;
            }
            stale = match stale.len() < PAGE {
                true => Vec::new(),
                false => self.stale(request, Some(last)).await?,
            };
        }
        self.open_questions(request).await
    }

    /// The next sessions that are behind, in the order of their keys.
    async fn stale(&self, request: &ListQuestions, after: Option<&Stale>) -> Result<Vec<Stale>, Trouble> {
        let text = if request.user_id.is_some() { &self.sql.inbox.stale_of_user } else { &self.sql.inbox.stale };
        let rows = sqlx::query(AssertSqlSafe(text.clone()))
            .bind(request.app_name.as_str())
            .bind(request.user_id.as_ref().map(|user| user.as_str()))
            .bind(after.map_or("", |after| after.user.as_str()))
            .bind(after.map_or("", |after| after.session.as_str()))
            .bind(i64::from(after.is_some()))
            .bind(PROJECTION)
            .bind(i64::try_from(PAGE).unwrap_or(i64::MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.trouble(error))?;
        let stale = |row: &SqliteRow| -> sqlx::Result<Stale> {
            let (user, session) = (row.try_get("user_id")?, row.try_get("session_id")?);
            Ok(Stale { user, session, events: row.try_get("events")? })
        };
        rows.iter().map(stale).collect::<sqlx::Result<_>>().map_err(|error| self.trouble(error))
    }

    /// Reads the events of these sessions that may concern questions, and stores what is open.
    async fn project(&self, request: &ListQuestions, batch: &[Stale]) -> Result<(), Trouble> {
        let mut sessions = self.gather(request, batch).await?;
        for session in sessions.iter_mut().filter(|session| session.open.is_none()) {
            // What a rewind takes back depends on every event. One that is appended meanwhile is read, and not counted: the
            // session is then projected again.
            let config = GetSessionConfig::all();
            let whole = load::session(self.reader(), &session.key, &config).await.map_err(Trouble::Failed)?;
            session.open = whole.map(|whole| asked_questions(&whole.events));
        }
        let projection = Projection::Store(request.app_name.clone(), sessions);
        self.write(projection).await.map_err(Trouble::Unwritable)
    }

    async fn gather(&self, request: &ListQuestions, batch: &[Stale]) -> Result<Vec<Projected>, Trouble> {
        let fault = |error| self.trouble(error);
        let keys: Vec<_> = batch.iter().map(|stale| (&stale.user, &stale.session)).collect();
        let keys = serde_json::to_string(&keys).map_err(|error| fault(sqlx::Error::Encode(Box::new(error))))?;
        let query = sqlx::query(AssertSqlSafe(self.sql.inbox.events.clone()));
        let mut rows = query.bind(request.app_name.as_str()).bind(keys).fetch(&self.readers);
        let mut gathering = Gathering::default();
        while let Some(row) = rows.try_next().await.map_err(fault)? {
            let slot = usize::try_from(row.try_get::<i64, _>("slot").map_err(fault)?).unwrap_or(usize::MAX);
            let Some(stale) = batch.get(slot) else { continue };
            let created: String = row.try_get("created").map_err(fault)?;
            let key = SessionKey::new(&request.app_name, stale.user.as_str(), stale.session.as_str());
            let mut event = self.event(&row, &key)?;
            // The row that is found again by its column.
            event.set_id(row.try_get::<&str, _>("ids").map_err(fault)?);
            gathering.push(slot, event, || (key, created));
        }
        Ok(gathering.finish())
    }

    fn event(&self, row: &SqliteRow, key: &SessionKey) -> Result<Event, Trouble> {
        let document: Option<&str> = row.try_get("data").map_err(|error| self.trouble(error))?;
        event_of_row(row, document.unwrap_or_default(), key, &self.file, self.layout()).map_err(Trouble::Failed)
    }

    async fn open_questions(&self, request: &ListQuestions) -> Result<ListQuestionsResponse, Trouble> {
        let inbox = &self.sql.inbox;
        let text = match (&request.user_id, &request.assignee) {
            (None, None) => &inbox.all,
            (Some(_), None) => &inbox.of_user,
            (None, Some(_)) => &inbox.of_assignee,
            (Some(_), Some(_)) => &inbox.of_both,
        };
        let after = request.after.as_ref();
        // One more row than wanted shows that there is a next page.
        let limit = request.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1));
        let rows = sqlx::query(AssertSqlSafe(text.clone()))
            .bind(request.app_name.as_str())
            .bind(request.user_id.as_ref().map(|user| user.as_str()))
            .bind(request.assignee.as_deref())
            .bind(after.map_or(f64::NEG_INFINITY, |after| after.asked_at))
            .bind(after.map_or("", |after| after.user_id.as_str()))
            .bind(after.map_or("", |after| after.session_id.as_str()))
            .bind(after.map_or(-1, |after| i64::from(after.place)))
            .bind(limit)
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.trouble(error))?;
        let mut items = Vec::with_capacity(rows.len());
        for row in &rows {
            items.push(self.item(request, row)?);
        }
        Ok(ListQuestionsResponse::cut(items, request.limit))
    }

    /// The place and the question of a row; no question if its event does not ask it any more.
    fn item(&self, request: &ListQuestions, row: &SqliteRow) -> Result<(QuestionCursor, Option<InboxItem>), Trouble> {
        let read = || -> sqlx::Result<_> {
            let names: (&str, &str, &str) =
                (row.try_get("user_id")?, row.try_get("session_id")?, row.try_get("question_id")?);
            Ok((names, row.try_get::<u32, _>("place")?, row.try_get::<f64, _>("asked_at")?))
        };
        let ((user, session, id), place, asked_at) = read().map_err(|error| self.trouble(error))?;
        let session = SessionKey::new(&request.app_name, user, session);
        let event = self.event(row, &session)?;
        let question = event.questions().into_iter().rfind(|question| question.id == id);
        let cursor = QuestionCursor::new(&session, asked_at, place);
        Ok((cursor, question.map(|question| InboxItem { session, question })))
    }

    async fn write(&self, projection: Projection) -> SessionResult<()> {
        self.writer.ask(|reply| Message::Project(projection, reply)).await
    }

    fn trouble(&self, error: sqlx::Error) -> Trouble {
        if is_missing(&error) { Trouble::Missing } else { Trouble::Failed(self.file.fault(error)) }
    }
}

/// How many sessions are projected together: one at least, and no more events than a batch has.
fn batch_size(stale: &[Stale]) -> usize {
    let mut events = 0;
    let fits = |stale: &&Stale| {
        events += stale.events;
        events <= BATCH
    };
    stale.iter().take_while(fits).count().max(1)
}
