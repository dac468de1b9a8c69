//! Opening a database: detecting its layout, and creating missing tables.
// S62, S64

use std::time::Duration;

use pleach_session::{SessionError, SessionResult};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::connect_retry::ConnectRetry;
use crate::connections::{Ask, Connections};
use crate::fault::{Fault, Server, Trouble};
use crate::lent::Lent;
use crate::sql;

/// The number of tables and indexes of the layout, including the metadata.
const OBJECTS: i64 = 6;
/// The number of tables that hold sessions.
const TABLES: i64 = 4;
const METADATA: &str = "adk_internal_metadata";
/// The time that another program may take to create its tables.
const OTHERS: Duration = Duration::from_secs(2);

/// Makes sure that the database has the layout. Missing tables are created, unless the database is only read.
pub(crate) async fn prepare(connections: &Connections, read_only: bool) -> SessionResult<()> {
    let retry = ConnectRetry::once(connections.acquire_timeout());
    connections.ask_for(retry, &Prepare { server: connections.server(), read_only }).await
}

struct Prepare<'s> {
    server: &'s Server,
    read_only: bool,
}

/// The contents of a database.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// All objects exist, in the supported version.
    Ready,
    /// All tables that hold sessions exist, but not all other objects.
    Readable,
    /// There are no tables, or only some tables of the layout.
    Missing,
    /// The table of versions exists but is empty: google-adk is creating its tables, or was interrupted.
    Unversioned,
    /// The database has another layout, and must not be changed.
    Foreign(String),
}

impl Ask for Prepare<'_> {
    type Answer = ();

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<(), Trouble> {
        let mut retry = ConnectRetry::new(OTHERS);
        loop {
            let error = match detect(connection).await? {
                Found::Ready => return Ok(()),
                Found::Readable if self.read_only => return Ok(()),
                Found::Foreign(reason) => return Err(self.server.unsupported(reason).into()),
                Found::Missing if self.read_only => {
                    let reason = "session tables are missing; open it for writing to create them";
                    return Err(self.server.unsupported(reason.to_owned()).into());
                }
                Found::Unversioned => None,
                Found::Readable | Found::Missing => {
                    match sqlx::raw_sql(sql::CREATE_TABLES).execute(&mut *connection).await {
                        Ok(_) => return Ok(()),
                        Err(error) if is_race(&error) => Some(error),
                        Err(error) => return Err(error.into()),
                    }
                }
            };
            if !retry.wait().await {
                return Err(error.map_or_else(|| self.unversioned().into(), Trouble::from));
            }
        }
    }
}

impl Prepare<'_> {
    fn unversioned(&self) -> SessionError {
        let reason = "its table adk_internal_metadata has no row schema_version; insert ('schema_version', '1') if its \
                      other tables are those of google-adk 1.22 or later";
        self.server.unsupported(reason)
    }
}

/// Returns `true` if another program created the same object concurrently.
fn is_race(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    Fault::of(error) == Fault::Again
        || code.is_some_and(|code| matches!(&*code, "23505" | "42P07" | "42710" | "42P06" | "XX000"))
}

async fn detect(connection: &mut Lent) -> sqlx::Result<Found> {
    let rows = sqlx::query(sql::DETECT).fetch_all(&mut *connection).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let lacking: Vec<String> = row.try_get("lacking")?;
    if row.try_get("has_metadata")? && !lacking.iter().any(|table| table == METADATA) {
        let versions = sqlx::query(sql::VERSION).fetch_all(connection).await?;
        let Some(version) = versions.first() else {
            return Ok(Found::Unversioned);
        };
        let version: &str = version.try_get("value")?;
        if version != "1" {
            return Ok(Found::Foreign(reason_for_version(version)));
        }
    }
    by_shape(row, &lacking)
}

fn reason_for_version(version: &str) -> String {
    if version == "0" {
        return OLD.to_owned();
    }
    format!("its schema version is {version}, but this version of pleach knows only version 1: use a newer pleach")
}

const OLD: &str = "it has the tables of google-adk before 1.22 (schema version 0): copy them into a new database with \
                   `adk migrate session --source_db_url OLD --dest_db_url NEW` and open that";

fn by_shape(row: &PgRow, lacking: &[String]) -> sqlx::Result<Found> {
    let (has_actions, has_event_data): (bool, bool) = (row.try_get("has_actions")?, row.try_get("has_event_data")?);
    if has_actions && !has_event_data {
        return Ok(Found::Foreign(OLD.to_owned()));
    }
    let time_type: Option<&str> = row.try_get("time_type")?;
    let strange = match time_type {
        Some(other) if other != "timestamp without time zone" => Some("sessions"),
        _ => lacking.first().map(String::as_str),
    };
    if let Some(table) = strange {
        return Ok(Found::Foreign(format!(
            "its table `{table}` is another program's: use a separate database or schema"
        )));
    }
    let (present, tables): (i64, i64) = (row.try_get("present")?, row.try_get("tables")?);
    Ok(match (present, tables) {
        (OBJECTS, _) => Found::Ready,
        (_, TABLES) => Found::Readable,
        _ => Found::Missing,
    })
}
