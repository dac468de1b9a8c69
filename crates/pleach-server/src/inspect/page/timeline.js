// The events of a session, each with what it says and does.

import { get, post } from "./api.js";
import { button, el, notice, show, text, time, value } from "./dom.js";

const PAGE = 300;

export function timeline(view) {
  const rows = el("div", { class: "timeline" });
  const more = el("div", { class: "bar" });
  const element = el("div", null, rows, more);
  let entries = [];
  let next = 0;

  async function load(from, limit) {
    const page = await get(`${view.path}/timeline`, { from, limit });
    entries = entries.slice(0, from).concat(page.entries);
    next = page.next;
  }

  function draw() {
    const wanted = view.invocation;
    const shown = entries.filter((entry) => !wanted || entry.invocation === wanted);
    let last = null;
    const lines = [];
    for (const entry of shown) {
      if (entry.invocation !== last) {
        lines.push(el("div", { class: "divider" }, entry.invocation || "without an invocation"));
        last = entry.invocation;
      }
      lines.push(row(view, entry));
    }
    const open = new Set([...rows.querySelectorAll(".entry.open")].map((one) => one.dataset.event));
    show(rows, lines.length ? lines : el("p", { class: "empty" }, "No event."));
    for (const one of rows.querySelectorAll(".entry")) if (open.has(one.dataset.event)) one.querySelector(".by").click();
    show(more, next ? button(`Show ${PAGE} more`, async () => { await load(next, PAGE); draw(); }) : null);
  }

  return {
    element,
    async render() {
      const atEnd = entries.length > 0 && document.documentElement.scrollHeight - innerHeight - scrollY < 60;
      // All of it again: a rewind changes which events count.
      await load(0, Math.max(PAGE, entries.length + 50));
      draw();
      if (atEnd && !view.invocation) scrollTo(0, document.documentElement.scrollHeight);
    },
  };
}

function row(view, entry) {
  const by = entry.path || entry.author;
  const detail = el("div", { class: "detail", hidden: true });
  const isUser = !entry.path && entry.author === "user";
  const element = el(
    "article",
    { class: `entry${entry.effective ? "" : " undone"}${isUser ? " user" : ""}`, "data-event": entry.id },
    el("span", { class: "dim num" }, time(entry.time)),
    el("button", { type: "button", class: "by", title: `${entry.author} · ${entry.id}`, click: () => toggle() }, by),
    el("div", { class: "facts" }, entry.facts.map(fact)),
    detail,
  );
  async function toggle() {
    detail.hidden = !detail.hidden;
    element.classList.toggle("open", !detail.hidden);
    if (detail.hidden) return;
    try {
      const event = await get(`${view.path}/events/${encodeURIComponent(entry.id)}`);
      const fork = view.readOnly ? null : button("Fork here", () => forkAt(view, entry.id), { title: "Copy the session as it was behind this event" });
      show(detail, el("div", { class: "bar" }, el("span", { class: "dim" }, `event ${entry.id}, place ${entry.place}`), fork), el("pre", null, JSON.stringify(event, null, 2)));
    } catch (error) {
      notice(error.message, true);
    }
  }
  return element;
}

async function forkAt(view, event) {
  const made = await post(`${view.path}/forks`, { eventId: event });
  notice(`The fork is session ${made.id}.`);
  location.hash = `#/${[made.appName, made.userId, made.id].map(encodeURIComponent).join("/")}`;
}

const SHOWN = {
  says: (fact) => [el("span", { class: "said" }, fact.text)],
  thinks: (fact) => [label("thinks"), el("span", { class: "said dim" }, fact.text)],
  calls: (fact) => [label("calls"), el("b", null, fact.name), value(fact.args)],
  answers: (fact) => [label("answers"), el("b", null, fact.name || fact.id), value(fact.response)],
  asks: (fact) => [label("asks"), el("b", null, fact.message || fact.id)],
  shows: (fact) => [label("shows"), fact.bytes === null ? fact.what : `${fact.what}, ${fact.bytes} bytes`],
  gives: (fact) => [label("gives"), value(fact.output)],
  takes: (fact) => [label("takes"), el("b", null, text(fact.route))],
  sets: (fact) => [label("sets"), el("b", null, fact.key), " = ", value(fact.value)],
  saves: (fact) => [label("saves"), el("b", null, fact.file), ` version ${fact.version}`],
  transfers: (fact) => [label("transfers to"), el("b", null, fact.agent)],
  escalates: () => [label("escalates")],
  fails: (fact) => [label("fails"), el("b", null, fact.code), " ", fact.message],
  rewinds: (fact) => [label("rewinds to before"), el("b", null, fact.invocation)],
  summarises: () => [label("summarises earlier events")],
  ends: () => [label("ends")],
  notes: () => [label("notes progress")],
};

function label(word) {
  return el("span", { class: "label" }, word);
}

function fact(one) {
  const shown = Object.hasOwn(SHOWN, one.kind) ? SHOWN[one.kind](one) : [label(one.kind)];
  const kind = Object.hasOwn(SHOWN, one.kind) ? one.kind : "other";
  return el("div", { class: `fact ${kind}` }, shown);
}
