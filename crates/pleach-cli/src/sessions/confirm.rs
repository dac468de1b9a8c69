//! Asks the person at the terminal for confirmation.

use std::io::{IsTerminal as _, Write as _};

/// Asks a question, and returns true if the answer is yes. Without a terminal, the answer is no.
pub(super) fn confirms(question: &str) -> std::io::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut terminal = std::io::stderr();
    write!(terminal, "{question} [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
