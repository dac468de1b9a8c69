// Shows the events of a session, with the text and the facts of each.

import { get, post } from "./api.js";
import { button, el, notice, show, text, time, value } from "./dom.js";

const PAGE = 300;

export function timeline(view) {
  const more = el("div", { class: "bar" });
  const rows = el("div", { class: "timeline" });
  const element = el("div", null, more, rows);
  // The part of the timeline that is shown. It ends with the newest event.
  let shown = null;

  /** Reads the newest events. */
  async function open() {
    const invocation = view.invocation;
    const page = await get(`${view.path}/timeline`, { before: Number.MAX_SAFE_INTEGER, limit: Math.max(PAGE, shown?.count ?? 0), invocation });
    const open = new Set([...rows.querySelectorAll(".entry.open")].map((one) => one.dataset.event));
    shown = { invocation, undone: undone(), previous: page.previous, count: 0, last: null, next: 0 };
    rows.replaceChildren();
    append(page.entries);
    for (const one of rows.querySelectorAll(".entry")) if (open.has(one.dataset.event)) one.querySelector(".by").click();
  }

  /** Returns the ids of the invocations that were undone, as one string. */
  function undone() {
    return view.summary.invocations.flatMap((one) => (one.effective ? [] : [one.id])).join(" ");
  }

  /** Reads the events after the newest one that is shown. Returns true if all events must be read again. */
  async function follow() {
    const page = await get(`${view.path}/timeline`, { from: shown.next, limit: PAGE, invocation: view.invocation });
    const rewinds = page.entries.some((entry) => entry.facts.some((one) => one.kind === "rewinds"));
    if (rewinds || page.next !== null || page.total < shown.count) return true;
    append(page.entries);
    return false;
  }

  function append(entries) {
    for (const entry of entries) {
      if (entry.invocation !== shown.last) rows.append(divider(entry));
      rows.append(row(view, entry));
      shown.last = entry.invocation;
      shown.next = entry.place + 1;
    }
    shown.count += entries.length;
  }

  async function earlier() {
    const page = await get(`${view.path}/timeline`, { before: shown.previous, limit: PAGE, invocation: view.invocation });
    const height = document.documentElement.scrollHeight;
    const first = rows.querySelector(".divider")?.textContent;
    const lines = [];
    let last = null;
    for (const entry of page.entries) {
      const line = divider(entry);
      if (entry.invocation !== last) lines.push(line);
      last = entry.invocation;
      lines.push(row(view, entry));
    }
    if (page.entries.length && divider(page.entries.at(-1)).textContent === first) rows.firstChild.remove();
    rows.prepend(...lines);
    shown.previous = page.previous;
    shown.count += page.entries.length;
    // The rows that were visible stay in place.
    scrollBy(0, document.documentElement.scrollHeight - height);
    draw();
  }

  function draw() {
    show(more, shown.previous === null ? null : button(`Show ${PAGE} earlier`, earlier));
    if (!shown.count) show(rows, el("p", { class: "empty" }, "No event."));
  }

  return {
    element,
    async render() {
      const follows = shown?.count > 0 && shown.invocation === view.invocation && shown.undone === undone();
      const atEnd = follows && document.documentElement.scrollHeight - innerHeight - scrollY < 60;
      // If the new events include a rewind or are more than one page, all events are read again.
      if (!follows || (await follow())) await open();
      draw();
      if (atEnd) scrollTo(0, document.documentElement.scrollHeight);
    },
  };
}

function divider(entry) {
  return el("div", { class: "divider" }, entry.invocation || "without an invocation");
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
      const fork = view.readOnly ? null : button("Fork here", () => forkAt(view, entry.id), { title: "Copy the session as it was right after this event" });
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
  rewinds: (fact) => [label(fact.first ? "rewinds to before event" : "rewinds to before"), el("b", null, fact.first ?? fact.invocation)],
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
