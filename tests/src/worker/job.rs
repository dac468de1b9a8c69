//! The job of a worker, and its form on a command line.

use std::str::FromStr;

use anyhow::Context as _;
use lexopt::Parser;
use lexopt::prelude::*;

/// The job of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The URL of the sessions.
    pub url: String,
    /// The app of the sessions.
    pub app: String,
    /// The user of the sessions.
    pub user: String,
    /// The prefix of the sessions' ids. A number from zero follows it.
    pub prefix: String,
    /// The number of sessions that the worker appends to, all at the same time.
    pub sessions: usize,
    /// The number of events for each session, or `None` for no limit.
    pub appends: Option<usize>,
    /// The name of the worker, which is a part of the ids of its events.
    pub writer: String,
    /// The number of keys of a session in each scope. The events write them in turn.
    pub keys: usize,
    /// The reaction to an append by another worker.
    pub on_stale: OnStale,
    /// Whether the worker waits for its parent before every append, not only before it starts.
    pub paced: bool,
}

/// The reaction of a worker if another worker appended first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnStale {
    /// The worker fails, because no other process should write to its sessions.
    Fail,
    /// The worker loads the session and continues with the next event.
    Skip,
    /// The worker loads the session and tries again with the same event.
    Retry,
}

impl Job {
    /// A job with one session of the app `app` and the user `user`, one key and no limit of events.
    pub fn new(url: impl Into<String>, writer: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            app: "app".into(),
            user: "user".into(),
            prefix: "s".into(),
            sessions: 1,
            appends: None,
            writer: writer.into(),
            keys: 1,
            on_stale: OnStale::Fail,
            paced: false,
        }
    }

    /// The arguments of the program `session-worker` for this job.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--url={}", self.url),
            format!("--app={}", self.app),
            format!("--user={}", self.user),
            format!("--prefix={}", self.prefix),
            format!("--sessions={}", self.sessions),
            format!("--writer={}", self.writer),
            format!("--keys={}", self.keys),
            format!("--on-stale={}", self.on_stale.name()),
        ];
        arguments.extend(self.appends.map(|appends| format!("--appends={appends}")));
        arguments.extend(self.paced.then(|| "--paced".to_owned()));
        arguments
    }

    /// Reads the arguments that [`arguments`](Self::arguments) writes. All except `--url` and `--writer` are optional.
    ///
    /// # Errors
    /// An unknown option, or an invalid value.
    pub fn parse(mut arguments: Parser) -> anyhow::Result<Self> {
        let mut job = Self::new("", "");
        while let Some(argument) = arguments.next()? {
            match argument {
                Long("url") => job.url = arguments.value()?.string()?,
                Long("app") => job.app = arguments.value()?.string()?,
                Long("user") => job.user = arguments.value()?.string()?,
                Long("prefix") => job.prefix = arguments.value()?.string()?,
                Long("sessions") => job.sessions = arguments.value()?.parse()?,
                Long("appends") => job.appends = Some(arguments.value()?.parse()?),
                Long("writer") => job.writer = arguments.value()?.string()?,
                Long("keys") => job.keys = arguments.value()?.parse()?,
                Long("on-stale") => job.on_stale = arguments.value()?.string()?.parse()?,
                Long("paced") => job.paced = true,
                other => return Err(other.unexpected().into()),
            }
        }
        anyhow::ensure!(!job.url.is_empty() && !job.writer.is_empty(), "--url=URL and --writer=NAME are needed");
        Ok(job)
    }
}

impl OnStale {
    const ALL: [Self; 3] = [Self::Fail, Self::Skip, Self::Retry];

    fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Skip => "skip",
            Self::Retry => "retry",
        }
    }
}

impl FromStr for OnStale {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        let found = Self::ALL.into_iter().find(|way| way.name() == name);
        found.with_context(|| format!("`{name}` is none of fail, skip, retry"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: impl IntoIterator<Item = String>) -> anyhow::Result<Job> {
        Job::parse(Parser::from_args(arguments))
    }

    #[test]
    fn arguments_are_read_as_they_are_written() {
        let job = Job::new("sqlite:a=b.db", "w");
        assert_eq!(parse(job.arguments()).expect("a job"), job);
        let job = Job { appends: Some(3), on_stale: OnStale::Retry, paced: true, keys: 2, sessions: 4, ..job };
        assert_eq!(parse(job.arguments()).expect("a job"), job);
        assert!(parse(["--url=x".to_owned()]).is_err());
        assert!(parse(["--no".to_owned()]).is_err());
    }
}
