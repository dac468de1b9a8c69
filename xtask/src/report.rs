//! The results of steps, and the closing table and line of `test-all`.

use std::fmt::Write as _;
use std::time::Duration;

/// The numbers of tests that passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Counts {
    /// Reads a summary line: libtest's `test result: …` or the
    /// `N passed, M failed, K skipped` of pleach's own programs. `None` for any other line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        match line.strip_prefix("test result: ") {
            Some(rest) => Self::from_words(rest.split_once(". ")?.1, ';', "ignored"),
            None => Self::from_words(line, ',', "skipped"),
        }
    }

    fn from_words(text: &str, separator: char, skipped_word: &str) -> Option<Self> {
        let mut fields = text.split(separator).map(str::trim);
        let mut field = |word: &str| -> Option<usize> {
            let (number, rest) = fields.next()?.split_once(' ')?;
            (rest == word).then(|| number.parse().ok())?
        };
        Some(Self { passed: field("passed")?, failed: field("failed")?, skipped: field(skipped_word)? })
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The step passed, with the counts of its tests. They are zero for a step without tests.
    Passed(Counts),
    Failed(Counts),
    Skipped(String),
}

/// One row of the closing table.
#[derive(Debug)]
pub(crate) struct StepReport {
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) time: Duration,
}

impl StepReport {
    /// Returns the step's counts for the closing line. A step without tests counts as one test. A failure without a
    /// failed test, such as code that does not compile, counts as one failed test.
    fn counts(&self) -> Counts {
        match &self.outcome {
            Outcome::Passed(counts) if counts.is_empty() => Counts { passed: 1, ..Counts::default() },
            Outcome::Passed(counts) => *counts,
            Outcome::Failed(counts) => Counts { failed: counts.failed.max(1), ..*counts },
            Outcome::Skipped(_) => Counts { skipped: 1, ..Counts::default() },
        }
    }
}

/// Returns the sum of the counts of all steps.
pub(crate) fn total(steps: &[StepReport]) -> Counts {
    let mut sum = Counts::default();
    for step in steps {
        sum.add(step.counts());
    }
    sum
}

/// Returns the closing table, with the columns step, result, time and counts.
pub(crate) fn table(steps: &[StepReport]) -> String {
    let mut out = format!("{:<14} {:<8} {:>8}  {}\n", "step", "result", "time", "tests");
    for step in steps {
        let (result, detail) = match &step.outcome {
            Outcome::Passed(counts) => ("ok", detail(*counts)),
            Outcome::Failed(counts) => ("FAILED", detail(*counts)),
            Outcome::Skipped(reason) => ("SKIPPED", reason.clone()),
        };
        let line = format!("{:<14} {:<8} {:>7.1}s  {detail}", step.name, result, step.time.as_secs_f64());
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

fn detail(counts: Counts) -> String {
    if counts.is_empty() { String::new() } else { counts.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(usize, usize, usize)>) {
        let expected = expected.map(|(passed, failed, skipped)| Counts { passed, failed, skipped });
        assert_eq!(Counts::parse(line), expected, "{line}");
    }

    #[test]
    fn summary_lines_are_read_and_other_lines_are_not() {
        check(
            "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 1 filtered out; finished in 0.02s",
            Some((12, 0, 3)),
        );
        check("test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out", Some((1, 2, 0)));
        check("200 passed, 0 failed, 2 skipped", Some((200, 0, 2)));
        check("test foo ... ok", None);
        check("12 passed", None);
        check("", None);
    }

    #[test]
    fn a_failure_without_a_failed_test_counts_as_one() {
        let step = |outcome| StepReport { name: "x", outcome, time: Duration::ZERO };
        let steps = [
            step(Outcome::Failed(Counts::default())),
            step(Outcome::Passed(Counts::default())),
            step(Outcome::Skipped("no server".into())),
            step(Outcome::Passed(Counts { passed: 5, failed: 0, skipped: 1 })),
        ];
        assert_eq!(total(&steps), Counts { passed: 6, failed: 1, skipped: 2 });
        assert!(table(&steps).contains("no server"));
    }
}
