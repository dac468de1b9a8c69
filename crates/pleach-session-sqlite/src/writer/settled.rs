//! Noting the sessions for which a program has nothing to do, all in one transaction.

use pleach_core::{SessionHead, SessionKey};
use serde_json::json;
use sqlx::AssertSqlSafe;

use super::{Reply, Writer, answer};

/// Sessions, and the revisions at which a program needs to do nothing for them.
pub(crate) struct NoteSettled {
    pub(crate) program: String,
    /// The keys and revisions, as JSON.
    pub(crate) sessions: String,
    pub(crate) reply: Reply<()>,
}

/// Returns the keys and revisions of heads, as JSON. Names with U+0000 are left out, because SQLite's JSON functions
/// end a text there.
pub(crate) fn keys_and_revisions(heads: &[SessionHead]) -> serde_json::Result<String> {
    let has_nul = |key: &SessionKey| {
        [key.app_name.as_str(), key.user_id.as_str(), key.session_id.as_str()].iter().any(|name| name.contains('\0'))
    };
    let row = |head: &'_ SessionHead| {
        let (key, revision) = (head.key(), head.revision());
        (!has_nul(key)).then(|| json!([key.app_name, key.user_id, key.session_id, revision.micros, revision.ties]))
    };
    serde_json::to_string(&heads.iter().filter_map(row).collect::<Vec<_>>())
}

impl Writer {
    pub(super) async fn note_settled(&mut self, note: NoteSettled) {
        let outcome = loop {
            if let Err(error) = self.connect().await {
                break Err(error);
            }
            match self.try_note_settled(&note).await {
                Ok(()) => break Ok(()),
                Err(error) => {
                    if let Err(error) = self.wait_after(error).await {
                        break Err(error);
                    }
                }
            }
        };
        answer(note.reply, outcome);
    }

    async fn try_note_settled(&mut self, note: &NoteSettled) -> sqlx::Result<()> {
        let open = self.open.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        let query = sqlx::query(AssertSqlSafe(open.sql.note_settled.clone()));
        query.bind(&note.sessions).bind(&note.program).execute(&mut open.connection).await?;
        Ok(())
    }
}
