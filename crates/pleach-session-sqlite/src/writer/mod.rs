//! The single writer of a service: a thread that owns the writing connection and commits appends in groups.
//!
//! Callers send a message and wait for its answer, so dropping a caller's future never interrupts a statement. The
//! thread runs its own small runtime, because waking it costs less than waking a worker of the caller's runtime.

mod accepted;
mod append;
mod batch;
mod claim;
pub(crate) mod detect;
mod inbox;
mod open;
mod redact;
mod rows;
mod session;
mod settled;
mod texts;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use pleach_session::{ProjectionResult, SessionResult};
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

pub(crate) use self::batch::{Append, Appended, Renewed};
pub(crate) use self::claim::Claim;
pub(crate) use self::inbox::{EventRow, InboxWrite};
pub(crate) use self::redact::Redact;
pub(crate) use self::session::{Create, Delete};
pub(crate) use self::settled::{NoteSettled, keys_and_revisions};

use self::open::Open;
use self::texts::Texts;
use crate::SqliteOptions;
use crate::fault::{Fault, File};
use crate::layout::SqliteLayout;
use crate::lock_wait::LockWait;
use crate::sql;

/// The largest number of waiting messages. When it is reached, senders wait.
const QUEUE: usize = 1024;
/// The largest number of appends in a transaction.
const BATCH: usize = 256;
/// The number of polls without a new message after which a batch is complete.
const IDLE_POLLS: usize = 20;

pub(crate) type Reply<T> = oneshot::Sender<SessionResult<T>>;

pub(crate) enum Message {
    Append(Box<Append>),
    Create(Box<Create>),
    Delete(Delete),
    Claim(Claim),
    Redact(Box<Redact>),
    Inbox(InboxWrite, Reply<ProjectionResult<()>>),
    Settled(NoteSettled),
    Flush(oneshot::Sender<()>),
    Close(oneshot::Sender<()>),
}

/// The callers' handle to the writer.
#[derive(Clone, Debug)]
pub(crate) struct WriterHandle {
    file: File,
    layout: SqliteLayout,
    inbox: mpsc::Sender<Message>,
    unanswered: Arc<Unanswered>,
}

/// Counts the callers that went away before their answer came. Their messages may not have been executed yet.
#[derive(Debug, Default)]
struct Unanswered {
    /// The number of such callers.
    gone: AtomicU64,
    /// The number of such callers that a load has already waited for.
    waited_for: AtomicU64,
}

