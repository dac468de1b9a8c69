//! placeholder
pub(crate) fn run(_a: &[String]) -> anyhow::Result<bool> {
    Ok(true)
}
pub(crate) fn step_names() -> Vec<&'static str> {
    vec![]
}
