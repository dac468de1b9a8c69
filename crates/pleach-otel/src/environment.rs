//! The standard variables `OTEL_…` that are read here. The SDK and the OTLP exporter read the others themselves.

use crate::{OtelError, Signal};

/// Reads a variable. As in the specification, an empty variable is treated as unset.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns true if a signal is exported according to the variables. By default, it is exported.
///
/// # Errors
/// [`OtelError::Environment`] for an exporter or a protocol that this build does not have.
pub(crate) fn is_exported(signal: Signal, variable: impl Fn(&str) -> Option<String>) -> Result<bool, OtelError> {
    if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(false);
    }
    let name = match signal {
        Signal::Traces => "TRACES",
        Signal::Metrics => "METRICS",
    };
    let exporter = format!("OTEL_{name}_EXPORTER");
    match variable(&exporter).as_deref() {
        Some("none") => return Ok(false),
        None | Some("otlp") => {}
        Some(other) => return Err(unknown(exporter, other, "`otlp` and `none`")),
    }
    let protocols = [format!("OTEL_EXPORTER_OTLP_{name}_PROTOCOL"), "OTEL_EXPORTER_OTLP_PROTOCOL".to_owned()];
    // The first variable that is set wins.
    for protocol in protocols {
        match variable(&protocol).as_deref() {
            None => continue,
            Some("http/protobuf") => break,
            Some(other) => return Err(unknown(protocol, other, "`http/protobuf`")),
        }
    }
    Ok(true)
}

fn unknown(variable: String, value: &str, known: &'static str) -> OtelError {
    OtelError::Environment { variable, value: value.to_owned(), known }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(signal: Signal, set: &[(&str, &str)], expected: Result<bool, &str>) {
        let find = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let found = is_exported(signal, find);
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(*found, expected, "{set:?}"),
            (Err(OtelError::Environment { variable, .. }), Err(expected)) => assert_eq!(variable, expected, "{set:?}"),
            _ => panic!("{set:?}: {found:?}"),
        }
    }

    #[test]
    fn signals_are_exported_unless_the_variables_say_otherwise() {
        use Signal::{Metrics, Traces};
        check(Traces, &[], Ok(true));
        check(Traces, &[("OTEL_TRACES_EXPORTER", "none")], Ok(false));
        check(Metrics, &[("OTEL_TRACES_EXPORTER", "none")], Ok(true));
        check(Metrics, &[("OTEL_METRICS_EXPORTER", "otlp"), ("OTEL_SDK_DISABLED", "True")], Ok(false));
        check(Metrics, &[("OTEL_SDK_DISABLED", "false")], Ok(true));
        check(Metrics, &[("OTEL_METRICS_EXPORTER", "prometheus")], Err("OTEL_METRICS_EXPORTER"));
        check(Traces, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], Err("OTEL_EXPORTER_OTLP_PROTOCOL"));
        let both = [("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf")];
        check(Traces, &both, Ok(true));
        check(Metrics, &both, Err("OTEL_EXPORTER_OTLP_PROTOCOL"));
        // A signal that is not exported needs no protocol.
        check(Traces, &[("OTEL_TRACES_EXPORTER", "none"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], Ok(false));
    }
}
