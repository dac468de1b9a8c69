//! [`McpCommand`]: a server that is started as a child process.

use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;

use pleach_http::Secrets;
use process_wrap::tokio::CommandWrap;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::process::Command;

use crate::McpSetupError;

/// The variables of this process that a server inherits. Programs need them to find files and other programs. None of
/// them holds a key.
#[cfg(not(windows))]
const INHERITED: &[&str] = &["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];
#[cfg(windows)]
const INHERITED: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];

/// A server that is started as a child process and speaks over its standard input and output.
///
/// The server is started when it is first needed, and again after it has ended. It inherits only the environment
/// variables that programs need to run, such as `PATH` and `HOME`. Pass others with [`env`](Self::env), or all with
/// [`inherit_env`](Self::inherit_env). Lines of its standard error become log events with the target
/// `pleach_mcp::stderr`.
///
/// Debug output shows the program and the names of variables only. ADK: `StdioServerParameters`
///
/// ```
/// # use pleach_mcp::McpCommand;
/// let files = McpCommand::new("npx").args(["-y", "@modelcontextprotocol/server-filesystem", "/srv/notes"]);
/// # let _ = files;
/// ```
#[derive(Clone)]
#[must_use]
#[doc(alias = "StdioServerParameters")]
pub struct McpCommand {
    program: String,
    args: Vec<String>,
    env: Vec<(String, SecretString)>,
    current_dir: Option<PathBuf>,
    inherits_env: bool,
}

impl McpCommand {
    /// Creates a command for a program: a path, or a name that is looked up in `PATH`.
    pub fn new(program: impl Into<String>) -> Self {
        let program = program.into();
        Self { program, args: Vec::new(), env: Vec::new(), current_dir: None, inherits_env: false }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<T: Into<String>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable. Its value is treated as a secret.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), SecretString::from(value.into())));
        self
    }

    /// Passes all variables of this process to the server, including keys of providers.
    pub fn inherit_env(mut self) -> Self {
        self.inherits_env = true;
        self
    }

    /// Sets the directory that the server runs in. The default is the directory of this process.
    pub fn current_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.current_dir = Some(path.into());
        self
    }

    /// Returns the program's file name.
    pub(crate) fn program(&self) -> &str {
        self.program.rsplit(['/', '\\']).next().unwrap_or_default()
    }

    /// Returns the default name of a toolset: the program, or the server that a launcher starts.
    pub(crate) fn server_name(&self) -> &str {
        launched(self.program(), &self.args).unwrap_or_else(|| self.program())
    }

    /// Checks the command as far as possible without starting it.
    pub(crate) fn check(&self, server: &str) -> Result<(), McpSetupError> {
        let fault = |reason| McpSetupError::Command { server: server.to_owned(), reason };
        if self.program.trim().is_empty() {
            return Err(fault("is empty: name a program"));
        }
        if self.program.contains('\0') || self.args.iter().any(|arg| arg.contains('\0')) {
            return Err(fault("has a NUL character, which cannot be passed to a program"));
        }
        for (name, value) in &self.env {
            let fault = |reason| McpSetupError::Variable { server: server.to_owned(), variable: name.clone(), reason };
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(fault("its name is empty or has a `=` or NUL character"));
            }
            if value.expose_secret().contains('\0') {
                return Err(fault("its value has a NUL character"));
            }
        }
        Ok(())
    }

    /// Returns the values that are hidden in texts of the server.
    pub(crate) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        for (name, value) in &self.env {
            secrets.add(name, value.expose_secret());
        }
        secrets
    }

    /// Returns the command with its three pipes, in a process group of its own. A launcher often starts the server, and
    /// both must end.
    pub(crate) fn command(&self) -> CommandWrap {
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if !self.inherits_env {
            command.env_clear();
            command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value.expose_secret())));
        if let Some(path) = &self.current_dir {
            command.current_dir(path);
        }
        let mut command = CommandWrap::from(command);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        command
    }

    /// Returns the reason why the start failed. The system reports a missing directory and a missing program alike.
    pub(crate) fn reason_of(&self, error: &std::io::Error) -> String {
        if let Some(path) = self.current_dir.as_ref().filter(|path| !path.is_dir()) {
            return format!("its directory `{}` is not there", path.display());
        }
        let program = &self.program;
        match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no program `{program}`: install it, or name its path"),
            std::io::ErrorKind::PermissionDenied => format!("`{program}` may not be run by this user"),
            _ => format!("`{program}`: {error}"),
        }
    }
}

impl fmt::Debug for McpCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<&String> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("McpCommand")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("env", &variables)
            .finish_non_exhaustive()
    }
}

/// The launchers: programs that start a server that one of their arguments names. The words are options that may come
/// before that argument.
const LAUNCHERS: [(&str, &[&str]); 9] = [
    ("bunx", &["-y", "--yes", "--bun"]),
    ("bun", &["run", "x"]),
    ("deno", &["run", "-A", "--allow-all"]),
    ("node", &[]),
    ("npx", &["-y", "--yes", "-q", "--quiet"]),
    ("python", &["-m", "-u"]),
    ("python3", &["-m", "-u"]),
    ("uv", &["run", "tool"]),
    ("uvx", &["-q", "--quiet"]),
];

/// Returns the server that a launcher starts: a package without its version, a module, or the file of a script. Returns
/// `None` if the program is not a launcher. Also returns `None` after an unknown option, because the next word may be
/// its value and a secret.
fn launched<'a>(program: &str, args: &'a [String]) -> Option<&'a str> {
    let program = program.trim_end_matches(".exe").trim_end_matches(".cmd");
    let (_, words) = LAUNCHERS.iter().find(|(name, _)| *name == program)?;
    let named = args.iter().find(|arg| !words.contains(&arg.as_str()))?;
    if named.starts_with('-') || named.contains("://") {
        return None;
    }
    let package = match named.rfind('@') {
        Some(at) if at > 0 => &named[..at],
        _ => named.split("==").next().unwrap_or_default(),
    };
    // The scope of a package is part of its name, but the folder of a script is not.
    let is_scoped = package.starts_with('@') && package.matches('/').count() == 1;
    let name = if is_scoped { package } else { package.rsplit(['/', '\\']).next().unwrap_or_default() };
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolset_without_a_name_is_called_after_the_server_that_a_launcher_starts() {
        for (line, name) in [
            ("npx -y @modelcontextprotocol/server-filesystem@1.2 /srv", "@modelcontextprotocol/server-filesystem"),
            ("npx some-server@latest --key abc", "some-server"),
            ("uvx mcp-server-git==0.6 --repository /srv", "mcp-server-git"),
            ("/usr/bin/python3 -u servers/weather.py", "weather.py"),
            ("python -m mcp_server_fetch", "mcp_server_fetch"),
            ("node build/index.js", "index.js"),
            ("C:\\tools\\npx.cmd -y srv", "srv"),
            // The word after an unknown option may be its value.
            ("npx --registry-token abc server", "npx"),
            ("npx", "npx"),
            ("npx -y https://token@host/x.tgz", "npx"),
            ("/opt/bin/weather-server --port 1", "weather-server"),
            ("docker run -e KEY image", "docker"),
        ] {
            let mut words = line.split(' ');
            let command = McpCommand::new(words.next().unwrap()).args(words);
            assert_eq!(command.server_name(), name, "{line}");
        }
    }
}
