//! [`Pages`]: reads a paged list entry by entry.

use std::collections::HashSet;

use pleach_core::Map;
use serde_json::Value;

/// The maximum number of entries of a list that are read. A server with more entries is faulty.
const MOST_ENTRIES: usize = 2_000;
/// The maximum number of pages of a list that are read.
const MOST_PAGES: usize = 200;

/// The description of a list and of its entries.
pub(crate) struct Reading<T> {
    /// The name of the request, for errors.
    pub(crate) what: &'static str,
    /// The member with the entries.
    pub(crate) key: &'static str,
    /// Reads an entry, or returns why it cannot be used.
    pub(crate) entry: fn(&Map) -> Result<T, &'static str>,
}

/// The entries that have been read.
pub(super) struct Pages<'a, T> {
    server: &'a str,
    reading: &'a Reading<T>,
    entries: Vec<T>,
    /// The names of all entries, including those that are left out.
    names: HashSet<String>,
    cursors: HashSet<String>,
    pages: usize,
}

/// The step that follows a page.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// The page at this cursor.
    Page(String),
    /// The end of the list.
    End,
}

/// A page is not a list.
#[derive(Debug, PartialEq)]
pub(super) struct NoList;

impl<'a, T> Pages<'a, T> {
    pub(super) fn new(server: &'a str, reading: &'a Reading<T>) -> Self {
        Self { server, reading, entries: Vec::new(), names: HashSet::new(), cursors: HashSet::new(), pages: 0 }
    }

    /// Returns true if no page has been read.
    pub(super) fn is_at_start(&self) -> bool {
        self.pages == 0
    }

    /// Takes a page. Entries that cannot be used are left out with a warning.
    pub(super) fn take(&mut self, page: &Value) -> Result<Next, NoList> {
        let entries = match page.get(self.reading.key) {
            Some(Value::Array(entries)) => entries.as_slice(),
            // Some languages write an empty list as null.
            Some(Value::Null) => &[],
            _ => return Err(NoList),
        };
        self.pages += 1;
        let known = self.names.len();
        self.names.extend(entries.iter().map(name));
        let has_new = self.names.len() > known;
        // A repeated page adds nothing.
        if has_new || self.pages == 1 {
            entries.iter().for_each(|entry| self.take_entry(entry));
        }
        Ok(self.next(page.get("nextCursor"), has_new))
    }

    fn take_entry(&mut self, entry: &Value) {
        let read = match entry {
            Value::Object(entry) => (self.reading.entry)(entry),
            _ => Err("it is no object"),
        };
        match read {
            Ok(entry) => self.entries.push(entry),
            Err(reason) => {
                let (server, what) = (self.server, self.reading.what);
                let place = self.entries.len();
                tracing::warn!(
                    server,
                    what,
                    entry = name(entry),
                    place,
                    reason,
                    "an entry of the MCP server's list is left out"
                );
            }
        }
    }

    fn next(&mut self, cursor: Option<&Value>, has_new: bool) -> Next {
        let cursor = match cursor {
            Some(Value::String(cursor)) if !cursor.is_empty() => cursor.clone(),
            Some(Value::Number(cursor)) => cursor.to_string(),
            _ => String::new(),
        };
        if self.entries.len() > MOST_ENTRIES || (!cursor.is_empty() && self.is_enough()) {
            self.entries.truncate(MOST_ENTRIES);
            self.warn("the MCP server's list is too long: only a part of it is used");
            return Next::End;
        }
        if cursor.is_empty() {
            return Next::End;
        }
        // A server may use one cursor for all remaining pages.
        if !self.cursors.insert(cursor.clone()) && !has_new {
            self.warn("the MCP server's list does not end: it gives a page again");
            return Next::End;
        }
        Next::Page(cursor)
    }

    fn is_enough(&self) -> bool {
        self.entries.len() >= MOST_ENTRIES || self.pages >= MOST_PAGES
    }

    pub(super) fn warn(&self, message: &'static str) {
        tracing::warn!(server = self.server, what = self.reading.what, "{message}");
    }

    pub(super) fn into_entries(self) -> Vec<T> {
        self.entries
    }
}

/// Returns the beginning of an entry's name, if it has one.
fn name(entry: &Value) -> String {
    let named = ["name", "uri", "uriTemplate"].iter().find_map(|key| entry.get(key));
    let name = named.unwrap_or(entry);
    let text = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
    text.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::members::needed_text;

    const READING: Reading<String> =
        Reading { what: "list", key: "all", entry: |entry| needed_text(entry, "name", "its name is missing") };

    #[test]
    fn an_entry_that_cannot_be_used_is_left_out_alone() {
        let mut pages = Pages::new("s", &READING);
        let page = json!({"all": [{"name": "a"}, {"name": 7}, null, "b", [], {}, {"name": "c", "x": null}]});
        assert_eq!(pages.take(&page), Ok(Next::End));
        assert_eq!(pages.into_entries(), ["a", "c"]);
    }

    #[test]
    fn a_page_without_a_list_is_none() {
        for page in [json!({}), json!([]), json!(null), json!({"all": "x"}), json!({"all": {"a": {}}})] {
            assert_eq!(Pages::new("s", &READING).take(&page), Err(NoList), "{page}");
        }
        assert_eq!(Pages::new("s", &READING).take(&json!({"all": null})), Ok(Next::End));
    }

    #[test]
    fn cursors_that_do_not_advance_end_the_list() {
        let mut pages = Pages::new("s", &READING);
        for name in ["a", "b", "c"] {
            let page = json!({"all": [{"name": name}], "nextCursor": "rest"});
            assert_eq!(pages.take(&page), Ok(Next::Page("rest".to_owned())), "{name}");
        }
        let page = json!({"all": [{"name": "c"}], "nextCursor": "rest"});
        assert_eq!(pages.take(&page), Ok(Next::End));
        assert_eq!(pages.into_entries(), ["a", "b", "c"]);
        let mut pages = Pages::new("s", &READING);
        for (cursor, next) in [
            (json!("a"), Next::Page("a".to_owned())),
            (json!(7), Next::Page("7".to_owned())),
            (json!("b"), Next::Page("b".to_owned())),
            (json!("a"), Next::End),
            (json!(""), Next::End),
            (json!({"page": 2}), Next::End),
            (json!(true), Next::End),
        ] {
            assert_eq!(pages.take(&json!({"all": [], "nextCursor": cursor})), Ok(next), "{cursor}");
        }
    }

    #[test]
    fn pages_and_entries_have_a_limit() {
        let mut pages = Pages::new("s", &READING);
        let count = (0..1_000).position(|page| {
            let page = json!({"all": [], "nextCursor": page.to_string()});
            pages.take(&page) == Ok(Next::End)
        });
        assert_eq!(count, Some(MOST_PAGES - 1));
        let mut pages = Pages::new("s", &READING);
        let page = json!({"all": vec![json!({"name": "a"}); 2_001], "nextCursor": "x"});
        assert_eq!(pages.take(&page), Ok(Next::End));
        assert_eq!(pages.into_entries().len(), MOST_ENTRIES);
    }
}
