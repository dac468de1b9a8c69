//! The command line. Unknown arguments are errors, never ignored.

use lexopt::Parser;
use lexopt::prelude::*;

use crate::row::Row;
use crate::workloads;

pub(crate) const USAGE: &str = "usage: bench [--only W1,W5] [--row PARAM] [--json] [--list]";

/// The arguments of a call.
#[derive(Debug)]
pub(crate) struct Args {
    /// The rows to measure, in the order of the table.
    pub(crate) rows: Vec<Row>,
    /// Whether to print one JSON line for each measurement instead of a table.
    pub(crate) json: bool,
    /// Whether to only name the rows.
    pub(crate) list: bool,
    row_named: bool,
}

impl Args {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// An unknown flag, a flag without its value, an unknown workload or an unknown row.
    pub(crate) fn parse(mut args: Parser) -> Result<Self, String> {
        let (mut only, mut row, mut json, mut list) = (None, None, false, false);
        let mut read = || -> Result<(), lexopt::Error> {
            while let Some(arg) = args.next()? {
                match arg {
                    Long("only") => only = Some(args.value()?.string()?),
                    Long("row") => row = Some(args.value()?.string()?),
                    Long("json") => json = true,
                    Long("list") => list = true,
                    other => return Err(other.unexpected()),
                }
            }
            Ok(())
        };
        read().map_err(|error| error.to_string())?;
        let mut rows = match only {
            Some(names) => named(&names)?,
            None => workloads::all(),
        };
        let row_named = row.is_some();
        if let Some(param) = row {
            rows.retain(|row| row.param == param);
            if rows.is_empty() {
                return Err(format!("no workload of this call has a row '{param}'"));
            }
        }
        Ok(Self { rows, json, list, row_named })
    }

    /// Returns true if the call names one row, which is then measured in this process.
    pub(crate) fn is_single_row(&self) -> bool {
        self.row_named && self.rows.len() == 1
    }
}

fn named(names: &str) -> Result<Vec<Row>, String> {
    let mut rows = workloads::all();
    let names: Vec<&str> = names.split(',').map(str::trim).collect();
    if let Some(unknown) = names.iter().find(|name| !rows.iter().any(|row| row.workload == **name)) {
        let mut known: Vec<&str> = rows.iter().map(|row| row.workload).collect();
        known.dedup();
        return Err(format!("unknown workload '{unknown}': there are {}", known.join(", ")));
    }
    rows.retain(|row| names.contains(&row.workload));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(args: &str) -> Result<Vec<String>, String> {
        let args = Args::parse(Parser::from_args(args.split_whitespace()))?;
        Ok(args.rows.iter().map(|row| format!("{} {}", row.workload, row.param)).collect())
    }

    #[test]
    fn only_and_row_select() {
        assert_eq!(rows("--only W3 --json").unwrap(), ["W3 rounds=50", "W3 rounds=500"]);
        assert_eq!(rows("--only W3,W1 --row N=10").unwrap(), ["W1 N=10"]);
        assert!(rows("").unwrap().len() > 10);
    }

    #[test]
    fn unknown_arguments_are_refused() {
        for args in ["--only W99", "--only", "--only W1,", "--fast", "W1", "--only W1 --row K=10"] {
            assert!(rows(args).is_err(), "{args}");
        }
    }
}
