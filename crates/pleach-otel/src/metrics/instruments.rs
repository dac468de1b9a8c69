//! [`Metrics`]: the instruments, and how they are updated. Names, units and attributes are the same as in the table of
//! `docs/tracing.md`.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter, UpDownCounter};
use pleach_core::NodePath;
use pleach_runner::Runner;

use super::fields::Fields;
use super::load::Loads;
use super::measured::{Measured, Operation};

/// Buckets for calls of models and tools, in seconds, as the conventions advise.
const CALLS: [f64; 14] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// Buckets for runs, nodes and agents, in seconds. They range from code without calls to an hour of work.
const WORK: [f64; 14] = [0.001, 0.005, 0.02, 0.1, 0.4, 1.6, 6.4, 25.6, 60.0, 180.0, 600.0, 1_200.0, 2_400.0, 3_600.0];

/// Buckets for tokens, as the conventions advise: powers of four.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// The instruments for metrics. ADK: `telemetry/_metrics.py`, where the names begin with `gen_ai`.
#[derive(Debug)]
pub(crate) struct Metrics {
    runs_started: Counter<u64>,
    workflow_duration: Histogram<f64>,
    node_duration: Histogram<f64>,
    node_retries: Counter<u64>,
    agent_duration: Histogram<f64>,
    tool_duration: Histogram<f64>,
    model_duration: Histogram<f64>,
    model_retries: Counter<u64>,
    tokens: Histogram<u64>,
    questions_opened: Counter<u64>,
    questions_closed: Counter<u64>,
    questions_open: UpDownCounter<i64>,
    loads: Loads,
}

