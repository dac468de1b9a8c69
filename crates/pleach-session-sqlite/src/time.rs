//! Formats of time columns: seconds as REAL, and the text of the v1 layout.
// S61, S66.4

use chrono::{DateTime, NaiveDate};
use pleach_core::{micros, seconds};

const MICROS: i64 = 1_000_000;
/// The first and the last microsecond of the text form, for the years 1 to 9999.
const RANGE: (i64, i64) = (-62_135_596_800_000_000, 253_402_300_799_999_999);

/// Returns the microsecond by which times are compared, rounded like SQLite's `round`.
pub(crate) fn instant(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

/// Reads `YYYY-MM-DD[ T]hh:mm:ss[.f…][Z|±hh:mm]` or a number written as text. Returns seconds since the epoch.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>()
        && number.is_finite()
    {
        return Some(number);
    }
    parse_date_time(text.as_bytes()).map(seconds)
}

/// Formats seconds since the epoch for the v1 layout: in UTC, always with six digits, so that times compare as texts.
pub(crate) fn to_text(time: f64) -> String {
    let time = DateTime::from_timestamp_micros(micros(time).clamp(RANGE.0, RANGE.1)).unwrap_or_default();
    time.format("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

fn parse_date_time(text: &[u8]) -> Option<i64> {
    let separators = [(4, b"-"), (7, b"-"), (13, b":"), (16, b":")];
    if separators.iter().any(|&(at, mark)| text.get(at) != mark.first())
        || !matches!(text.get(10), Some(b' ' | b'T' | b't'))
    {
        return None;
    }
    let number = |range| digits(text, range).and_then(|number| u32::try_from(number).ok());
    let date = NaiveDate::from_ymd_opt(number(0..4)?.cast_signed(), number(5..7)?, number(8..10)?)?;
    let local = date.and_hms_opt(number(11..13)?, number(14..16)?, number(17..19)?)?.and_utc();
    let (fraction, rest) = fraction(&text[19..])?;
    Some((local.timestamp() - offset(rest)?) * MICROS + fraction)
}

fn digits(text: &[u8], range: std::ops::Range<usize>) -> Option<i64> {
    text.get(range)?
        .iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

/// Reads the fraction in microseconds and returns it with the rest of the text. Further digits are dropped.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let Some(text) = text.strip_prefix(b".") else {
        return Some((0, text));
    };
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let used = length.min(6);
    let scale = 10_i64.pow(u32::try_from(6 - used).ok()?);
    (length > 0).then_some(())?;
    Some((digits(text, 0..used)? * scale, &text[length..]))
}

/// Returns how many seconds a time zone is ahead of UTC. No zone means UTC.
fn offset(zone: &[u8]) -> Option<i64> {
    let sign = match zone.first() {
        None => return Some(0),
        Some(b'Z' | b'z') => return (zone.len() == 1).then_some(0),
        Some(b'+') => 1,
        Some(b'-') => -1,
        Some(_) => return None,
    };
    let minutes = match zone.len() {
        3 => 0,
        5 => digits(zone, 3..5)?,
        6 if zone[3] == b':' => digits(zone, 4..6)?,
        _ => return None,
    };
    Some(sign * (digits(zone, 1..3)? * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s66_4_every_written_form_reads_as_the_same_time() {
        for text in [
            "2025-10-09 08:53:21.654321",
            "2025-10-09T08:53:21.654321",
            "2025-10-09T08:53:21.654321Z",
            "2025-10-09 10:53:21.654321+02:00",
            "2025-10-09 04:23:21.654321-0430",
            "1760000001.654321",
        ] {
            assert_eq!(parse(text), Some(1_760_000_001.654_321), "{text}");
        }
        assert_eq!(parse("2025-10-09 08:53:21.5"), Some(1_760_000_001.5));
        assert_eq!(parse("2025-10-09 08:53:21"), Some(1_760_000_001.0));
    }

    #[test]
    fn case_90_junk_is_not_a_time() {
        for text in [
            "junk",
            "",
            "2025-13-01 00:00:00",
            "2025-02-30 00:00:00",
            "2025-10-09",
            "2025-10-09 08:53:21.",
            "2025-10-09 08:53:21x",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_written_as_the_other_layout_writes_them() {
        assert_eq!(to_text(1_760_000_001.654_321), "2025-10-09 08:53:21.654321");
        assert_eq!(to_text(-1.5), "1969-12-31 23:59:58.500000");
        assert_eq!(to_text(951_782_400.0), "2000-02-29 00:00:00.000000");
        assert_eq!(to_text(1e12), "9999-12-31 23:59:59.999999");
        for time in [0.0, -62_135_596_800.0, 4_107_542_399.0, 1_709_164_800.25] {
            assert_eq!(parse(&to_text(time)), Some(time));
        }
    }
}
