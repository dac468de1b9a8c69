//! Writing the rows of a judged batch in few executes, and committing.

use std::ops::Range;
use std::sync::Arc;

use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};

use super::accepted::Accepted;
use super::batch::{Batch, SessionSlot};
use super::texts::{self, Shape, Texts};
use crate::layout::SqliteLayout;

type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

/// The rows that one execute writes.
#[derive(Debug, Default, PartialEq)]
struct Step {
    apps: Range<usize>,
    users: Range<usize>,
    sessions: Range<usize>,
    events: Range<usize>,
}

/// Writes the changed states, the sessions and the accepted events, and commits.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    layout: SqliteLayout,
    texts: &mut Texts,
    batch: &Batch,
    accepted: &[Accepted<'_>],
) -> sqlx::Result<()> {
    let apps: Vec<_> = batch.apps.iter().filter(|slot| slot.changed.is_some()).collect();
    let users: Vec<_> = batch.users.iter().filter(|slot| slot.changed.is_some()).collect();
    let sessions: Vec<_> = batch.sessions.iter().filter(|slot| !slot.accepted.is_empty()).collect();
    let steps = plan([apps.len(), users.len(), sessions.len(), accepted.len()]);
    let last = steps.len() - 1;
    let time = |seconds| layout.column(seconds);
    for (index, step) in steps.into_iter().enumerate() {
        let text = texts.of(step.shape(index == last));
        // The text consists of constants and question marks.
        let mut query = sqlx::query(AssertSqlSafe(text));
        for slot in &apps[step.apps] {
            query = query.bind(slot.key.as_str()).bind(slot.text.as_str()).bind(slot.changed.map(time));
        }
        for slot in &users[step.users] {
            let (app, user) = &slot.key;
            query = query.bind(app.as_str()).bind(user.as_str());
            query = query.bind(slot.text.as_str()).bind(slot.changed.map(time));
        }
        for slot in &sessions[step.sessions] {
            query = bind_session(query, slot, layout);
        }
        for one in &accepted[step.events] {
            query = bind_event(query, one, layout);
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

fn bind_session<'q>(query: Query<'q>, slot: &'q SessionSlot, layout: SqliteLayout) -> Query<'q> {
    let update_time = slot.row.as_ref().map(|row| layout.column(row.update_time));
    let query = query.bind(slot.new_state.as_deref()).bind(update_time);
    let key = &slot.key;
    query.bind(key.app_name.as_str()).bind(key.user_id.as_str()).bind(key.session_id.as_str())
}

fn bind_event<'q>(query: Query<'q>, one: &'q Accepted<'_>, layout: SqliteLayout) -> Query<'q> {
    let append = one.append;
    let (event, key) = (&append.event, &append.key);
    let query = query.bind(event.id().to_string());
    let query = query.bind(key.app_name.as_str()).bind(key.user_id.as_str()).bind(key.session_id.as_str());
    query.bind(event.invocation_id().as_str()).bind(layout.column(append.time)).bind(Arc::clone(one.data()))
}

impl Step {
    fn shape(&self, commit: bool) -> Shape {
        Shape {
            apps: self.apps.len(),
            users: self.users.len(),
            sessions: self.sessions.len(),
            events: self.events.len(),
            commit,
        }
    }
}

/// Divides the rows of the four tables into steps.
///
/// A single append is one step, whatever it changes. Otherwise only sessions and events share a step, if their ranges
/// are equally long, as in the usual case of one event per session. This keeps the number of different texts small.
fn plan(counts: [usize; 4]) -> Vec<Step> {
    let [apps, users, sessions, events] = counts;
    if counts.iter().all(|&count| count <= 1) {
        return vec![Step { apps: 0..apps, users: 0..users, sessions: 0..sessions, events: 0..events }];
    }
    let mut steps: Vec<_> = texts::ranges(apps).map(|apps| Step { apps, ..Step::default() }).collect();
    steps.extend(texts::ranges(users).map(|users| Step { users, ..Step::default() }));
    let (mut sessions, mut events) = (texts::ranges(sessions).peekable(), texts::ranges(events).peekable());
    loop {
        let (session_rows, event_rows) = (sessions.peek().map_or(0, Range::len), events.peek().map_or(0, Range::len));
        if session_rows == 0 && event_rows == 0 {
            return steps;
        }
        steps.push(Step {
            sessions: sessions.next_if(|_| session_rows >= event_rows).unwrap_or_default(),
            events: events.next_if(|_| event_rows >= session_rows).unwrap_or_default(),
            ..Step::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(counts: [usize; 4], expected: &[[usize; 4]]) {
        let steps = plan(counts);
        let shapes: Vec<_> = steps
            .iter()
            .map(|step| [step.apps.len(), step.users.len(), step.sessions.len(), step.events.len()])
            .collect();
        assert_eq!(shapes, expected);
        assert_eq!(steps.iter().map(|step| step.events.end).max(), Some(counts[3]));
    }

    #[test]
    fn usual_batches_take_few_steps() {
        check([0, 0, 1, 1], &[[0, 0, 1, 1]]);
        check([1, 1, 1, 1], &[[1, 1, 1, 1]]);
        check([0, 0, 64, 64], &[[0, 0, 64, 64]]);
        check([0, 0, 200, 200], &[[0, 0, 64, 64], [0, 0, 64, 64], [0, 0, 64, 64], [0, 0, 8, 8]]);
    }

    #[test]
    fn unequal_rows_go_in_steps_of_their_own() {
        check([1, 2, 3, 6], &[[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 4], [0, 0, 2, 2], [0, 0, 1, 0]]);
    }
}
