//! The size of the crates that every other one depends on.
//!
//! A new idea gets a module or a crate above them first. Raise a limit with a reason; lower it when code has left.

use std::path::Path;

use super::finding::Finding;
use crate::files::Sources;
use crate::files::{code_lines, is_unit_tests};

/// How many lines of source a crate may have, without tests and lines of comments: documentation may grow.
///
/// Steps, keys, work on the pool and time are methods of `Context`, beside the calls that they refuse: pleach-context, 9,000 to
/// 9,700. So are selects and waits for signals, which the history reads: 10,100. Rewinds to before a run are read there, too, and the
/// state of a run is made field by field where it is kept: 10,150. Questions have deadlines: pleach-core, 5,200 to 5,300; events
/// are equal whether or not they ever had a rare field: 5,310. Contexts know the retry policies above them: pleach-context, 10,300; a run
/// keeps what few runs need behind boxes: 10,340. Kinds of questions know whether people answer them: pleach-core, 5,340;
/// what has no deadline is not read for it, and a message is bounded before it has an event: 5,380. JSON of other programs is repaired in
/// one place, and U+0000 in every field of an event: 5,790. State is bounded when it is set, and repaired where tools set it:
/// pleach-context, 10,420. Which keys are reserved is decided in one place, 5,960, which state, events and metadata ask; steps ask
/// whether their run has its session: pleach-context, 10,700. What a node reads its input as, how a confirmation is asked for, and the
/// session of a run as services take it: 10,950. For which graph node an agent answers, and how many runs of a name there are: 11,000. The state of an event
/// is divided before the append in one place, beside the place that takes it over: 11,050.
const LIMITS: &[(&str, usize)] = &[("crates/pleach-core", 5_980), ("crates/pleach-context", 11_050)];

pub(super) fn check(sources: &Sources) -> Vec<Finding> {
    let over = LIMITS.iter().filter_map(|(folder, limit)| {
        let lines = lines(sources, &Path::new(folder).join("src"));
        let message = format!(
            "{lines} lines of source, at most {limit}: put what is new into a crate above, or move something out"
        );
        (lines > *limit).then(|| Finding { file: folder.into(), line: 1, message })
    });
    over.collect()
}

fn lines(sources: &Sources, src: &Path) -> usize {
    let own = sources.files.iter().filter(|(file, _)| {
        file.starts_with(src) && !is_unit_tests(file) && file.extension().is_some_and(|extension| extension == "rs")
    });
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    own.map(|(_, text)| text.lines().take(code_lines(text)).filter(is_code).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_without_tests_comments_and_other_files() {
        let file = |path: &str, text: &str| (path.into(), text.to_owned());
        let sources = Sources {
            files: vec![
                file("crates/a/src/lib.rs", "//! A.\na\n    // why\nb\n#[cfg(test)]\nmod tests {\n}\n"),
                file("crates/a/src/x/tests.rs", "c\n"),
                file("crates/a/src/x.sql", "d\n"),
                file("crates/ab/src/lib.rs", "e\n"),
            ],
        };
        assert_eq!(lines(&sources, Path::new("crates/a/src")), 2);
    }
}
