//! How much memory a test takes.

/// The highest resident memory of this process since the last reset, in bytes; 0 where the system does not show it.
///
/// For a test that is alone in its process.
#[must_use]
pub fn peak_memory(reset: bool) -> usize {
    if reset {
        // Linux alone has it; there the write starts the count again.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok());
    kilobytes.unwrap_or(0) * 1024
}
