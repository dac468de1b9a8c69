//! Merging the actions of several writers into one event.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem;

use super::{EventActions, UiWidget, UncommonActions};

/// Calls a macro with the names of the fields that hold one value.
macro_rules! single_fields {
    ($then:ident) => {
        $then!(
            skip_summarization transfer_to_agent transfer_reason escalate compaction end_of_agent agent_state
            rewind_before_invocation_id set_model_response
        )
    };
}

impl EventActions {
    /// Merges `newer` into these actions: its values win, maps merge key by key, widgets are appended.
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
        let Some(newer) = newer.uncommon else { return };
        let mut newer = *newer;
        if newer == UncommonActions::default() {
            return;
        }
        let uncommon = self.uncommon_mut();
        macro_rules! take {
            ($($name:ident)*) => { $(if newer.$name.is_some() { uncommon.$name = newer.$name.take(); })* };
        }
        single_fields!(take);
        if let Some(widgets) = newer.render_ui_widgets.take() {
            uncommon.render_ui_widgets.get_or_insert_default().extend(widgets);
        }
        uncommon.artifact_delta.append(&mut newer.artifact_delta);
        uncommon.requested_auth_configs.append(&mut newer.requested_auth_configs);
        uncommon.requested_tool_confirmations.append(&mut newer.requested_tool_confirmations);
    }

    /// Applies the difference between `before` and `after` to these actions, except for state, route and requests.
    ///
    /// Fields that are equal in both are left alone, so concurrent changes are kept.
    pub fn replay(&mut self, before: &Self, after: Self) {
        let mut after = after.uncommon.map(|uncommon| *uncommon).unwrap_or_default();
        let none = UncommonActions::default();
        let before = before.uncommon.as_deref().unwrap_or(&none);
        if *before == after {
            return;
        }
        let uncommon = self.uncommon_mut();
        macro_rules! set {
            ($($name:ident)*) => { $(if before.$name != after.$name { uncommon.$name = after.$name.take(); })* };
        }
        single_fields!(set);
        if before.render_ui_widgets != after.render_ui_widgets {
            let before = before.render_ui_widgets.as_deref().unwrap_or_default();
            replay_widgets(&mut uncommon.render_ui_widgets, before, after.render_ui_widgets);
        }
        replay_map(&mut uncommon.artifact_delta, &before.artifact_delta, after.artifact_delta);
    }

    /// Moves the requests for credentials and confirmations from `other` into these actions.
    pub fn take_requests(&mut self, other: &mut Self) {
        let Some(uncommon) = other.uncommon.as_deref_mut() else { return };
        if uncommon.requested_auth_configs.is_empty() && uncommon.requested_tool_confirmations.is_empty() {
            return;
        }
        let (credentials, confirmations) =
            (mem::take(&mut uncommon.requested_auth_configs), mem::take(&mut uncommon.requested_tool_confirmations));
        self.requested_auth_configs_mut().extend(credentials);
        self.requested_tool_confirmations_mut().extend(confirmations);
    }

    /// Returns `true` if anything but the route is set.
    #[must_use]
    pub fn has_effects(&self) -> bool {
        self.state_delta.as_deref().is_some_and(|delta| !delta.is_empty())
            || self.uncommon.as_ref().is_some_and(|uncommon| **uncommon != UncommonActions::default())
    }

    /// Returns `true` if anything but the route and the requests for credentials and confirmations is set.
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

/// Appends widgets. A widget with a known id replaces the earlier one.
fn add_widgets(widgets: &mut Option<Vec<UiWidget>>, newer: Vec<UiWidget>) {
    let Some(known) = widgets.as_mut().filter(|known| !known.is_empty()) else {
        *widgets = Some(newer);
        return;
    };
    let places: HashMap<String, usize> = known.iter().enumerate().map(|(at, widget)| (widget.id.clone(), at)).collect();
    for widget in newer {
        match places.get(&widget.id) {
            Some(&at) => known[at] = widget,
            None => known.push(widget),
        }
    }
}

/// Removes the widgets that are no longer in `after`, and adds those that are not in `before`.
fn replay_widgets(widgets: &mut Option<Vec<UiWidget>>, before: &[UiWidget], after: Option<Vec<UiWidget>>) {
    let after = after.unwrap_or_default();
    let kept: HashSet<&str> = after.iter().map(|widget| widget.id.as_str()).collect();
    let known: HashMap<&str, &UiWidget> = before.iter().map(|widget| (widget.id.as_str(), widget)).collect();
    if let Some(widgets) = widgets {
        widgets.retain(|widget| kept.contains(widget.id.as_str()) || !known.contains_key(widget.id.as_str()));
    }
    let changed = after.iter().filter(|widget| known.get(widget.id.as_str()) != Some(widget)).cloned().collect();
    add_widgets(widgets, changed);
    if widgets.as_ref().is_some_and(Vec::is_empty) {
        *widgets = None;
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
    fn merging_keeps_values_that_the_newer_actions_do_not_set() {
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

    fn widgets(ids: &str) -> Vec<UiWidget> {
        ids.chars().map(|id| UiWidget { id: id.to_string(), ..UiWidget::default() }).collect()
    }

    fn ids_of(actions: &EventActions) -> String {
        actions.render_ui_widgets().unwrap_or_default().iter().map(|widget| widget.id.as_str()).collect()
    }

    #[test]
    fn merging_appends_widgets() {
        let mut older = EventActions::new();
        older.set_render_ui_widgets(Some(widgets("ab")));
        let mut newer = EventActions::new();
        newer.set_render_ui_widgets(Some(widgets("cbd")));
        older.merge(newer);
        assert_eq!(ids_of(&older), "abcbd");
        older.merge(EventActions::new());
        assert_eq!(ids_of(&older), "abcbd");
    }

    #[test]
    fn replaying_a_change_keeps_concurrently_added_widgets() {
        let check = |before: &str, after: &str, now: &str, expected: &str| {
            let [before, after, mut now] = [before, after, now].map(|ids| {
                let mut actions = EventActions::new();
                actions.set_render_ui_widgets((!ids.is_empty()).then(|| widgets(ids)));
                actions
            });
            now.replay(&before, after);
            assert_eq!(ids_of(&now), expected);
        };
        check("a", "ab", "ax", "axb");
        check("ab", "b", "abx", "bx");
        check("a", "", "ax", "x");
        check("", "a", "", "a");
        check("a", "", "a", "");
    }

    #[test]
    fn replaying_a_change_keeps_concurrent_changes() {
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
