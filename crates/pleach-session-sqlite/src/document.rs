//! Reading event documents, and the columns that complete or overrule them.
// S46

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use pleach_core::{Event, EventId, InvocationId, SessionKey};
use pleach_session::{SessionError, SessionResult, read_stored};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::column;
use crate::fault::File;
use crate::layout::SqliteLayout;

/// The separator of the documents in one text; JSON text never contains it.
// S47
const SEPARATOR: char = '\u{1e}';

/// The mark before the row number and the id of a document that is too long for the shared text (see `sql::DOCUMENT`).
/// JSON text never contains it.
const LEFT_OUT: char = '\u{1f}';

/// An event whose document was left out of the shared text.
#[derive(Clone, Debug)]
pub(crate) struct LeftOut {
    /// The index of the event among the events that were read.
    pub(crate) index: usize,
    pub(crate) row: LongRow,
}

/// The row of a document that was left out. The id shows whether the row number now belongs to another event.
#[derive(Clone, Debug)]
pub(crate) struct LongRow {
    pub(crate) number: i64,
    /// The id in hexadecimal digits.
    pub(crate) id: String,
}

/// Up to 256 events: their documents in one text and, where columns take precedence, the columns.
// S46
pub(crate) struct Chunk<'r> {
    documents: &'r str,
    /// JSON arrays of texts.
    ids: Option<&'r str>,
    invocations: Option<&'r str>,
}

impl<'r> Chunk<'r> {
    pub(crate) fn of(row: &'r SqliteRow) -> sqlx::Result<Self> {
        Ok(Self { documents: row.try_get("data")?, ids: row.try_get("ids")?, invocations: row.try_get("invocations")? })
    }

    /// Returns the events. An event whose document was left out has only the values of its columns, and is listed in
    /// `left_out`.
    pub(crate) fn events(
        &self,
        key: &SessionKey,
        file: &File,
        left_out: &mut Vec<LeftOut>,
    ) -> SessionResult<Vec<Arc<Event>>> {
        let mut events = Vec::new();
        for text in self.documents.split(SEPARATOR) {
            if let Some(row) = row_left_out(text) {
                left_out.push(LeftOut { index: events.len(), row });
                events.push(Event::new());
            } else {
                events.push(parse(text, &format_args!("an event of session {key}"), file)?);
            }
        }
        if let (Some(ids), Some(invocations)) = (self.ids, self.invocations) {
            let texts = |json| serde_json::from_str::<Vec<Cow<'_, str>>>(json);
            let columns = texts(ids).and_then(|ids| Ok(ids.into_iter().zip(texts(invocations)?)));
            let columns = columns.map_err(|error| file.corrupt(format_args!("an id of session {key}"), error))?;
            for (event, (id, invocation)) in events.iter_mut().zip(columns) {
                overrule(event, &id, &invocation);
            }
        }
        Ok(events.into_iter().map(Arc::new).collect())
    }
}

pub(crate) fn row_left_out(document: &str) -> Option<LongRow> {
    let (number, id) = document.strip_prefix(LEFT_OUT)?.split_once(' ')?;
    Some(LongRow { number: number.parse().ok()?, id: id.to_owned() })
}

/// Reads the document of an event that was left out; the ids from its columns are kept.
pub(crate) fn complete(event: &Event, document: &str, key: &SessionKey, file: &File) -> SessionResult<Event> {
    let mut read = parse(document, &format_args!("an event of session {key}"), file)?;
    if !event.id().is_empty() {
        overrule(&mut read, &event.id().to_string(), event.invocation_id().as_str());
    }
    Ok(read)
}

/// Reads a document. For an empty document, all values come from the columns (case 74).
fn parse(document: &str, place: &dyn fmt::Display, file: &File) -> SessionResult<Event> {
    if document.is_empty() {
        return Ok(Event::new());
    }
    read_stored(document).map_err(|error| file.corrupt(place, error))
}

fn overrule(event: &mut Event, id: &str, invocation: &str) {
    if *event.id() != id {
        event.set_id(EventId::from(id));
    }
    if event.invocation_id().as_str() != invocation {
        event.set_invocation_id(InvocationId::from(invocation));
    }
}

/// Returns `true` if the document has no id or no time. Only other programs write such documents, and columns complete
/// them.
pub(crate) fn lacks_columns(event: &Event) -> bool {
    event.id().is_empty() || event.timestamp() == 0.0
}

/// Reads an event from its row. If a document of the lite layout has no id or no time, google-adk invents a random
/// id and the current time at each read. Here the columns provide the same values every time.
pub(crate) fn event_of_row(
    row: &SqliteRow,
    document: &str,
    key: &SessionKey,
    file: &File,
    layout: SqliteLayout,
) -> SessionResult<Event> {
    let fault = |error| -> SessionError { file.fault(error) };
    let id: &str = row.try_get("ids").map_err(fault)?;
    let mut event = parse(document, &format_args!("event {id} of session {key}"), file)?;
    match layout {
        SqliteLayout::V1 => overrule(&mut event, id, row.try_get("invocations").map_err(fault)?),
        SqliteLayout::Lite if event.id().is_empty() => event.set_id(EventId::from(id)),
        SqliteLayout::Lite => {}
    }
    if event.timestamp() == 0.0 {
        let time = column::time(row, "update_time").map_err(fault)?;
        event.set_timestamp(time.unwrap_or(0.0));
    }
    Ok(event)
}
