//! [`Pooler`]: a PgBouncer for one test, in front of the test server.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::own_tests::schema::Schema;

/// The variable that names the program `pgbouncer`.
pub const POOLER_VARIABLE: &str = "PLEACH_TEST_PGBOUNCER";

/// The pooler's database whose default schema is the test's.
const SCHEMA: &str = "schema_of_test";

/// A PgBouncer on its own port, stopped when this value is dropped.
#[derive(Debug)]
pub struct Pooler {
    program: PathBuf,
    /// The path of the configuration, which contains the password of the test server.
    configuration: PathBuf,
    port: u16,
    child: Option<Child>,
}

impl Pooler {
    /// Starts a PgBouncer in front of the server of a schema, with further lines for its configuration such as
    /// `pool_mode = transaction`. Without the program, prints that the test is skipped.
    ///
    /// # Panics
    /// Panics if the program cannot be started.
    pub fn for_test(schema: &Schema, lines: &str) -> Option<Self> {
        let program = program()?;
        Some(Self::start(program, schema, lines).expect("pgbouncer starts"))
    }

    /// Returns true if the program has this minor version of version 1, or a later one. If not, prints that the test is
    /// skipped.
    pub fn has_version(minor: u32) -> bool {
        let output = program().and_then(|program| Command::new(program).arg("--version").output().ok());
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let version = text.split_whitespace().nth(1).and_then(|version| version.strip_prefix("1."));
        let found = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        let has = found.is_some_and(|found| found >= minor);
        if !has {
            crate::own_tests::skip(format_args!("pgbouncer is older than 1.{minor}"));
        }
        has
    }

    fn start(program: PathBuf, schema: &Schema, lines: &str) -> io::Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let configuration = std::env::temp_dir().join(format!("{}-{port}.ini", schema.name()));
        let url = schema.url();
        let (server, database) =
            server_of(&url).ok_or_else(|| io::Error::other("the server's URL has another form"))?;
        let text = format!(
            "[databases]\n* = {server}\n{SCHEMA} = {server} dbname={database} connect_query='SET search_path TO {}'\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n{}{lines}\n",
            schema.name(),
            // PgBouncer refuses to run as root.
            if is_root() { "user = nobody\n" } else { "" }
        );
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&configuration)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        let mut pooler = Self { program, configuration, port, child: None };
        pooler.bring_up()?;
        Ok(pooler)
    }

    /// Starts PgBouncer again after [`take_down`](Self::take_down), and waits until it listens.
    ///
    /// # Errors
    /// An error if PgBouncer ends, for example because of an unknown line in its configuration.
    pub fn bring_up(&mut self) -> io::Result<()> {
        let mut command = Command::new(&self.program);
        command.arg(&self.configuration).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = self.child.insert(command.spawn()?);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            if let Some(status) = child.try_wait()? {
                return Err(io::Error::other(format!("pgbouncer ended with {status}")));
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Kills PgBouncer, and with it all its connections.
    pub fn take_down(&mut self) {
        if let Some(mut child) = self.child.take() {
            // The program may already have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Returns the URL of a schema through the pooler, with its options. Further parameters can be added after `&`.
    pub fn url(&self, schema: &Schema) -> String {
        let url = schema.url();
        let place = url.rsplit_once('@').map_or(&*url, |(_, place)| place);
        let database = place.split_once('/').map_or("", |(_, database)| database);
        format!("postgres://test@127.0.0.1:{}/{database}", self.port)
    }

    /// Returns the URL without options. The pooler sets the default schema.
    pub fn url_without_options(&self) -> String {
        format!("postgres://test@127.0.0.1:{}/{SCHEMA}?application_name=test", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.take_down();
        let _ = std::fs::remove_file(&self.configuration);
    }
}

fn program() -> Option<PathBuf> {
    let program = std::env::var_os(POOLER_VARIABLE).filter(|program| !program.is_empty());
    if program.is_none() {
        crate::own_tests::skip(format_args!("{POOLER_VARIABLE} names no pgbouncer"));
    }
    program.map(PathBuf::from)
}

/// Returns the server of a URL in the form for the configuration, and the name of the database.
fn server_of(url: &str) -> Option<(String, &str)> {
    let (login, place) = url.split_once("://")?.1.rsplit_once('@')?;
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let (server, database) = place.split_once('/')?;
    let (host, port) = server.split_once(':')?;
    let password = if password.is_empty() { String::new() } else { format!(" password={password}") };
    Some((format!("host={host} port={port} user={user}{password}"), database.split('?').next()?))
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
