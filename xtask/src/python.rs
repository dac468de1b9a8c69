//! Virtual environments of Python below the target folder.
//!
//! Nothing else of the machine's Python is touched, and no test needs one: without it they say SKIPPED.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};

/// A virtual environment.
#[derive(Debug)]
pub(crate) struct VirtualEnvironment {
    folder: PathBuf,
}

impl VirtualEnvironment {
    /// Names the environment in a folder, which need not be there.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the path of one of its programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        match cfg!(windows) {
            true => self.folder.join("Scripts").join(format!("{name}.exe")),
            false => self.folder.join("bin").join(name),
        }
    }

    /// Makes the environment anew, with these packages.
    ///
    /// # Errors
    /// There is no Python 3, no module `venv`, or no way to the package index.
    pub(crate) fn install(&self, packages: &[&str]) -> anyhow::Result<()> {
        self.create(packages[0])?;
        self.pip(packages)
    }

    /// Makes the environment anew, with the wheels whose digests a requirements file names, and nothing else.
    ///
    /// # Errors
    /// Those of [`install`](Self::install), or a wheel has another digest.
    pub(crate) fn install_exactly(&self, about: &str, requirements: &str) -> anyhow::Result<()> {
        self.create(about)?;
        let file = self.folder.join("requirements.txt");
        std::fs::write(&file, requirements).with_context(|| format!("cannot write {}", file.display()))?;
        self.pip(&["--require-hashes", "--only-binary", ":all:", "-r", &file.to_string_lossy()])
    }

    fn create(&self, about: &str) -> anyhow::Result<()> {
        println!("installing {about} below {}", self.folder.display());
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&self.folder))
    }

    fn pip(&self, arguments: &[&str]) -> anyhow::Result<()> {
        // The limits are for machines without a network, which should not wait long for nothing.
        let pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "--timeout", "15"];
        run(Command::new(self.program("python")).args(pip).args(arguments))
    }
}

/// Runs a program quietly; an error carries the last line of what it said.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {program}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stderr, output.stdout].map(|text| String::from_utf8_lossy(&text).into_owned());
    match said.iter().flat_map(|text| text.lines().rev()).find(|line| !line.trim().is_empty()) {
        Some(line) => bail!("{program}: {}", line.trim()),
        None => bail!("{program}: {}", output.status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_which_program_and_its_last_words() {
        let missing = run(&mut Command::new("no-such-program")).expect_err("there is none");
        assert_eq!(missing.to_string(), "cannot run no-such-program");
        let wrong = run(Command::new(crate::cargo::program()).arg("--no-such-option")).expect_err("a wrong call");
        assert!(wrong.to_string().contains("cargo: "), "{wrong}");
        assert_eq!(wrong.to_string().lines().count(), 1);
    }
}