/// Counts a caller that goes away before its answer comes.
struct Waiting<'a>(Option<&'a Unanswered>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(unanswered) = self.0 {
            unanswered.gone.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl WriterHandle {
    /// Starts the thread and opens the file in it.
    pub(crate) async fn open(path: &std::path::Path, file: File, options: &SqliteOptions) -> SessionResult<Self> {
        let (inbox, messages) = mpsc::channel(QUEUE);
        let (opened, ready) = oneshot::channel();
        let settings = open::Settings::new(path, file.clone(), options);
        let mut writer = Writer { lock_wait: settings.lock_wait(), settings, open: None, texts: Texts::default() };
        let work = async move {
            let outcome = writer.connect().await.map(|open| open.sql.layout());
            let running = outcome.is_ok();
            // If the receiver is gone, the handle is gone too, and `run` ends at once.
            let _ = opened.send(outcome);
            if running {
                writer.run(messages).await;
            }
        };
        spawn(work).map_err(|error| file.fault(sqlx::Error::Io(error)))?;
        let layout = ready.await.unwrap_or_else(|_| Err(file.closed()))?;
        Ok(Self { file, layout, inbox, unanswered: Arc::default() })
    }

    /// Returns the layout of the file.
    pub(crate) fn layout(&self) -> SqliteLayout {
        self.layout
    }

    /// Sends a message that contains a reply channel, and waits for the answer.
    pub(crate) async fn ask<T>(&self, message: impl FnOnce(Reply<T>) -> Message) -> SessionResult<T> {
        let (reply, answer) = oneshot::channel();
        let mut waiting = Waiting(Some(&self.unanswered));
        self.inbox.send(message(reply)).await.map_err(|_| self.file.closed())?;
        let answered = answer.await.unwrap_or_else(|_| Err(self.file.closed()));
        waiting.0 = None;
        answered
    }

    /// Waits for the messages of callers that went away, so that a load does not overtake them. A caller that drops a
    /// run and starts it again then sees everything that was in progress.
    pub(crate) async fn wait_for_abandoned(&self) -> SessionResult<()> {
        let gone = self.unanswered.gone.load(Ordering::Acquire);
        if self.unanswered.waited_for.load(Ordering::Acquire) < gone {
            self.flush().await?;
            self.unanswered.waited_for.fetch_max(gone, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Waits until everything that was sent before is stored.
    pub(crate) async fn flush(&self) -> SessionResult<()> {
        self.signal(Message::Flush).await
    }

    /// Executes everything that was sent before and closes the file. Closing twice is allowed.
    pub(crate) async fn close(&self) {
        let _ = self.signal(Message::Close).await;
    }

    async fn signal(&self, message: fn(oneshot::Sender<()>) -> Message) -> SessionResult<()> {
        let (done, answer) = oneshot::channel();
        self.inbox.send(message(done)).await.map_err(|_| self.file.closed())?;
        answer.await.map_err(|_| self.file.closed())
    }
}

fn spawn(work: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    thread::Builder::new().name("pleach-sqlite-writer".to_owned()).spawn(move || {
        runtime.block_on(work);
    })?;
    Ok(())
}

/// The thread's state: the connection, and the settings with which it can be replaced.
struct Writer {
    settings: open::Settings,
    /// The connection; `None` after a fault broke it, until the next message needs one.
    open: Option<Open>,
    texts: Texts,
    /// The remaining time to wait for other processes, shared by the messages that are being served.
    lock_wait: LockWait,
}

impl Writer {
    async fn run(mut self, mut inbox: mpsc::Receiver<Message>) {
        let mut waiting = Vec::with_capacity(BATCH);
        let mut closing = Vec::new();
        while inbox.recv_many(&mut waiting, BATCH).await > 0 {
            linger(&mut inbox, &mut waiting).await;
            self.lock_wait = self.settings.lock_wait();
            closing.extend(self.serve(waiting.drain(..)).await);
            if !closing.is_empty() {
                inbox.close();
            }
        }
        if let Some(Open { connection, .. }) = self.open.take() {
            // Nothing is lost, because every answer was sent after its commit.
            let _ = connection.close().await;
        }
        for done in closing {
            let _ = done.send(());
        }
    }

    /// Serves messages in order, and consecutive appends together. Returns the reply channels of the messages that
    /// close the service.
    async fn serve(&mut self, messages: impl Iterator<Item = Message>) -> Vec<oneshot::Sender<()>> {
        let mut closing = Vec::new();
        let mut appends = Vec::new();
        for message in messages {
            if let Message::Append(append) = message {
                appends.push(*append);
                continue;
            }
            self.append_all(std::mem::take(&mut appends)).await;
            match message {
                Message::Append(_) => {}
                Message::Create(create) => self.create(*create).await,
                Message::Delete(delete) => self.delete(delete).await,
                Message::Claim(claim) => self.claim(claim).await,
                Message::Redact(redact) => self.redact(*redact).await,
                Message::Inbox(write, reply) => self.write_inbox(write, reply).await,
                Message::Settled(note) => self.note_settled(note).await,
                // The receiver may be gone.
                Message::Flush(done) => drop(done.send(())),
                Message::Close(done) => closing.push(done),
            }
        }
        self.append_all(appends).await;
        closing
    }

    fn file(&self) -> &File {
        self.settings.file()
    }

    /// Opens the connection if there is none.
    async fn connect(&mut self) -> SessionResult<&Open> {
        if self.open.is_none() {
            self.open = Some(self.settings.open().await?);
        }
        self.open.as_ref().ok_or_else(|| self.settings.file().closed())
    }

    /// Returns the layout of the file that [`connect`](Self::connect) has opened.
    fn layout(&self) -> sqlx::Result<SqliteLayout> {
        self.open.as_ref().map(|open| open.sql.layout()).ok_or(sqlx::Error::WorkerCrashed)
    }

    /// Returns the connection that [`connect`](Self::connect) has opened.
    fn open_connection(&mut self) -> sqlx::Result<&mut SqliteConnection> {
        self.open.as_mut().map(|open| &mut open.connection).ok_or(sqlx::Error::WorkerCrashed)
    }

    /// Rolls back a failed transaction, or drops the connection if that fails as well.
    async fn roll_back(&mut self, error: &sqlx::Error) {
        let Some(Open { connection, .. }) = self.open.as_mut() else {
            return;
        };
        if Fault::of(error).is_fatal() {
            self.open = None;
            return;
        }
        let ended = sqlx::query(sql::ROLLBACK).execute(connection).await;
        // After a failed BEGIN, or a rollback by SQLite itself, there is no transaction to end.
        let sound = match ended {
            Ok(_) => true,
            Err(sqlx::Error::Database(error)) => error.message().contains("no transaction is active"),
            Err(_) => false,
        };
        if !sound {
            self.open = None;
        }
    }
}

/// Waits briefly for more appends. Callers that were just answered are about to send their next one, and one commit for
/// all of them costs no more. A single message never waits.
async fn linger(inbox: &mut mpsc::Receiver<Message>, waiting: &mut Vec<Message>) {
    if waiting.len() < 2 {
        return;
    }
    let mut idle = 0;
    while idle < IDLE_POLLS && waiting.len() < BATCH {
        tokio::task::yield_now().await;
        match inbox.try_recv() {
            Ok(message) => {
                waiting.push(message);
                idle = 0;
            }
            Err(_) => idle += 1,
        }
    }
}

/// Sends a caller its answer.
fn answer<T>(reply: Reply<T>, outcome: SessionResult<T>) {
    // The caller may have dropped its future; the work is done anyway.
    let _ = reply.send(outcome);
}
