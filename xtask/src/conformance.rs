//! placeholder
pub(crate) fn run(_a: &[String]) -> anyhow::Result<bool> {
    Ok(true)
}
