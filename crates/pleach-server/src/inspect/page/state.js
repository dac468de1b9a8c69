// Shows the keys of the state, with the events that changed them.

import { get } from "./api.js";
import { el, show, time, value } from "./dom.js";

export function state(view) {
  const element = el("div", { class: "state" });
  return {
    element,
    async render() {
      const { keys } = await get(`${view.path}/state`);
      if (!keys.length) {
        show(element, el("p", { class: "empty" }, "The state is empty."));
        return;
      }
      const open = new Set([...element.querySelectorAll("details.history[open]")].map((one) => one.dataset.key));
      const head = el("tr", null, ["key", "scope", "value", "changed by"].map((name) => el("th", null, name)));
      const rows = keys.map((key) => el("tr", null, el("td", null, el("b", null, key.key)), el("td", { class: "dim" }, key.scope), el("td", null, key.value === null && !key.changes.length ? "" : value(key.value)), el("td", null, history(view, key, open))));
      show(element, el("table", null, el("thead", null, head), el("tbody", null, rows)));
    },
  };
}

function history(view, key, open) {
  if (!key.changes.length) return el("span", { class: "dim" }, "set outside of this session's events");
  const last = key.changes.at(-1);
  const changes = key.changes.map((change) =>
    el(
      "li",
      { class: change.effective ? "" : "undone" },
      el("span", { class: "dim num" }, time(change.time)),
      " ",
      el("b", null, change.path || change.author),
      " ",
      value(change.value),
    ),
  );
  const outside = key.fromEvents ? null : el("span", { class: "dim" }, "set outside of this session's events; ");
  const count = key.changes.length === 1 ? "1 change" : `${key.changes.length} changes`;
  const summary = el("summary", null, outside, `${last.path || last.author}, ${time(last.time)} `, el("span", { class: "dim" }, `(${count})`));
  return el("details", { class: "history", "data-key": key.key, open: open.has(key.key) }, summary, el("ol", null, changes));
}
