//! One trace for an invocation, across pauses and processes.

use opentelemetry_sdk::trace::SpanData;
use pleach::otel::opentelemetry::trace::{SpanId, TraceId};
use pleach::prelude::*;
use tracing::{Instrument as _, info_span};

use crate::collector::{Collector, World, finish};

fn asking() -> Workflow {
    let mut wf = Workflow::builder("orders");
    let approve = wf.node("approve", async || RequestInput::<String>::ask("ok", "Ship?"));
    let ship = wf.node("ship", async |answer: Input<String>| {
        tracing::warn!(text = "s3cret", "a line of the program's log");
        answer.0
    });
    wf.edge(START, approve.dynamic()).edge(approve.dynamic(), ship);
    wf.build().unwrap()
}

fn names(spans: &[SpanData]) -> Vec<&str> {
    spans.iter().map(|span| &*span.name).collect()
}

fn trace(span: &SpanData) -> TraceId {
    span.span_context.trace_id()
}

#[tokio::test]
async fn the_spans_of_two_processes_and_a_pause_have_one_trace_id() {
    let world = World::new();
    let first = world.process();
    let run = first.runner(asking()).run("ana", "s1", "s3cret");
    finish(run).instrument(info_span!("request")).await;
    let before = first.spans();
    drop(first);
    let second = world.process();
    let run = second.runner(asking()).answer(("ana", "s1"), "ok", "s3cret").unwrap();
    finish(run).instrument(info_span!("request")).await;
    let after = second.spans();

    assert_eq!(names(&before), ["invoke_node approve", "invoke_workflow orders", "request"]);
    assert_eq!(names(&after), ["invoke_node ship", "invoke_workflow orders", "request"]);
    let root = &before[1];
    for span in before[..2].iter().chain(&after[..2]) {
        assert_eq!(trace(span), trace(root), "{span:?}");
    }
    // The span that started the invocation is the root and the other one is below it. Each request is a linked trace of its own.
    assert_eq!(root.parent_span_id, SpanId::INVALID);
    assert_eq!(after[1].parent_span_id, root.span_context.span_id());
    assert_eq!(after[0].parent_span_id, after[1].span_context.span_id());
    for spans in [&before, &after] {
        let links: Vec<TraceId> = spans[1].links.iter().map(|link| link.span_context.trace_id()).collect();
        assert_eq!(links, [trace(&spans[2])]);
        assert_ne!(trace(&spans[2]), trace(root));
    }
    // The spans contain no message and no line of the log.
    for span in before.iter().chain(&after) {
        assert!(!format!("{span:?}").contains("s3cret"), "{span:?}");
        assert!(span.events.is_empty(), "{span:?}");
    }
}

#[tokio::test]
async fn invocations_have_traces_of_their_own() {
    let collector = Collector::start();
    let runner = collector.runner(FunctionNode::new("one", async || 1));
    finish(runner.run("ana", "s1", "go")).await;
    finish(runner.run("ana", "s1", "go")).await;
    let spans = collector.spans();
    assert_eq!(names(&spans), ["invoke_node one", "invoke_workflow one"].repeat(2));
    assert_eq!(trace(&spans[0]), trace(&spans[1]));
    assert_ne!(trace(&spans[1]), trace(&spans[3]));
}
