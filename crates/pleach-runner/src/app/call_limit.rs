//! The default limit of model calls, for runs whose config sets none.
// L160

use pleach_context::RunConfig;

/// The environment variable that sets the limit. Its value is a number; zero and negative numbers mean no limit.
const VARIABLE: &str = "ADK_MAX_LLM_CALLS";

/// Returns the limit that the environment sets, or the default of [`RunConfig`].
pub(crate) fn from_environment() -> u32 {
    parse(std::env::var(VARIABLE).unwrap_or_default().trim())
}

fn parse(text: &str) -> u32 {
    if text.is_empty() {
        return RunConfig::MAX_LLM_CALLS;
    }
    match text.parse::<i64>() {
        Ok(limit) => u32::try_from(limit.max(0)).unwrap_or(0),
        Err(_) => {
            tracing::warn!(
                variable = VARIABLE,
                default = RunConfig::MAX_LLM_CALLS,
                "`ADK_MAX_LLM_CALLS` is not a number; using the default"
            );
            RunConfig::MAX_LLM_CALLS
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l160_the_environment_sets_the_limit_of_calls() {
        for (text, limit) in [("", 500), ("7", 7), ("0", 0), ("-3", 0), ("99999999999", 0), ("many", 500), ("1.5", 500)]
        {
            assert_eq!(parse(text), limit, "{text}");
        }
    }
}
