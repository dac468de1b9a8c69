//! Random workflows as plain data, and the strategies that draw and shrink them.

use proptest::prelude::*;

use crate::tree::{Agent, tree};

/// A whole case: the app, its graph and the person who answers.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// Whether the app records checkpoints.
    pub(crate) resumable: bool,
    /// Whether the person answers one question in each turn instead of all open questions.
    pub(crate) one_by_one: bool,
    /// The number of graph nodes that may run at the same time; 0 means no limit.
    pub(crate) limit: usize,
    /// The root, if it is an agent instead of a workflow.
    pub(crate) agent: Option<Agent>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) tail: Tail,
}

/// The end of a graph.
#[derive(Clone, Debug)]
pub(crate) enum Tail {
    None,
    /// Lanes that meet in an ordinary node, which runs once for each lane.
    Merge(Vec<Task>),
    /// Lanes that meet in a node with `wait_for_output`, which has an output only for the first lane.
    // R307
    Filter(Vec<Task>),
}

/// A part of a graph with one entry and one exit.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Task(Task),
    /// Parallel lanes that are joined.
    Fork(Vec<Vec<Block>>),
    /// A body that a route repeats.
    Loop {
        rounds: u8,
        body: Vec<Block>,
    },
    /// Lanes of which a route picks one. An index past the end picks the last lane, the default.
    Choice {
        taken: usize,
        lanes: Vec<Vec<Block>>,
    },
    Nested {
        retry: bool,
        blocks: Vec<Block>,
    },
}

/// A graph node.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) work: Work,
    pub(crate) trouble: Trouble,
    /// Whether the engine retries a failed attempt. If not, the run ends and the person resumes it.
    pub(crate) retry: bool,
}

/// The delays and failures of a body.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    /// How often the body yields to other tasks.
    pub(crate) pauses: u8,
    /// How often the body fails, in all processes together.
    pub(crate) fails: u8,
    /// Whether the body fails right before its result instead of at its start.
    pub(crate) late: bool,
}

/// The way in which a body changes the session state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Writes {
    Nothing,
    /// On the event of the result.
    Result,
    /// Through the context, at the start.
    Context,
    /// On a key of the user.
    User,
}

#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Messages, then a result.
    Value { messages: u8, writes: Writes },
    /// No output, but a state change.
    State,
    /// No event at all.
    Silent,
    /// A call of a tool with the output of the node before it.
    Tool,
    /// A value that a person has to confirm.
    Gated,
    /// A returned question whose answer is the output.
    Question { due: Due },
    /// Questions of a node that runs again with the answers.
    Questions { count: u8, how: Asks, due: Due },
    /// Steps, followed by a question, a sleep, two selects or nothing.
    Steps { count: u8, together: bool, keyed: bool, end: StepsEnd },
    /// A parallel worker over the list that the node before it returns.
    Worker { items: u8, at_once: usize, item: Part },
    /// An agent with its sub-agents.
    Agent(Agent),
    /// A node that runs others.
    Parent { children: Vec<Part>, together: bool, named: bool, sub_branch: bool, end: ParentEnd },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Asks {
    Returned,
    Together,
    OneByOne,
}

/// The time at which a question is answered if the person has not answered it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    Never,
    /// At a deadline before the person answers: with a default, or with null.
    Soon {
        has_default: bool,
    },
    /// At a deadline after the person's answer.
    Late,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum StepsEnd {
    Own,
    Asks,
    Sleeps,
    /// Two selects of a question, a time and two signals, with a question between the selects.
    Selects,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ParentEnd {
    /// A result of its own.
    Own,
    /// A question after the children, then a result.
    Asks,
    /// The children run after another child has failed.
    Catches,
    /// The last child is the delegate: its output becomes the parent's output.
    HandsOver,
}

/// A dynamic child, or an item of a parallel worker.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) kind: PartKind,
    pub(crate) trouble: Trouble,
}

#[derive(Clone, Debug)]
pub(crate) enum PartKind {
    Value,
    Silent,
    /// A returned question.
    Question {
        due: Due,
    },
    /// A question in the middle of a body.
    Asks {
        due: Due,
    },
    /// A small workflow of a node and possibly a question.
    Workflow {
        asks: bool,
    },
}

pub(crate) fn trouble() -> impl Strategy<Value = Trouble> {
    let fails = prop_oneof![16 => Just(0u8), 2 => Just(1u8), 1 => Just(2u8)];
    (0u8..3, fails, any::<bool>()).prop_map(|(pauses, fails, late)| Trouble { pauses, fails, late })
}

fn due() -> impl Strategy<Value = Due> {
    prop_oneof![
        4 => Just(Due::Never),
        2 => any::<bool>().prop_map(|has_default| Due::Soon { has_default }),
        1 => Just(Due::Late),
    ]
}

pub(crate) fn part() -> impl Strategy<Value = Part> {
    let kind = prop_oneof![
        4 => Just(PartKind::Value),
        1 => Just(PartKind::Silent),
        2 => due().prop_map(|due| PartKind::Question { due }),
        1 => due().prop_map(|due| PartKind::Asks { due }),
        1 => any::<bool>().prop_map(|asks| PartKind::Workflow { asks }),
    ];
    (kind, trouble()).prop_map(|(kind, trouble)| Part { kind, trouble })
}

