//! The report of a run: failures with their differences, a table by feature, and a summary line.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::{Case, Verdict};

/// The numbers of cases that passed, failed and are known to fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of cases with equal traces.
    pub passed: usize,
    /// The number of cases with different traces, listed cases that pass, and faults of the list.
    pub failed: usize,
    /// The number of known failures.
    pub skipped: usize,
}

impl Summary {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) | Verdict::Unlisted(_) => self.failed += 1,
            Verdict::Known(_) => self.skipped += 1,
        }
    }
}

/// Writes the report. `faults` are the faults of the list of known failures.
///
/// # Errors
/// The output cannot be written.
pub fn write_report(out: &mut impl Write, results: &[(Case<'_>, Verdict)], faults: &[String]) -> io::Result<Summary> {
    let mut total = Summary::default();
    let mut features: BTreeMap<&str, Summary> = BTreeMap::new();
    for fault in faults {
        total.failed += 1;
        writeln!(out, "FAIL expected_failures.txt, {fault}")?;
    }
    for (case, verdict) in results {
        total.add(verdict);
        for feature in &case.scenario.features {
            features.entry(feature).or_default().add(verdict);
        }
        write_verdict(out, case, verdict)?;
    }
    let width = features.keys().map(|f| f.len()).max().unwrap_or(0).max(7);
    writeln!(out, "{:<width$} {:>7} {:>7} {:>7}", "feature", "passed", "failed", "skipped")?;
    for (feature, sum) in features {
        writeln!(out, "{feature:<width$} {:>7} {:>7} {:>7}", sum.passed, sum.failed, sum.skipped)?;
    }
    writeln!(out, "{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped)?;
    Ok(total)
}

fn write_verdict(out: &mut impl Write, case: &Case<'_>, verdict: &Verdict) -> io::Result<()> {
    match verdict {
        Verdict::Passed => Ok(()),
        Verdict::Known(reason) => writeln!(out, "known {case}: {reason}"),
        Verdict::Unlisted(reason) => {
            writeln!(out, "FAIL {case}: it passes; take it off expected_failures.txt ({reason})")
        }
        Verdict::Failed(found) => {
            writeln!(out, "FAIL {case}")?;
            for difference in found {
                writeln!(out, "  at {}", difference.path)?;
                writeln!(out, "    golden: {}", difference.golden)?;
                writeln!(out, "    actual: {}", difference.actual)?;
            }
            Ok(())
        }
    }
}
