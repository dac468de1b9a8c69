//! Code in contents: finds the code of a response, and shows code and results to the model as text.
// L71

use pleach_core::{Content, ExecutableCode, Part};

use super::CodeExecutor;

/// Finds the first code of a response and drops the parts after it. Thoughts are moved to the front.
///
/// Returns the code, or `None` if there is none. The content is then unchanged.
pub(crate) fn split_at_code(content: &mut Content, executor: &dyn CodeExecutor) -> Option<String> {
    let (thoughts, rest): (Vec<&Part>, Vec<&Part>) = content.parts().iter().partition(|part| part.is_thought());
    let (shown, code) = at_native_code(&rest).or_else(|| at_block(&rest, executor.code_block_delimiters()))?;
    content.parts = Some(thoughts.into_iter().cloned().chain(shown).collect());
    Some(code)
}

/// Returns the first code that no result follows, and the parts up to this code.
fn at_native_code(parts: &[&Part]) -> Option<(Vec<Part>, String)> {
    let place = parts.iter().enumerate().position(|(place, part)| {
        part.executable_code.is_some() && parts.get(place + 1).is_none_or(|next| next.code_execution_result.is_none())
    })?;
    let code = parts[place].executable_code.as_ref()?.code.clone()?;
    Some((parts[..=place].iter().copied().cloned().collect(), code))
}

/// Returns the text before the first fenced block, the block as a part, and its code.
fn at_block(parts: &[&Part], delimiters: &[(&str, &str)]) -> Option<(Vec<Part>, String)> {
    let texts = || parts.iter().filter(|part| part.text.as_ref().is_some_and(|text| !text.is_empty()));
    let text = texts().filter_map(|part| part.text.as_deref()).collect::<Vec<_>>().join("\n");
    let (start, code) = delimiters
        .iter()
        .filter_map(|(begin, end)| {
            let start = text.find(begin)?;
            let code = &text[start + begin.len()..];
            Some((start, &code[..code.find(end)?]))
        })
        .min_by_key(|(start, _)| *start)
        .filter(|(_, code)| !code.is_empty())?;
    let before = (start > 0).then(|| Part {
        text: Some(text[..start].to_owned()),
        ..texts().next().map(|part| Part::clone(part)).unwrap_or_default()
    });
    let shown = before.into_iter().chain([executable(code)]).collect();
    Some((shown, code.to_owned()))
}

fn executable(code: &str) -> Part {
    let code = ExecutableCode {
        code: Some(code.to_owned()),
        language: Some("PYTHON".to_owned()),
        ..ExecutableCode::default()
    };
    Part { executable_code: Some(Box::new(code)), ..Part::default() }
}

/// Returns the content with its last part shown as text, if that part is code, or if it is a result and the only
/// part. Otherwise returns `None`.
pub(crate) fn show_as_text(content: &Content, executor: &dyn CodeExecutor) -> Option<Content> {
    let (last, before) = content.parts().split_last()?;
    let fenced = |(begin, end): (&str, &str), text: Option<&str>| format!("{begin}{}{end}", text.unwrap_or_default());
    if let Some(code) = &last.executable_code {
        let delimiters = executor.code_block_delimiters().first().copied().unwrap_or_default();
        let parts = before.iter().cloned().chain([Part::text(fenced(delimiters, code.code.as_deref()))]);
        return Some(Content { parts: Some(parts.collect()), ..content.clone() });
    }
    let result = last.code_execution_result.as_ref().filter(|_| before.is_empty())?;
    let text = result.output.as_deref().map(|output| fenced(executor.execution_result_delimiters(), Some(output)));
    Some(Content::new("user", [Part::text(text.unwrap_or_default())]))
}
