//! Joining actions: what several writers set, on one event.

use std::collections::BTreeMap;
use std::mem;

use super::{EventActions, RareActions};

/// Calls a macro with the names of the fields that hold one value.
macro_rules! single_fields {
    ($then:ident) => {
        $then!(
            skip_summarization transfer_to_agent transfer_reason escalate compaction end_of_agent agent_state
            rewind_before_invocation_id render_ui_widgets set_model_response
        )
    };
}

impl EventActions {
    /// Adds `newer`: what it sets wins, and maps are joined key by key.
    pub fn merge(&mut self, newer: Self) {
        if let Some(delta) = newer.state_delta.filter(|delta| !delta.is_empty()) {
            let mut ops = delta.ops.map(|ops| ops.pending).unwrap_or_default();
            for (key, value) in delta.values {
                if !ops.contains_key(&key) {
                    self.set_state(key, value);
                }
            }
            while let Some((key, ops)) = ops.pop_first() {
                ops.into_iter().for_each(|op| self.add_state_op(key.clone(), op));
            }
        }
        if newer.route.is_some() {
            self.route = newer.route;
        }
        let Some(newer) = newer.rare else { return };
        let mut newer = *newer;
        if newer == RareActions::default() {
            return;
        }
        let rare = self.rare_mut();
        macro_rules! take {
            ($($name:ident)*) => { $(if newer.$name.is_some() { rare.$name = newer.$name.take(); })* };
        }
        single_fields!(take);
        rare.artifact_delta.append(&mut newer.artifact_delta);
        rare.requested_auth_configs.append(&mut newer.requested_auth_configs);
        rare.requested_tool_confirmations.append(&mut newer.requested_tool_confirmations);
    }

    /// Repeats on these actions what turned `before` into `after`, except for state, route and requests.
    ///
    /// What is the same in both stays as it is here, so that changes which others made meanwhile are kept.
    pub fn replay(&mut self, before: &Self, after: Self) {
        let Some(after) = after.rare else { return };
        let mut after = *after;
        let none = RareActions::default();
        let before = before.rare.as_deref().unwrap_or(&none);
        if *before == after {
            return;
        }
        let rare = self.rare_mut();
        macro_rules! set {
            ($($name:ident)*) => { $(if before.$name != after.$name { rare.$name = after.$name.take(); })* };
        }
        single_fields!(set);
        replay_map(&mut rare.artifact_delta, &before.artifact_delta, after.artifact_delta);
    }

    /// Moves the requests for credentials and confirmations of `other` here.
    pub fn take_requests(&mut self, other: &mut Self) {
        let Some(rare) = other.rare.as_deref_mut() else { return };
        if rare.requested_auth_configs.is_empty() && rare.requested_tool_confirmations.is_empty() {
            return;
        }
        let (credentials, confirmations) =
            (mem::take(&mut rare.requested_auth_configs), mem::take(&mut rare.requested_tool_confirmations));
        self.requested_auth_configs_mut().extend(credentials);
        self.requested_tool_confirmations_mut().extend(confirmations);
    }

    /// Returns whether anything but the route is set.
    #[must_use]
    pub fn has_effects(&self) -> bool {
        self.state_delta.as_deref().is_some_and(|delta| !delta.is_empty())
            || self.rare.as_ref().is_some_and(|rare| **rare != RareActions::default())
    }

    /// Returns whether anything but the route and the requests for credentials and confirmations is set.
    #[must_use]
    pub fn has_effects_beside_requests(&self) -> bool {
        let requests = self.requested_auth_configs().is_empty() && self.requested_tool_confirmations().is_empty();
        if requests {
            return self.has_effects();
        }
        let mut others = self.clone();
        Self::default().take_requests(&mut others);
        others.has_effects()
    }
}

fn replay_map(map: &mut BTreeMap<String, i64>, before: &BTreeMap<String, i64>, after: BTreeMap<String, i64>) {
    map.retain(|key, _| after.contains_key(key) || !before.contains_key(key));
    map.extend(after.into_iter().filter(|(key, value)| before.get(key) != Some(value)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_what_the_newer_actions_do_not_set() {
        let mut older = EventActions::new();
        older.set_escalate(Some(true));
        older.artifact_delta_mut().insert("a".to_owned(), 1);
        older.state_delta_mut().insert("x".to_owned(), 1.into());
        let mut newer = EventActions::new();
        newer.set_skip_summarization(Some(true));
        newer.artifact_delta_mut().insert("b".to_owned(), 0);
        newer.state_delta_mut().insert("x".to_owned(), 2.into());
        older.merge(newer);
        assert_eq!((older.escalate(), older.skip_summarization()), (Some(true), Some(true)));
        assert_eq!(older.artifact_delta().len(), 2);
        assert_eq!(older.state_delta()["x"], 2);
    }

    #[test]
    fn replaying_a_change_keeps_what_others_changed_meanwhile() {
        let mut before = EventActions::new();
        before.artifact_delta_mut().insert("gone".to_owned(), 1);
        let mut after = before.clone();
        after.set_escalate(Some(true));
        after.artifact_delta_mut().clear();
        let mut now = before.clone();
        now.set_transfer_to_agent(Some("b".to_owned()));
        now.artifact_delta_mut().insert("meanwhile".to_owned(), 3);
        now.replay(&before, after);
        assert_eq!((now.escalate(), now.transfer_to_agent()), (Some(true), Some("b")));
        assert_eq!(now.artifact_delta().keys().collect::<Vec<_>>(), ["meanwhile"]);
    }
}
