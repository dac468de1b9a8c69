//! The options of `test-all`.

use anyhow::{Context as _, bail, ensure};

/// Which steps run, and what they must not go without.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    only: Option<Vec<String>>,
    /// A missing server is a failure instead of being skipped.
    pub(super) require_postgres: bool,
}

impl Options {
    /// On a CI machine (`CI=true`) Postgres is required without being asked for.
    pub(super) fn parse(args: &[String], known: &[&str]) -> anyhow::Result<Self> {
        let ci = std::env::var("CI").is_ok_and(|value| value == "true");
        let mut options = Self { only: None, require_postgres: ci };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--only" => options.only = Some(steps(value()?, known)?),
                "--require" => match value()?.as_str() {
                    "postgres" => options.require_postgres = true,
                    other => bail!("only `postgres` can be required, not `{other}`"),
                },
                other => bail!("unknown option `{other}` of test-all"),
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
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        Options::parse(&args, &["fmt", "tidy", "test"])
    }

    #[test]
    fn only_picks_steps_by_name() {
        let options = parse(&["--only", "fmt,test", "--require", "postgres"]).expect("options");
        assert!(options.require_postgres && options.wants("fmt") && options.wants("test"));
        assert!(!options.wants("tidy"));
        assert!(parse(&[]).expect("options").wants("tidy"));
    }

    #[test]
    fn mistakes_are_named() {
        for (args, expected) in [
            (&["--only", "fmt,x"][..], "no step `x`"),
            (&["--only"], "--only needs a value"),
            (&["--require", "mysql"], "not `mysql`"),
            (&["--fast"], "unknown option `--fast`"),
        ] {
            let error = parse(args).expect_err("a mistake").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
