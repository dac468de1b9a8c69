//! The search, a workflow that the coordinator calls as a tool.

use std::collections::BTreeMap;

use pleach::prelude::*;
use pleach::{BuildError, ParallelWorker, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::corpus::PAGES;

/// The state key of the findings, which are part of the analyst's and the writer's instructions.
pub(crate) const FINDINGS: Key<String> = Key::new("findings");

/// The number of queries that are answered at the same time.
const WORKERS: usize = 4;

/// The number of findings that are kept.
const MOST: usize = 4;

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Queries {
    /// Two to four short queries of a few words, each about another side of the question.
    queries: Vec<String>,
}

/// A page that matches a query.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Hit {
    title: String,
    text: String,
    /// The number of words of the queries that the page contains.
    score: usize,
}

/// Builds the workflow.
pub(crate) fn search() -> Result<Workflow<Queries, String>, BuildError> {
    let mut wf = Workflow::builder("search").input::<Queries>();
    // The model sees this schema. Arguments are converted to the type, and wrong ones are returned to the model.
    wf.description("Searches the collection by several queries at once.").input_schema(Schema::of::<Queries>());
    let queries = wf.node("queries", async |Input(input): Input<Queries>| input.queries);
    let look_up = wf.add(ParallelWorker::new(FunctionNode::new("look_up", look_up)).max_workers(WORKERS));
    let rank = wf.node("rank", rank);
    wf.edge(START, queries).edge(queries, look_up).edge(look_up, rank);
    wf.build_to(rank)
}

/// Answers one query with the pages that contain at least two of its longer words. The queries are answered in
/// parallel.
async fn look_up(Input(query): Input<String>) -> Vec<Hit> {
    let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3).map(str::to_lowercase);
    let words: Vec<String> = words.collect();
    let hits = PAGES.iter().map(|page| {
        let whole = format!("{} {}", page.title, page.text).to_lowercase();
        let score = words.iter().filter(|word| whole.contains(word.as_str())).count();
        Hit { title: page.title.to_owned(), text: page.text.to_owned(), score }
    });
    hits.filter(|hit| hit.score > 1).collect()
}

/// Joins the answers to all queries. Each page appears once. The best page comes first.
async fn rank(ctx: Context, Input(answers): Input<Vec<Vec<Hit>>>) -> Result<String> {
    let mut pages: BTreeMap<String, Hit> = BTreeMap::new();
    for hit in answers.into_iter().flatten() {
        pages.entry(hit.title.clone()).and_modify(|known| known.score += hit.score).or_insert(hit);
    }
    let mut hits: Vec<Hit> = pages.into_values().collect();
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.score));
    let lines: Vec<String> = hits.iter().take(MOST).map(|hit| format!("{}: {}", hit.title, hit.text)).collect();
    let findings = if lines.is_empty() { "nothing was found".to_owned() } else { lines.join("\n") };
    FINDINGS.set(&ctx, &findings)?;
    Ok(findings)
}
