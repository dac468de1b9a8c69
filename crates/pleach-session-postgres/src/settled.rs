//! Notes of sessions for which a program has nothing to do, in a table of our own. The table is created when the
//! first note is written.

use pleach_core::SessionHead;
use pleach_session::{ProjectionError, ProjectionResult, SessionError, SessionResult};

use crate::PostgresSessionService;
use crate::connect_retry::ConnectRetry;
use crate::connections::Ask;
use crate::fault::{Server, Trouble};
use crate::inbox_fault::outcome;
use crate::lent::Lent;
use crate::sql;
use crate::value::Time;

impl PostgresSessionService {
    pub(crate) async fn note(&self, program: &str, heads: &[SessionHead]) -> SessionResult<()> {
        let note = NoteSettled::new(program, heads, self.connections.server());
        match self.connections.ask_to_completion(note.clone()).await? {
            Err(ProjectionError::Missing) => {
                self.make_notes().await?;
                self.connections.ask_to_completion(note).await?.map_err(|error| self.unwritable(error))
            }
            Err(error) => Err(self.unwritable(error)),
            Ok(()) => Ok(()),
        }
    }

    /// Creates the table. Tries again while appends lock the table to which it refers.
    async fn make_notes(&self) -> SessionResult<()> {
        let mut retry = ConnectRetry::new(self.connections.acquire_timeout());
        loop {
            match self.connections.ask(&Make).await {
                Err(SessionError::Locked { .. }) if retry.wait().await => {}
                outcome => return outcome,
            }
        }
    }

    fn unwritable(&self, error: ProjectionError) -> SessionError {
        match error {
            ProjectionError::Unwritable(error) | ProjectionError::Failed(error) => error,
            ProjectionError::Missing => self.connections.server().unavailable("its table of notes is gone"),
        }
    }
}

/// A request to create the table of notes.
struct Make;

impl Ask for Make {
    type Answer = ();

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<(), Trouble> {
        sqlx::raw_sql(sql::CREATE_SETTLED).execute(connection).await?;
        Ok(())
    }
}

/// Notes sessions at their revisions.
#[derive(Clone)]
struct NoteSettled {
    server: Server,
    program: String,
    heads: Vec<SessionHead>,
}

impl NoteSettled {
    fn new(program: &str, heads: &[SessionHead], server: &Server) -> Self {
        let is_storable = |head: &&SessionHead| {
            let key = head.key();
            ![key.app_name.as_str(), key.user_id.as_str(), key.session_id.as_str()]
                .iter()
                .any(|name| name.contains('\0'))
        };
        // No session here has a name with U+0000.
        let heads = heads.iter().filter(is_storable).cloned().collect();
        Self { server: server.clone(), program: program.to_owned(), heads }
    }

    async fn note(&self, connection: &mut Lent) -> sqlx::Result<()> {
        let heads = || self.heads.iter();
        // For the reason, see `Store` in `inbox_store`.
        connection.begin("SET LOCAL enable_seqscan = off").await?;
        sqlx::query(sql::NOTE_SETTLED)
            .bind(heads().map(|head| head.key().app_name.as_str()).collect::<Vec<_>>())
            .bind(heads().map(|head| head.key().user_id.as_str()).collect::<Vec<_>>())
            .bind(heads().map(|head| head.key().session_id.as_str()).collect::<Vec<_>>())
            .bind(heads().map(|head| Time(head.revision().micros)).collect::<Vec<_>>())
            .bind(heads().map(|head| i64::from(head.revision().ties)).collect::<Vec<_>>())
            .bind(self.program.as_str())
            .persistent(false)
            .execute(&mut *connection)
            .await?;
        connection.commit().await
    }
}

impl Ask for NoteSettled {
    type Answer = ProjectionResult<()>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Self::Answer, Trouble> {
        let error = match self.note(connection).await {
            Ok(()) => return Ok(Ok(())),
            Err(error) => error,
        };
        // A broken connection has no transaction to end, and the next operation notices the fault.
        let _ = connection.settle().await;
        outcome(error, &self.server)
    }
}