impl Metrics {
    pub(crate) fn new(meter: &Meter) -> Self {
        let seconds = |name: &'static str, about: &'static str, buckets: &[f64]| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(about);
            histogram.with_boundaries(buckets.to_vec()).build()
        };
        let count = |name: &'static str, unit: &'static str, about: &'static str| {
            meter.u64_counter(name).with_unit(unit).with_description(about).build()
        };
        let tokens = meter.u64_histogram("gen_ai.client.token.usage").with_unit("{token}");
        let open = meter.i64_up_down_counter("pleach.questions.open").with_unit("{question}");
        Self {
            runs_started: count("pleach.runs.started", "{run}", "Parts of invocations that have begun."),
            workflow_duration: seconds("gen_ai.invoke_workflow.duration", "Duration of workflow invocations.", &WORK),
            node_duration: seconds("pleach.node.duration", "Duration of attempts of nodes.", &WORK),
            node_retries: count("pleach.node.retries", "{attempt}", "Attempts of nodes after the first one."),
            agent_duration: seconds("gen_ai.invoke_agent.duration", "Duration of agent invocations.", &WORK),
            tool_duration: seconds("gen_ai.execute_tool.duration", "Duration of tool executions.", &CALLS),
            model_duration: seconds("gen_ai.client.operation.duration", "Duration of calls of models.", &CALLS),
            model_retries: count("pleach.model.retries", "{request}", "Requests to models that were sent again."),
            tokens: tokens.with_description("Tokens of calls of models.").with_boundaries(TOKENS.to_vec()).build(),
            questions_opened: count("pleach.questions.opened", "{question}", "Questions that were asked."),
            questions_closed: count(
                "pleach.questions.closed",
                "{question}",
                "Questions that no longer need an answer.",
            ),
            questions_open: open.with_description("Questions opened less questions closed.").build(),
            loads: Loads::new(meter),
        }
    }

    pub(crate) fn watch(&self, runner: &Runner) {
        self.loads.watch(runner);
    }

    /// Counts the start of a span.
    pub(super) fn started(&self, span: &Measured) {
        match span.operation {
            Operation::Invocation => {
                self.runs_started.add(1, &span.fields.attributes(&["gen_ai.workflow.name", "pleach.resumed"]));
            }
            // A nested workflow is a node, and is retried like any other node.
            Operation::Node | Operation::Workflow => {
                if span.fields.number("pleach.node.attempt").is_some_and(|attempt| attempt > 1) {
                    self.node_retries.add(1, &[node_name(&span.fields)]);
                }
            }
            Operation::Agent | Operation::Tool | Operation::Model => {}
        }
    }

    /// Records the duration and the outcome of a span's work.
    pub(super) fn ended(&self, span: &Measured) {
        let (fields, seconds) = (&span.fields, span.seconds());
        let with = |names: &[&'static str]| {
            let mut attributes = fields.attributes(names);
            attributes.extend(fields.attributes(&["error.type", "pleach.outcome"]));
            attributes
        };
        let workflow = ["gen_ai.workflow.name", "gen_ai.workflow.nested", "pleach.resumed"];
        let model = ["gen_ai.agent.name", "gen_ai.provider.name", "gen_ai.request.model"];
        match span.operation {
            Operation::Invocation => self.workflow_duration.record(seconds, &with(&workflow)),
            Operation::Workflow => {
                self.workflow_duration.record(seconds, &with(&workflow));
                self.end_node(fields, seconds);
            }
            Operation::Node => self.end_node(fields, seconds),
            Operation::Agent => self.agent_duration.record(seconds, &with(&["gen_ai.agent.name"])),
            Operation::Tool => self.tool_duration.record(seconds, &with(&["gen_ai.tool.name"])),
            Operation::Model => {
                let mut attributes = with(&model);
                attributes.push(generate_content());
                self.model_duration.record(seconds, &attributes);
                self.count_tokens(fields, fields.attributes(&model));
            }
        }
    }

    fn end_node(&self, fields: &Fields, seconds: f64) {
        let mut attributes = fields.attributes(&["error.type", "pleach.outcome"]);
        attributes.push(node_name(fields));
        self.node_duration.record(seconds, &attributes);
    }

    fn count_tokens(&self, fields: &Fields, attributes: Vec<KeyValue>) {
        let kinds = [("input", "gen_ai.usage.input_tokens"), ("output", "gen_ai.usage.output_tokens")];
        for (kind, field) in kinds {
            if let Some(count) = fields.number(field) {
                let mut attributes = attributes.clone();
                attributes.extend([generate_content(), KeyValue::new("gen_ai.token.type", kind)]);
                self.tokens.record(count, &attributes);
            }
        }
    }

    /// Counts a retried request to a model.
    pub(super) fn model_retried(&self, fields: &Fields) {
        let model = fields.text("model").unwrap_or_default().to_owned();
        let mut attributes = vec![KeyValue::new("gen_ai.request.model", model)];
        let status = fields.number("status").map(|status| status.to_string());
        let error = status.or_else(|| fields.text("kind").map(str::to_owned));
        attributes.extend(error.map(|error| KeyValue::new("error.type", error)));
        self.model_retries.add(1, &attributes);
    }

    pub(super) fn question_opened(&self, fields: &Fields) {
        let kind = question_kind(fields);
        self.questions_opened.add(1, &kind);
        self.questions_open.add(1, &kind);
    }

    pub(super) fn question_closed(&self, fields: &Fields) {
        let kind = question_kind(fields);
        self.questions_closed.add(1, &kind);
        self.questions_open.add(-1, &kind);
    }
}

fn generate_content() -> KeyValue {
    KeyValue::new("gen_ai.operation.name", "generate_content")
}

fn question_kind(fields: &Fields) -> [KeyValue; 1] {
    [KeyValue::new("pleach.question.kind", fields.text("kind").unwrap_or_default().to_owned())]
}

/// Returns the name of a node, without the number of its run.
fn node_name(fields: &Fields) -> KeyValue {
    let path = NodePath::from(fields.text("pleach.node.path").unwrap_or_default());
    KeyValue::new("pleach.node.name", path.name().to_owned())
}
