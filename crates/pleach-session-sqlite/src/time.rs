//! Times in columns: seconds as REAL, and the text of the v1 layout.
// S61, S66.4

use pleach_core::{micros, seconds};

const DAY: i64 = 86_400;
const MICROS: i64 = 1_000_000;
/// The first and the last second the text form can say: years 1 to 9999.
const RANGE: (i64, i64) = (-62_135_596_800, 253_402_300_799);

/// The microsecond a time is told apart by, rounded as SQLite's `round` does it.
pub(crate) fn instant(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

/// Reads `YYYY-MM-DD[ T]hh:mm:ss[.f…][Z|±hh:mm]` or a number as text, in seconds since the epoch.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>()
        && number.is_finite()
    {
        return Some(number);
    }
    parse_date_time(text.as_bytes()).map(seconds)
}

/// Writes seconds since the epoch as the v1 layout has them: UTC, always six digits, so that they compare as text.
pub(crate) fn to_text(time: f64) -> String {
    let time = micros(time).clamp(RANGE.0 * MICROS, RANGE.1 * MICROS + MICROS - 1);
    let (whole, fraction) = (time.div_euclid(MICROS), time.rem_euclid(MICROS));
    let (days, second) = (whole.div_euclid(DAY), whole.rem_euclid(DAY));
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:06}")
}

fn parse_date_time(text: &[u8]) -> Option<i64> {
    let separators = [(4, b"-"), (7, b"-"), (13, b":"), (16, b":")];
    if separators.iter().any(|&(at, mark)| text.get(at) != mark.first())
        || !matches!(text.get(10), Some(b' ' | b'T' | b't'))
    {
        return None;
    }
    let days = days_of(digits(text, 0..4)?, digits(text, 5..7)?, digits(text, 8..10)?)?;
    let (hour, minute, second) = (digits(text, 11..13)?, digits(text, 14..16)?, digits(text, 17..19)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (fraction, rest) = fraction(&text[19..])?;
    let utc = days * DAY + hour * 3600 + minute * 60 + second - offset(rest)?;
    Some(utc * MICROS + fraction)
}

fn digits(text: &[u8], range: std::ops::Range<usize>) -> Option<i64> {
    text.get(range)?
        .iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

/// The microseconds behind the point, and what follows them; further digits are dropped.
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

/// The seconds a zone is ahead of UTC; no zone means UTC.
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

/// Days since 1970-01-01 of a date, by counting years from March so that the leap day comes last.
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// The reverse of [`days_of`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
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
    fn case_90_junk_is_no_time() {
        for text in ["junk", "", "2025-13-01 00:00:00", "2025-10-09", "2025-10-09 08:53:21.", "2025-10-09 08:53:21x"] {
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
