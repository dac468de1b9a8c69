//! Logs the standard error of a child.

use std::sync::Arc;

use pleach_http::Secrets;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// The target of the log events.
const TARGET: &str = "pleach_mcp::stderr";

/// The maximum number of bytes of a line that are logged.
const LONGEST_LINE: usize = 4096;

/// Logs each line until the child closes the pipe.
pub(super) async fn log(server: Arc<str>, secrets: Arc<Secrets>, stderr: impl AsyncRead + Unpin) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        let available = match reader.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(available) => available,
        };
        let end = available.iter().position(|byte| *byte == b'\n');
        let piece = &available[..end.unwrap_or(available.len())];
        line.extend_from_slice(&piece[..piece.len().min((LONGEST_LINE + 1).saturating_sub(line.len()))]);
        let count = end.map_or(available.len(), |end| end + 1);
        reader.consume(count);
        if end.is_some() {
            write(&server, &secrets, &line);
            line.clear();
        }
    }
    write(&server, &secrets, &line);
}

fn write(server: &str, secrets: &Secrets, line: &[u8]) {
    let shown = &line[..line.len().min(LONGEST_LINE)];
    let more = if line.len() > LONGEST_LINE { "…" } else { "" };
    let text = String::from_utf8_lossy(shown);
    let text = text.trim_end();
    if !text.is_empty() {
        let line = format!("{}{more}", secrets.hide(text));
        tracing::info!(target: TARGET, server, line, "the MCP server says");
    }
}
