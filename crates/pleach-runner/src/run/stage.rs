//! [`Stage`]: what a run has reached, from its request to its end.

use std::sync::Arc;

use pleach_core::{InvocationId, SessionKey};

use crate::run::state::RunState;

/// What a run has reached. The transitions are methods; a transition that does not fit the stage has no effect.
///
/// ```text
/// Opening ──admit──▶ Admitted ──begin──▶ Begun ──sum_up──▶ SummingUp
///    └──────join──────┴─▶ Joined
/// ```
///
/// A run that is admitted goes back to the queue if another process turns out to be working on its session.
pub(crate) enum Stage {
    /// The run is not admitted to its session yet.
    Opening {
        /// The session that it is queued for.
        queued_for: Option<SessionKey>,
    },
    /// The run may work in its session, and has not begun its invocation.
    Admitted {
        session: SessionKey,
        /// The invocation that its answers belong to.
        answers_to: Option<InvocationId>,
    },
    /// The run yields the events of another run, which has the same invocation.
    Joined {
        leader: Arc<RunState>,
        /// The invocation, once the leader has begun it.
        invocation: Option<InvocationId>,
    },
    /// The message of the invocation is stored.
    Begun {
        session: SessionKey,
        invocation: InvocationId,
        /// Whether the run executes the invocation. It is false if the run only returns the recorded result, or may still lose the
        /// session to another process.
        executes: bool,
    },
    /// The invocation is done, and the run summarises the history.
    SummingUp { session: SessionKey, invocation: InvocationId },
}

impl Stage {
    /// Returns the session, once the run is admitted to it.
    pub(crate) fn session(&self) -> Option<&SessionKey> {
        match self {
            Self::Opening { .. } | Self::Joined { .. } => None,
            Self::Admitted { session, .. } | Self::Begun { session, .. } | Self::SummingUp { session, .. } => {
                Some(session)
            }
        }
    }

    /// Returns the invocation, once it has begun.
    pub(crate) fn invocation(&self) -> Option<&InvocationId> {
        match self {
            Self::Opening { .. } | Self::Admitted { .. } => None,
            Self::Joined { invocation, .. } => invocation.as_ref(),
            Self::Begun { invocation, .. } | Self::SummingUp { invocation, .. } => Some(invocation),
        }
    }

    /// Returns `true` if the run executes its invocation.
    pub(crate) fn executes(&self) -> bool {
        matches!(self, Self::Begun { executes: true, .. } | Self::SummingUp { .. })
    }

    /// Returns `true` if a caller that requests the invocation `id` can join the run. `requested` is the invocation that the run's own
    /// caller requested.
    pub(crate) fn can_be_joined(&self, id: &InvocationId, requested: Option<&InvocationId>) -> bool {
        match self {
            Self::Admitted { .. } => requested == Some(id),
            Self::Begun { invocation, .. } => invocation == id,
            Self::Opening { .. } | Self::Joined { .. } | Self::SummingUp { .. } => false,
        }
    }

    /// Returns `true` if the run is about to store answers to the invocation `id`.
    pub(crate) fn answers(&self, id: &InvocationId) -> bool {
        matches!(self, Self::Admitted { answers_to: Some(answered), .. } if answered == id)
    }

    pub(crate) fn queue(&mut self, key: SessionKey) {
        if let Self::Opening { .. } | Self::Admitted { .. } = self {
            *self = Self::Opening { queued_for: Some(key) };
        }
    }

    pub(crate) fn admit(&mut self, key: SessionKey) {
        if let Self::Opening { .. } = self {
            *self = Self::Admitted { session: key, answers_to: None };
        }
    }

    /// Notes the invocation that the run's answers belong to.
    pub(crate) fn claim_answers(&mut self, id: &InvocationId) {
        if let Self::Admitted { answers_to, .. } = self {
            *answers_to = Some(id.clone());
        }
    }

    pub(crate) fn join(&mut self, leader: &Arc<RunState>) {
        if let Self::Opening { .. } | Self::Admitted { .. } = self {
            *self = Self::Joined { leader: Arc::clone(leader), invocation: None };
        }
    }

