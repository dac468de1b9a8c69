//! Makes names of tools and arguments that models accept.

use std::collections::{HashMap, HashSet};

use pleach_core::RESERVED_FUNCTIONS;

/// google-adk's limit for the name of a tool, without a prefix.
const LONGEST_TOOL: usize = 60;
/// The length of the longest name that every provider accepts. OpenAI limits the names of tools; Anthropic limits the
/// names of arguments.
const LONGEST: usize = 64;

/// Makes names that are unique among the tools or arguments.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    /// The next number for each name, so that many operations with the same name need not try all numbers again.
    next: HashMap<String, usize>,
}

impl Names {
    /// Returns an empty set of tool names. The names of the runtime's own functions are taken already.
    pub(crate) fn of_tools() -> Self {
        Self { taken: RESERVED_FUNCTIONS.into_iter().map(str::to_owned).collect(), next: HashMap::new() }
    }

    /// Returns the name of a tool, made from the operation's id or, without one, from its path and method. A name that
    /// is taken gets a number.
    pub(crate) fn tool(&mut self, prefix: Option<&str>, id: Option<&str>, path: &str, method: &str) -> String {
        let prefix = prefix.map(|prefix| format!("{prefix}_")).unwrap_or_default();
        let name = id.map(snake_case).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| snake_case(&format!("{path}_{}", method.to_ascii_lowercase())));
        let name =
            if prefix.is_empty() && name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name };
        let longest = LONGEST_TOOL.min(LONGEST - prefix.len());
        self.free(&prefix, &name, longest, |number| number + 2)
    }

    /// Returns the name of an argument: 1 to 64 letters, digits, `_`, `.` and `-`. A name that is taken gets a number,
    /// as in google-adk.
    pub(crate) fn argument(&mut self, original: &str, fallback: &str, keeps_case: bool) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let name = if keeps_case {
            original.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
        } else {
            snake_case(original)
        };
        let name = if name.is_empty() { fallback.to_owned() } else { name };
        self.free("", &name, LONGEST, |number| number)
    }

    fn free(&mut self, prefix: &str, name: &str, longest: usize, number: impl Fn(usize) -> usize) -> String {
        let plain = format!("{prefix}{}", cut(name, longest));
        if self.taken.insert(plain.clone()) {
            return plain;
        }
        let next = self.next.entry(plain).or_default();
        loop {
            let suffix = format!("_{}", number(*next));
            *next += 1;
            let numbered = format!("{prefix}{}{suffix}", cut(name, longest - suffix.len()));
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

/// Returns the fault of a prefix, if it has one.
pub(crate) fn fault_of_prefix(prefix: &str) -> Option<&'static str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if prefix.is_empty() {
        return Some("is empty: leave it out");
    }
    if prefix.len() > LONGEST / 2 {
        return Some("is longer than 32 characters");
    }
    if !prefix.chars().all(is_plain) || !prefix.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Some("may contain only letters, digits, `_` and `-`, and must begin with a letter or `_`");
    }
    None
}

/// Returns a text in snake case, with only the letters `a` to `z`, digits and `_`. ADK: `_to_snake_case`
pub(crate) fn snake_case(text: &str) -> String {
    let letters: Vec<char> = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let mut snake = String::with_capacity(letters.len() + 8);
    for (place, &letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| letters[before]);
        let begins_word = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                let ends_acronym = letters.get(place + 1).is_some_and(char::is_ascii_lowercase);
                before.is_ascii_lowercase() || before.is_ascii_digit() || (before.is_ascii_uppercase() && ends_acronym)
            });
        if (begins_word || letter == '_') && !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        if letter != '_' {
            snake.push(letter.to_ascii_lowercase());
        }
    }
    snake.truncate(snake.trim_end_matches('_').len());
    snake
}

/// Returns the beginning of an ASCII text.
fn cut(name: &str, longest: usize) -> &str {
    &name[..name.len().min(longest)]
}

#[cfg(test)]
mod tests {
    use super::*;

    // Recorded from google-adk 2.13.0.
    #[test]
    fn snake_case_is_that_of_the_reference() {
        for (text, expected) in [
            ("camelCase", "camel_case"),
            ("UpperCamelCase", "upper_camel_case"),
            ("space separated", "space_separated"),
            ("REST API", "rest_api"),
            ("listHTTPServers2Go", "list_http_servers2_go"),
            ("/pets/{petId}_get", "pets_pet_id_get"),
            ("__x--Y__", "x_y"),
            ("größe", "gr_e"),
            ("日本", ""),
            ("ABc", "a_bc"),
            ("A1B", "a1_b"),
        ] {
            assert_eq!(snake_case(text), expected, "{text}");
        }
    }

    #[test]
    fn names_of_tools_are_unique_and_short() {
        let mut names = Names::of_tools();
        let long = "a".repeat(70);
        for (prefix, id, expected) in [
            (None, Some("listPets"), "list_pets".to_owned()),
            (None, Some("list_pets"), "list_pets_2".to_owned()),
            (None, Some("ListPets"), "list_pets_3".to_owned()),
            (Some("p"), Some("listPets"), "p_list_pets".to_owned()),
            (None, None, "v1_pets_id_get".to_owned()),
            (None, Some("日本"), "v1_pets_id_get_2".to_owned()),
            (None, Some("transferToAgent"), "transfer_to_agent_2".to_owned()),
            (None, Some("2fa"), "_2fa".to_owned()),
            (None, Some(long.as_str()), "a".repeat(60)),
            (None, Some(long.as_str()), format!("{}_2", "a".repeat(58))),
            (Some("twelve_chars"), Some(long.as_str()), format!("twelve_chars_{}", "a".repeat(51))),
        ] {
            assert_eq!(names.tool(prefix, id, "/v1/pets/{id}", "GET"), expected);
        }
    }

    #[test]
    fn names_of_arguments_are_unique() {
        let mut names = Names::default();
        for (original, keeps_case, expected) in [
            ("petId", false, "pet_id"),
            ("pet-id", false, "pet_id_0"),
            ("pet_id_0", false, "pet_id_0_0"),
            ("PetId", false, "pet_id_1"),
            ("petId", true, "petId"),
            ("filter[name]", true, "filter_name_"),
            ("語", false, "value"),
        ] {
            assert_eq!(names.argument(original, "value", keeps_case), expected);
        }
    }
}
