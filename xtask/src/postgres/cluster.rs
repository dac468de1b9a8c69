//! A private Postgres cluster with its own folder, port, password and name. Stopping it removes it.

use std::fs::{self, File};
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use super::account::Account;
use super::programs::Programs;
use crate::cargo::succeeds;

const FOLDER_PREFIX: &str = "pleach-pg-";
const USER: &str = "pleach";
const DATABASE: &str = "pleach_test";
const START_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// The maximum number of ports that are tried if another program takes the port first.
const ATTEMPTS: usize = 3;

/// How long a cluster lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// Until the value is dropped. An interrupt from the terminal also stops it.
    Scope,
    /// Until another call of this program stops it.
    Detached,
}

/// The storage that a commit of a server waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// None. The data is only needed for the tests, so it need not survive a power failure.
    None,
    /// The disk, as in production. Benchmarks use it to measure the cost.
    Disk,
}

/// A running private server.
#[derive(Debug)]
pub(crate) struct Cluster {
    programs: Programs,
    account: Account,
    folder: PathBuf,
    /// A random value. It is the server's `cluster_name`, which identifies the server.
    token: String,
    url: String,
    port: u16,
    password: String,
    /// Whether to stop the server and remove everything on drop.
    owned: bool,
}

impl Cluster {
    /// Creates a cluster, starts its server, and creates an empty database in it. Makes sure that this server, and not
    /// another one, answers on the port.
    pub(super) fn start(programs: Programs, lifetime: Lifetime, durability: Durability) -> anyhow::Result<Self> {
        let token = random_hex()?;
        let mut cluster = Self {
            programs,
            account: Account::choose()?,
            folder: std::env::temp_dir().join(format!("{FOLDER_PREFIX}{token}")),
            token,
            url: String::new(),
            port: 0,
            password: random_hex()?,
            owned: true,
        };
        cluster.create()?;
        cluster.serve(lifetime, durability)?;
        cluster.query("postgres", &format!("create database {DATABASE}"))?;
        cluster.url = format!("postgres://{USER}:{}@127.0.0.1:{}/{DATABASE}", cluster.password, cluster.port);
        Ok(cluster)
    }

    /// Returns a cluster that an earlier call left running.
    pub(super) fn known(programs: Programs, folder: PathBuf, token: String, url: String) -> anyhow::Result<Self> {
        let (password, port) = url
            .strip_prefix(&format!("postgres://{USER}:"))
            .and_then(|rest| rest.strip_suffix(&format!("/{DATABASE}")))
            .and_then(|rest| rest.split_once("@127.0.0.1:"))
            .with_context(|| format!("`{url}` is not the URL of a private server"))?;
        Ok(Self {
            account: Account::choose()?,
            port: port.parse().context("the port is not a number")?,
            password: password.to_owned(),
            programs,
            folder,
            token,
            url,
            owned: false,
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Returns true if this cluster's server answers on its port.
    pub(super) fn answers(&self) -> bool {
        self.query("postgres", "show cluster_name").is_ok_and(|name| name == self.token)
    }

    /// Gives up ownership, so that the server outlives this process.
    pub(super) fn leave_running(mut self) {
        self.owned = false;
    }

    /// Stops the server, if it still runs, and removes its folder.
    pub(super) fn stop_and_remove(&self) -> anyhow::Result<()> {
        if self.data().join("postmaster.pid").exists() {
            let data = self.data();
            let mut stop = self.command("pg_ctl");
            stop.args(["stop", "-s", "-w", "-m", "fast", "-D"]).arg(data);
            // After a crash of the machine, only the file is left and there is no server to stop.
            let stopped = succeeds(&mut stop)?;
            ensure!(stopped || !self.answers(), "cannot stop the private server");
        }
        let ours = self.folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER_PREFIX));
        ensure!(ours, "{} is not a folder of ours", self.folder.display());
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).with_context(|| format!("cannot remove {}", self.folder.display()))?;
        }
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Returns the command for a server program, run under the account in the cluster's folder.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.path(name));
        self.account.apply(&mut command);
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    fn create(&self) -> anyhow::Result<()> {
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&self.folder)
            .with_context(|| format!("cannot create {}", self.folder.display()))?;
        self.account.own(&self.folder)?;
        let password = self.folder.join("password");
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&password)
            .and_then(|mut file| std::io::Write::write_all(&mut file, self.password.as_bytes()))
            .context("cannot write the password file")?;
        self.account.own(&password)?;
        // SCRAM hashes a password 4,096 times for each connection, which takes long in unoptimised tests.
        let output = self
            .command("initdb")
            .args(["-U", USER, "--auth=md5", "--encoding=UTF8"])
            .args(["--no-locale", "--no-sync", "-D"])
            .arg(self.data())
            .arg("--pwfile")
            .arg(&password)
            .output()
            .context("cannot run initdb")?;
        ensure!(output.status.success(), "initdb failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(())
    }

    /// Starts the server on a free port and waits until it answers.
    fn serve(&mut self, lifetime: Lifetime, durability: Durability) -> anyhow::Result<()> {
        for _ in 0..ATTEMPTS {
            self.port = free_port()?;
            let mut child = self.spawn(lifetime, durability)?;
            let deadline = Instant::now() + START_LIMIT;
            while Instant::now() < deadline {
                if child.try_wait()?.is_some() {
                    break;
                }
                if self.answers() {
                    return Ok(());
                }
                std::thread::sleep(POLL);
            }
            if child.try_wait()?.is_none() {
                child.kill()?;
                child.wait()?;
                bail!("the private server does not answer on port {}", self.port);
            }
        }
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        bail!("the private server does not start: {}", log.trim())
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn spawn(&self, lifetime: Lifetime, durability: Durability) -> anyhow::Result<Child> {
        let log = File::create(self.log()).context("cannot create the server's log")?;
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data());
        for setting in [
            "listen_addresses=127.0.0.1".to_owned(),
            // There is no socket file, because its folder belongs to the system's own server.
            "unix_socket_directories=".to_owned(),
            format!("port={}", self.port),
            format!("cluster_name={}", self.token),
            "max_connections=200".to_owned(),
        ] {
            command.args(["-c", &setting]);
        }
        if durability == Durability::None {
            command.args(["-c", "fsync=off", "-c", "full_page_writes=off"]);
        }
        if lifetime == Lifetime::Detached {
            command.process_group(0);
        }
        command.stdout(log.try_clone()?).stderr(log).spawn().context("cannot run postgres")
    }

    /// Returns the result of a statement as text.
    fn query(&self, database: &str, sql: &str) -> anyhow::Result<String> {
        let output = self
            .command("psql")
            .args(["-X", "-A", "-t", "-w", "-h", "127.0.0.1", "-U", USER])
            .args(["-p", &self.port.to_string(), "-d", database, "-c", sql])
            .env("PGPASSWORD", &self.password)
            .env("PGCONNECT_TIMEOUT", "5")
            .output()
            .context("cannot run psql")?;
        ensure!(output.status.success(), "psql failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.owned
            && let Err(error) = self.stop_and_remove()
        {
            eprintln!("{error:#}");
        }
    }
}

/// Returns a port that is free now. The caller must check that it still is.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
    Ok(listener.local_addr()?.port())
}

fn random_hex() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).context("cannot read random bytes")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
