//! [`CodeOutput`]: the output of a program.

use pleach_core::{CodeExecutionResult, Part};

/// The output of a program. ADK: `CodeExecutionResult`
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CodeOutput {
    /// The text that the program printed.
    pub stdout: String,
    /// The error text of a program that failed; empty for a program that succeeded.
    pub stderr: String,
    /// The files that the program wrote. They are saved as artifacts of the session.
    pub files: Vec<OutputFile>,
}

/// A file that a program wrote.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OutputFile {
    /// The file name of the artifact.
    pub name: String,
    /// The content of the file, for example [`Part::bytes`].
    pub content: Part,
}

impl OutputFile {
    /// Makes a file.
    pub fn new(name: impl Into<String>, content: impl Into<Part>) -> Self {
        Self { name: name.into(), content: content.into() }
    }
}

impl CodeOutput {
    /// Makes the output of a program that printed something.
    pub fn printed(stdout: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), ..Self::default() }
    }

    /// Makes the output of a program that failed.
    pub fn failed(stderr: impl Into<String>) -> Self {
        Self { stderr: stderr.into(), ..Self::default() }
    }

    /// Adds a file that the program wrote.
    #[must_use]
    pub fn with_file(mut self, file: OutputFile) -> Self {
        self.files.push(file);
        self
    }

    pub(crate) fn has_failed(&self) -> bool {
        !self.stderr.is_empty()
    }

    /// Returns the part that shows the output.
    pub(crate) fn to_part(&self) -> Part {
        let (outcome, output) = match self.has_failed() {
            true => (FAILED, self.stderr.clone()),
            false => ("OUTCOME_OK", self.text()),
        };
        let result = CodeExecutionResult {
            outcome: Some(outcome.to_owned()),
            output: Some(output),
            ..CodeExecutionResult::default()
        };
        Part { code_execution_result: Some(Box::new(result)), ..Part::default() }
    }

    fn text(&self) -> String {
        let files: Vec<String> = self.files.iter().map(|file| format!("`{}`", file.name)).collect();
        let saved = (!files.is_empty()).then(|| format!("Saved artifacts:\n{}", files.join(",")));
        let printed =
            (!self.stdout.is_empty() || saved.is_none()).then(|| format!("Code execution result:\n{}\n", self.stdout));
        [printed, saved].into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }
}

/// The value of `outcome` for a program that failed.
const FAILED: &str = "OUTCOME_FAILED";

/// Returns `true` if the executed program failed.
pub(crate) fn is_failed(result: &CodeExecutionResult) -> bool {
    result.outcome.as_deref() == Some(FAILED)
}
