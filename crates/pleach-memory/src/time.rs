//! The time format of memory entries.

use chrono::{DateTime, NaiveDateTime, TimeZone};
use pleach_core::micros;

/// Formats a time (seconds since the epoch) for entries: ISO 8601 without zone, in the machine's local time.
///
/// Returns `None` outside the calendar's range. ADK: `format_timestamp`
#[doc(alias = "format_timestamp")]
pub fn local_time(seconds: f64) -> Option<String> {
    iso(seconds, &chrono::Local)
}

/// Reads an entry's time in ISO 8601, as seconds since the epoch. Without a zone, it is in the machine's local time.
///
/// Returns `None` for other texts, and for local times that a clock change skipped.
pub fn parse_local_time(text: &str) -> Option<f64> {
    seconds(text, &chrono::Local)
}

fn seconds(text: &str, zone: &impl TimeZone) -> Option<f64> {
    let micros = match DateTime::parse_from_rfc3339(text) {
        Ok(time) => time.timestamp_micros(),
        Err(_) => text.parse::<NaiveDateTime>().ok()?.and_local_timezone(zone.clone()).earliest()?.timestamp_micros(),
    };
    Some(micros as f64 / 1e6)
}

/// Formats a time like Python's `isoformat`, without zone: `2025-10-09T08:53:20`, and with six decimals if there are
/// microseconds. Returns `None` outside the calendar's range.
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

    #[test]
    fn s80_times_are_read_with_and_without_zone() {
        let east = FixedOffset::east_opt(2 * 3600).expect("an offset");
        for (text, expected) in [
            ("2025-10-09T08:53:20", Some(1_759_992_800.0)),
            ("2025-10-09T08:53:20.500000", Some(1_759_992_800.5)),
            ("2025-10-09T08:53:20Z", Some(1_760_000_000.0)),
            ("2025-10-09T08:53:20+01:00", Some(1_759_996_400.0)),
            ("yesterday", None),
            ("2025-13-09T08:53:20", None),
            ("", None),
        ] {
            assert_eq!(seconds(text, &east), expected, "{text}");
        }
    }
}
