//! The time format of memory entries.

use chrono::{DateTime, TimeZone};
use pleach_core::micros;

/// Formats a time (seconds since the epoch) for entries: ISO 8601 without zone, in the machine's local time.
///
/// `None` outside of the calendar's range. ADK: `format_timestamp`
pub fn local_time(seconds: f64) -> Option<String> {
    iso(seconds, &chrono::Local)
}

/// Formats a time like Python's `isoformat`, without zone: `2025-10-09T08:53:20`, with six decimals when there are
/// microseconds. `None` outside of the calendar's range.
fn iso(seconds: f64, zone: &impl TimeZone) -> Option<String> {
    let micros = micros(seconds);
    let time = DateTime::from_timestamp_micros(micros)?.with_timezone(zone).naive_local();
    let format = match micros.rem_euclid(1_000_000) {
        0 => "%Y-%m-%dT%H:%M:%S",
        _ => "%Y-%m-%dT%H:%M:%S%.6f",
    };
    Some(time.format(format).to_string())
}

#[cfg(test)]
mod tests {
    use chrono::{FixedOffset, Utc};

    use super::*;

    #[test]
    fn s80_times_are_iso_without_zone() {
        let east = FixedOffset::east_opt(2 * 3600).expect("an offset");
        assert_eq!(iso(1_760_000_000.0, &Utc).as_deref(), Some("2025-10-09T08:53:20"));
        assert_eq!(iso(1_760_000_000.0, &east).as_deref(), Some("2025-10-09T10:53:20"));
        assert_eq!(iso(1_760_000_000.25, &Utc).as_deref(), Some("2025-10-09T08:53:20.250000"));
        assert_eq!(iso(1e30, &Utc), None);
    }
}
