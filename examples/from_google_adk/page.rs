//! Reads the code blocks below the headings of the page.

/// A section of the page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    /// The heading as an identifier, without its number.
    pub(crate) name: String,
    pub(crate) python: Option<String>,
    pub(crate) rust: Option<String>,
    /// The text that both programs print.
    pub(crate) text: Option<String>,
}

/// Returns the sections in order. The first section is the text before the first heading.
pub(crate) fn sections(page: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut block: Option<(&str, String)> = None;
    for line in page.lines() {
        let section = sections.last_mut().expect("the first one is there from the start");
        block = match (block.take(), line.strip_prefix("```")) {
            (None, Some(language)) => Some((language, String::new())),
            (Some((language, code)), Some(_)) => {
                section.add(language, code);
                None
            }
            (Some((language, code)), None) => Some((language, code + line + "\n")),
            (None, None) => None,
        };
        if let (None, Some(heading)) = (&block, line.strip_prefix("## ")) {
            sections.push(Section { name: identifier(heading), ..Section::default() });
        }
    }
    assert!(block.is_none(), "the last block of the page is not closed");
    sections
}

impl Section {
    fn add(&mut self, language: &str, code: String) {
        let place = match language {
            "python" => &mut self.python,
            "rust" => &mut self.rust,
            "text" => &mut self.text,
            other => panic!("section `{}` has a block of `{other}`", self.name),
        };
        assert!(place.replace(code).is_none(), "section `{}` has two blocks of {language}", self.name);
    }
}

/// Returns a heading as an identifier: "4. One agent after another" is `one_agent_after_another`.
fn identifier(heading: &str) -> String {
    let text = heading.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    text.chars().map(letter).collect()
}
