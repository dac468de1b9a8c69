//! The options of `test-all`.

use anyhow::{bail, ensure};
use lexopt::Parser;
use lexopt::prelude::*;

/// The steps to run, and the things that must not be skipped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    only: Option<Vec<String>>,
    /// Whether a missing server is a failure instead of a skipped row.
    pub(super) require_postgres: bool,
    /// Whether this is a CI machine (`CI=true`). There, a check may be skipped only if `docs/testing.md` names it.
    pub(super) is_ci: bool,
}

impl Options {
    pub(super) fn parse(args: &mut Parser, known: &[&str]) -> anyhow::Result<Self> {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        let mut options = Self { only: None, require_postgres: false, is_ci };
        while let Some(arg) = args.next()? {
            match arg {
                Long("only") => options.only = Some(steps(&args.value()?.string()?, known)?),
                Long("require") => match args.value()?.string()?.as_str() {
                    "postgres" => options.require_postgres = true,
                    other => bail!("only `postgres` can be required, not `{other}`"),
                },
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(options)
    }

    pub(super) fn wants(&self, step: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == step))
    }
}

fn steps(list: &str, known: &[&str]) -> anyhow::Result<Vec<String>> {
    let names: Vec<String> = list.split(',').map(|name| name.trim().to_owned()).collect();
    for name in &names {
        ensure!(known.contains(&name.as_str()), "there is no step `{name}`; the steps are {}", known.join(", "));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> anyhow::Result<Options> {
        Options::parse(&mut Parser::from_args(args), &["fmt", "tidy", "test"])
    }

    #[test]
    fn only_picks_steps_by_name() {
        let options = parse(&["--only", "fmt,test", "--require", "postgres"]).expect("options");
        assert!(options.require_postgres && options.wants("fmt") && options.wants("test"));
        assert!(!options.wants("tidy"));
        assert!(parse(&[]).expect("options").wants("tidy"));
    }
}