    pub(crate) fn begin(&mut self, id: &InvocationId) {
        match self {
            Self::Admitted { session, .. } => {
                *self = Self::Begun { session: session.clone(), invocation: id.clone(), executes: false };
            }
            Self::Joined { invocation, .. } => *invocation = Some(id.clone()),
            Self::Opening { .. } | Self::Begun { .. } | Self::SummingUp { .. } => {}
        }
    }

    /// Notes that the run executes its invocation; returns `true` if that is new.
    pub(crate) fn execute(&mut self) -> bool {
        match self {
            Self::Begun { executes, .. } => !std::mem::replace(executes, true),
            _ => false,
        }
    }

    pub(crate) fn sum_up(&mut self) {
        if let Self::Begun { session, invocation, .. } = self {
            *self = Self::SummingUp { session: session.clone(), invocation: invocation.clone() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunRequest;

    fn key() -> SessionKey {
        SessionKey::new("app", "ana", "s1")
    }

    fn id(id: &str) -> InvocationId {
        InvocationId::from(id)
    }

    fn stages() -> [Stage; 5] {
        let (session, invocation) = (key(), id("i"));
        let leader = Arc::new(RunState::new(&RunRequest::new(("ana", "s1")), false));
        [
            Stage::Opening { queued_for: None },
            Stage::Admitted { session: session.clone(), answers_to: Some(id("asked")) },
            Stage::Joined { leader, invocation: None },
            Stage::Begun { session: session.clone(), invocation: invocation.clone(), executes: false },
            Stage::SummingUp { session, invocation },
        ]
    }

    fn name(stage: &Stage) -> &'static str {
        match stage {
            Stage::Opening { queued_for: None } => "opening",
            Stage::Opening { queued_for: Some(_) } => "queued",
            Stage::Admitted { .. } => "admitted",
            Stage::Joined { invocation: None, .. } => "joined",
            Stage::Joined { invocation: Some(_), .. } => "joined, begun",
            Stage::Begun { executes: false, .. } => "begun",
            Stage::Begun { executes: true, .. } => "executes",
            Stage::SummingUp { .. } => "sums up",
        }
    }

    fn after(transition: impl Fn(&mut Stage)) -> [&'static str; 5] {
        let mut stages = stages();
        stages.iter_mut().for_each(transition);
        stages.each_ref().map(name)
    }

    #[test]
    fn a_transition_leaves_the_stages_that_it_does_not_fit() {
        let leader = Arc::new(RunState::new(&RunRequest::new(("ana", "s1")), false));
        let table = [
            ("queue", after(|stage| stage.queue(key())), ["queued", "queued", "joined", "begun", "sums up"]),
            ("admit", after(|stage| stage.admit(key())), ["admitted", "admitted", "joined", "begun", "sums up"]),
            ("join", after(|stage| stage.join(&leader)), ["joined", "joined", "joined", "begun", "sums up"]),
            ("begin", after(|stage| stage.begin(&id("i"))), ["opening", "begun", "joined, begun", "begun", "sums up"]),
            ("execute", after(|stage| _ = stage.execute()), ["opening", "admitted", "joined", "executes", "sums up"]),
            ("sum_up", after(Stage::sum_up), ["opening", "admitted", "joined", "sums up", "sums up"]),
        ];
        for (transition, found, expected) in table {
            assert_eq!(found, expected, "{transition}");
        }
    }

    #[test]
    fn a_run_can_be_joined_from_its_admission_until_only_its_summary_is_left() {
        let requested = id("i");
        let joined = stages().each_ref().map(|stage| stage.can_be_joined(&id("i"), Some(&requested)));
        assert_eq!(joined, [false, true, false, true, false]);
        let other = stages().each_ref().map(|stage| stage.can_be_joined(&id("i"), None));
        assert_eq!(other, [false, false, false, true, false]);
        assert_eq!(stages().each_ref().map(|stage| stage.answers(&id("asked"))), [false, true, false, false, false]);
    }

    #[test]
    fn a_run_begins_to_execute_once() {
        let [_, _, _, mut begun, _] = stages();
        assert!(!begun.executes());
        assert_eq!([begun.execute(), begun.execute()], [true, false]);
        assert!(begun.executes());
    }
}
