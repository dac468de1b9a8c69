//! Encoding and decoding of column values: times in whole microseconds, JSON as bytes.

use pleach_core::{Event, Revision, Session, SessionHead, SessionKey, seconds};
use pleach_session::raw_state::{self, StoredState};
use pleach_session::{SessionResult, report_unreadable};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{
    PgArgumentBuffer, PgArguments, PgHasArrayType, PgRow, PgTypeInfo, PgValueFormat, PgValueRef, Postgres,
};
use sqlx::query::Query;
use sqlx::{Decode, Encode, Row as _, Type, ValueRef as _};

use crate::fault::Server;

/// A part of a key in a condition.
///
/// No text column can hold U+0000, and the server refuses a text that contains it. Such a name is bound as NULL, which
/// equals nothing, so the session is not found and there is no error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl Type<Postgres> for Name<'_> {
    fn type_info() -> PgTypeInfo {
        <&str as Type<Postgres>>::type_info()
    }
}

impl Encode<'_, Postgres> for Name<'_> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        if self.0.contains('\0') {
            return Ok(IsNull::Yes);
        }
        Encode::<Postgres>::encode_by_ref(&self.0, buffer)
    }
}

/// The JSON text of an event, written directly into the statement. An event may be large, and a separate text would be
/// another copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventText<'a>(pub(crate) &'a Event);

impl Type<Postgres> for EventText<'_> {
    fn type_info() -> PgTypeInfo {
        <&str as Type<Postgres>>::type_info()
    }
}

impl Encode<'_, Postgres> for EventText<'_> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        serde_json::to_writer(&mut **buffer, self.0)?;
        Ok(IsNull::No)
    }
}

/// Creates a statement whose first three values are the key of a session.
pub(crate) fn query<'q>(text: &'static str, key: &'q SessionKey) -> Query<'q, Postgres, PgArguments> {
    let names = [key.app_name.as_str(), key.user_id.as_str(), key.session_id.as_str()].map(Name);
    names.into_iter().fold(sqlx::query(text), Query::bind)
}

/// The type `timestamp without time zone`.
const TIMESTAMP: PgTypeInfo = PgTypeInfo::with_oid(Oid(1114));
/// Postgres counts from 2000-01-01.
const POSTGRES_EPOCH: i64 = 946_684_800_000_000;
/// The earliest time that the type can hold, in 4713 BC. Earlier times are sent as -infinity. The latest time needs no
/// check, because the microseconds from 1970 to that time do not fit into an `i64`.
const EARLIEST: i64 = -211_813_488_000_000_000;

/// A `timestamp` column: UTC, in microseconds since 1970. The smallest and the largest integer encode -infinity and
/// infinity.
///
/// The value stays an integer, because every append compares it as part of the revision. A conversion to a calendar date
/// or a float could change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) i64);

impl Type<Postgres> for Time {
    fn type_info() -> PgTypeInfo {
        TIMESTAMP
    }
}

impl PgHasArrayType for Time {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(1115))
    }
}

impl Encode<'_, Postgres> for Time {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let since_2000 = match self.0 {
            i64::MAX => i64::MAX,
            time => time.checked_sub(POSTGRES_EPOCH).filter(|&time| time >= EARLIEST).unwrap_or(i64::MIN),
        };
        buffer.extend(&since_2000.to_be_bytes());
        Ok(IsNull::No)
    }
}

impl Decode<'_, Postgres> for Time {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        let since_2000 = i64::from_be_bytes(value.as_bytes()?.try_into()?);
        // The smallest and the largest integer encode -infinity and infinity.
        if matches!(since_2000, i64::MIN | i64::MAX) {
            return Err("the time is infinite".into());
        }
        Ok(Self(since_2000.checked_add(POSTGRES_EPOCH).ok_or("the time is out of range")?))
    }
}

/// The revision that a stored session has, and its time. The revision consists of the time and its *ties*: the number of
/// events with that time, or the number that a claim has stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) revision: Revision,
    /// The time in seconds since the epoch.
    pub(crate) update_time: f64,
}

impl Seen {
    pub(crate) fn new(time: Time, ties: i64) -> Self {
        // There is no session with 2^32 events in one microsecond.
        let ties = u32::try_from(ties).unwrap_or(u32::MAX);
        Self { revision: Revision::new(time.0, ties), update_time: seconds(time.0) }
    }
}

/// Returns the JSON text of a `jsonb` column; `None` if it is NULL.
pub(crate) fn json<'r>(row: &'r PgRow, column: &str) -> sqlx::Result<Option<&'r str>> {
    let value = row.try_get_raw(column)?;
    if value.is_null() {
        return Ok(None);
    }
    let decoding = |source| sqlx::Error::ColumnDecode { index: column.to_owned(), source };
    let bytes = value.as_bytes().map_err(decoding)?;
    let text = match value.format() {
        PgValueFormat::Text => bytes,
        // The text follows a version byte.
        PgValueFormat::Binary => bytes.strip_prefix(&[1]).ok_or_else(|| decoding("unknown form of jsonb".into()))?,
    };
    std::str::from_utf8(text).map(Some).map_err(|error| decoding(error.into()))
}

/// Reads a state; a missing row is an empty state.
pub(crate) fn state(text: Option<&str>, place: std::fmt::Arguments<'_>, server: &Server) -> SessionResult<StoredState> {
    let read = |text| raw_state::decode(text).map_err(|error| server.corrupt(place, error));
    text.map_or_else(|| Ok(StoredState::default()), read)
}

/// Creates a session from its head and the state columns of the session, its app and its user.
pub(crate) fn session(head: SessionHead, states: [Option<&str>; 3], server: &Server) -> SessionResult<Session> {
    let (key, [own, app, user]) = (head.key(), states);
    let own = state(own, format_args!("the state of session {key}"), server)?;
    let app = state(app, format_args!("the state of app {}", key.app_name), server)?;
    let user = state(user, format_args!("the state of user {}/{}", key.app_name, key.user_id), server)?;
    let (view, unreadable) = own.merged(&app, &user);
    report_unreadable(key, &unreadable);
    Ok(Session::new(head, view).with_unreadable(unreadable))
}