fn value() -> impl Strategy<Value = Work> {
    let writes = prop_oneof![
        3 => Just(Writes::Nothing), 1 => Just(Writes::Result), 1 => Just(Writes::Context), 1 => Just(Writes::User)
    ];
    (0u8..2, writes).prop_map(|(messages, writes)| Work::Value { messages, writes })
}

fn work() -> impl Strategy<Value = Work> {
    let asks = prop_oneof![Just(Asks::Returned), Just(Asks::Together), Just(Asks::OneByOne)];
    let worker = (0u8..3, 0usize..2, part()).prop_map(|(items, at_once, item)| Work::Worker { items, at_once, item });
    let end = prop_oneof![2 => Just(ParentEnd::Own), 1 => Just(ParentEnd::Asks), 1 => Just(ParentEnd::HandsOver), 1 => Just(ParentEnd::Catches)];
    let parent = (prop::collection::vec(part(), 1..3), any::<[bool; 3]>(), end).prop_map(|(children, flags, end)| {
        let [together, named, sub_branch] = flags;
        Work::Parent { children, together, named, sub_branch, end }
    });
    let end = prop_oneof![Just(StepsEnd::Own), Just(StepsEnd::Asks), Just(StepsEnd::Sleeps), Just(StepsEnd::Selects)];
    let steps = (1u8..4, any::<[bool; 2]>(), end).prop_map(|(count, [together, keyed], end)| Work::Steps {
        count,
        together,
        keyed,
        end,
    });
    prop_oneof![
        6 => value(),
        2 => steps,
        1 => Just(Work::State),
        1 => Just(Work::Silent),
        1 => Just(Work::Tool),
        1 => Just(Work::Gated),
        2 => due().prop_map(|due| Work::Question { due }),
        2 => (1u8..3, asks, due()).prop_map(|(count, how, due)| Work::Questions { count, how, due }),
        1 => worker,
        2 => parent,
    ]
}

fn task_of(work: impl Strategy<Value = Work>) -> impl Strategy<Value = Task> {
    (work, trouble(), any::<bool>()).prop_map(|(work, trouble, retry)| Task { work, trouble, retry })
}

fn block(work: impl Strategy<Value = Work> + 'static) -> impl Strategy<Value = Block> {
    task_of(work).prop_map(Block::Task).prop_recursive(2, 4, 2, |inner| {
        let some = prop_oneof![3 => prop::collection::vec(inner.clone(), 1), 1 => prop::collection::vec(inner.clone(), 2)].boxed();
        let maybe = prop::collection::vec(inner, 0..2);
        prop_oneof![
            2 => prop::collection::vec(some.clone(), 2..3).prop_map(Block::Fork),
            1 => (1u8..3, maybe.clone()).prop_map(|(rounds, body)| Block::Loop { rounds, body }),
            1 => (0usize..2, prop::collection::vec(maybe, 2..3)).prop_map(|(taken, lanes)| Block::Choice { taken, lanes }),
            1 => (any::<bool>(), some).prop_map(|(retry, blocks)| Block::Nested { retry, blocks }),
        ]
    })
}

fn tail(resumable: bool) -> impl Strategy<Value = Tail> {
    // If no event records that a node without an event has completed, the node runs again after the others (R1011).
    let silent = u32::from(resumable);
    let lane = move || {
        task_of(prop_oneof![
            6 => value(),
            2 => due().prop_map(|due| Work::Question { due }),
            silent => Just(Work::Silent),
            1 => Just(Work::State)
        ])
    };
    let lanes = move || prop::collection::vec(lane(), 2..3);
    prop_oneof![4 => Just(Tail::None), 1 => lanes().prop_map(Tail::Merge), 1 => lanes().prop_map(Tail::Filter)]
}

/// Any case of an app of this kind.
pub(crate) fn flow(resumable: bool) -> impl Strategy<Value = Flow> {
    let limit = prop_oneof![3 => Just(0usize), 1 => 1usize..3];
    (any::<bool>(), limit, prop::collection::vec(block(work()), 1..3), tail(resumable)).prop_map(
        move |(one_by_one, limit, blocks, tail)| Flow { resumable, one_by_one, limit, agent: None, blocks, tail },
    )
}

/// Any case with agents: a tree of them, or a workflow in which some nodes are agents.
pub(crate) fn flow_of_agents(resumable: bool) -> impl Strategy<Value = Flow> {
    let work = prop_oneof![3 => tree().prop_map(Work::Agent), 2 => work()];
    let limit = prop_oneof![3 => Just(0usize), 1 => 1usize..3];
    let root = prop_oneof![
        3 => tree().prop_map(|agent| (Some(agent), Vec::new())),
        2 => prop::collection::vec(block(work), 1..3).prop_map(|blocks| (None, blocks)),
    ];
    (any::<bool>(), limit, root).prop_map(move |(one_by_one, limit, (agent, blocks))| Flow {
        resumable,
        one_by_one,
        limit,
        agent,
        blocks,
        tail: Tail::None,
    })
}
