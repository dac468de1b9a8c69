//! W12: turns over HTTP. Each turn is a `POST /run` to pleach's server, in a new session in memory, with a model that
//! answers at once. All turns use one connection. The limit is an axum handler that reads the same body and returns the
//! same bytes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use pleach::server::Server;
use pleach::{App, BoxError, CreateSession, InMemorySessionService, SessionKey, SessionService as _};
use tokio::net::TcpListener;

use crate::agents::{Turn, agent};
use crate::connection::{Connection, body};
use crate::measure::{Metric, now, sample};
use crate::row::Row;

/// The user's message.
const QUESTION: &str = "How is the weather in Oslo?";

/// The number of turns of a round, all on one connection.
const TURNS: usize = 100;

pub(super) fn rows() -> Vec<Row> {
    Turn::ALL.into_iter().map(|turn| Row::new("W12", format!("memory,{}", turn.name()), measure(turn))).collect()
}

async fn measure(turn: Turn) -> Result<Vec<Metric>, BoxError> {
    let sessions = Arc::new(InMemorySessionService::new());
    let server = Server::new().app(App::new("bench", agent(turn)?)?).sessions(Arc::clone(&sessions));
    let bound = server.bind("127.0.0.1:0").await?;
    let mut ours = Connection::open(bound.local_addr().port()).await?;
    tokio::spawn(bound.serve());
    create(&sessions, "first").await?;
    let answer = ours.post(&body("bench", "first", QUESTION)).await?;
    let mut limit = Connection::open(echo(answer).await?).await?;
    let mut round = 0;
    let [ours_times, limit_times] = sample(async || {
        round += 1;
        let ids: Vec<String> = (0..TURNS).map(|number| format!("s{round}-{number}")).collect();
        for id in &ids {
            create(&sessions, id).await?;
        }
        let times = [turns(&mut ours, &ids).await?, turns(&mut limit, &ids).await?];
        for id in &ids {
            sessions.delete_session(&SessionKey::new("bench", "ana", id.as_str())).await?;
        }
        Ok(times)
    })
    .await?;
    let each = |time: f64| TURNS as f64 * 1e6 / time;
    Ok(vec![
        Metric::micros("turn_median", ours_times.median() / TURNS as f64),
        Metric::rate("rate", each(ours_times.median()), "requests/s"),
        Metric::rate("rate", each(limit_times.median()), "requests/s").of_limit("axum handler"),
        Metric::ratio("time_to_limit", ours_times.median() / limit_times.median()),
        Metric::peak_rss()?,
    ])
}

/// Starts a server that reads the body of every request and sends this answer. Returns the port.
async fn echo(answer: Vec<u8>) -> Result<u16, BoxError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let handler = move |body: String| {
        let answer = answer.clone();
        async move {
            drop(body);
            ([("content-type", "application/json")], answer)
        }
    };
    let routes = Router::new().route("/run", post(handler));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(port)
}

async fn create(sessions: &InMemorySessionService, id: &str) -> Result<(), BoxError> {
    sessions.create_session(CreateSession::new("bench", "ana").with_session_id(id)).await?;
    Ok(())
}

async fn turns(connection: &mut Connection, ids: &[String]) -> Result<Duration, BoxError> {
    let start = now();
    for id in ids {
        connection.post(&body("bench", id, QUESTION)).await?;
    }
    Ok(start.elapsed())
}
