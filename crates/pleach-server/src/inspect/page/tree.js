// Shows the runs of an invocation's nodes, with a bar for the time of each run.

import { get } from "./api.js";
import { count, duration, el, show, status, text, time, value } from "./dom.js";

const MOST = 2000;
/** How many turns are shown for one run. */
const TURNS = 200;
/** Bars and borders closer than this part of the time line are joined. */
const GRAIN = 1 / 1000;
const STATUSES = ["done", "waiting", "failed", "started"];
const SIGNS = { executed: "ran", answered: "answered", replayed: "replayed", waited: "waited" };

export function tree(view) {
  const element = el("div", { class: "tree" });
  const closed = new Set();
  let chosen = null;
  let current = null;

  function draw() {
    if (!current || !current.runs.length) {
      show(element, el("p", { class: "empty" }, "No node has run. Agents of older versions of google-adk leave no runs: see the timeline."));
      return;
    }
    const scale = new Scale(current.turns);
    const lines = [];
    let hidden = null;
    for (const [at, run] of current.runs.slice(0, MOST).entries()) {
      if (hidden !== null && run.depth > hidden) continue;
      hidden = closed.has(run.path) ? run.depth : null;
      lines.push(line(run, at, scale));
      if (run.path === chosen) lines.push(detail(run));
    }
    const left = current.runs.length - MOST;
    show(
      element,
      head(current),
      el("div", { class: "runs", role: "tree" }, scale.background(), lines),
      left > 0 ? el("p", { class: "empty" }, `${left} more runs are not shown.`) : null,
    );
  }

  function line(run, at, scale) {
    const hasInner = current.runs[at + 1]?.depth > run.depth;
    const failed = run.attempts.filter((attempt) => attempt.error).length;
    const fold = el("button", { type: "button", class: "fold", "aria-label": "Fold", click: (event) => {
      event.stopPropagation();
      if (!closed.delete(run.path)) closed.add(run.path);
      draw();
    } }, hasInner ? (closed.has(run.path) ? "▸" : "▾") : "");
    const name = el("span", { class: "name" }, fold, run.name, run.runId && run.runId !== "1" ? el("span", { class: "dim" }, `@${run.runId}`) : null);
    name.style.paddingLeft = `${run.depth * 16}px`;
    const works = current.turns.length > 1 ? spans(run.turns).slice(0, TURNS).map(word) : null;
    return el(
      "div",
      { class: run.path === chosen ? "run on" : "run", role: "treeitem", tabindex: 0, title: run.path, "data-path": run.path, click: () => choose(run), keydown: (event) => event.key === "Enter" && choose(run) },
      name,
      status(run.status),
      el("span", { class: "dim num" }, duration(run.seconds)),
      el("span", { class: "works" }, failed ? el("span", { class: "work failed" }, `${failed} failed`) : null, works),
      scale.bars(run),
    );
  }

  function choose(run) {
    chosen = chosen === run.path ? null : run.path;
    draw();
  }

  return {
    element,
    async render() {
      current = view.shown ? await get(`${view.path}/tree`, { invocation: view.shown.id }) : null;
      draw();
    },
    select(path) {
      chosen = path;
    },
  };
}

/** Joins consecutive turns with the same kind of work. */
function spans(turns) {
  const joined = [];
  for (const { first, last, work } of turns) {
    const before = joined.at(-1);
    if (before?.work === work) before.last = last;
    else joined.push({ first, last, work });
  }
  return joined;
}

function word({ first, last, work }) {
  const turns = first === last ? `${first}` : `${first}–${last}`;
  return el("span", { class: `work ${SIGNS[work] ? work : ""}`, title: `turn ${turns}: ${work}` }, `${turns} ${SIGNS[work] ?? work}`);
}

function head(tree) {
  const turns = tree.turns.slice(-TURNS).map((turn) => {
    const what = turn.answers.length ? `answers ${turn.answers.join(", ")}` : turn.message || "begins";
    return el("li", null, el("b", null, `turn ${turn.number} `), el("span", { class: "dim" }, `${time(turn.began)} `), what);
  });
  const left = tree.turns.length - turns.length;
  const list = turns.length > 1 ? el("ol", null, left > 0 ? el("li", { class: "dim" }, `${left} earlier turns`) : null, turns) : null;
  return el("div", { class: "head" }, el("span", { class: "dim" }, tree.invocation), tree.effective ? null : status("undone"), list);
}

function detail(run) {
  const facts = [];
  const add = (name, ...shown) => facts.push(el("dt", null, name), el("dd", null, shown));
  add("path", el("code", null, run.path));
  add("time", `${time(run.began)} – ${time(run.ended)}, ${duration(run.seconds)} of work, ${count(run.events, "event")} of its own`);
  if (run.output !== null) add("output", value(run.output, 400));
  if (run.route !== null) add("route", text(run.route));
  if (run.transfer !== null) add("transfers to", run.transfer);
  for (const [id, answer] of Object.entries(run.answers)) add(`answer ${id}`, value(answer));
  if (run.open.length) add("waits for", run.open.join(", "));
  run.turns.slice(-TURNS).forEach((work) => {
    const turns = work.first === work.last ? `turn ${work.first}` : `turns ${work.first}–${work.last}`;
    add(turns, MEANINGS[work.work] ?? work.work, work.began === null ? "" : `, ${duration(work.ended - work.began)}`);
  });
  if (run.attempts.length > 1 || run.attempts.some((attempt) => attempt.error)) {
    run.attempts.forEach((attempt, number) => {
      const end = attempt.error ? [el("b", { class: "error" }, attempt.error), " ", attempt.message ?? ""] : ["no error"];
      add(`attempt ${number + 1}`, `${duration(attempt.ended - attempt.began)}: `, ...end);
    });
  }
  return el("dl", { class: "rundetail" }, facts);
}

const MEANINGS = {
  executed: "executed: it wrote events",
  answered: "answered: it ended with the answer that it had asked for",
  replayed: "replayed: its result was read from the log, and its code did not run",
  waited: "waited: this turn brought no answer for it",
};

/** Maps times to places on a time line. The line has only the turns, without the time between them. */
class Scale {
  constructor(turns) {
    this.turns = new Map();
    let offset = 0;
    for (const turn of turns) {
      const length = Math.max(turn.ended - turn.began, 0);
      this.turns.set(turn.number, { began: turn.began, offset });
      offset += length;
    }
    this.total = offset || 1;
    this.borders = [];
    for (const turn of turns.slice(1)) {
      const place = this.turns.get(turn.number).offset / this.total;
      if (place - (this.borders.at(-1) ?? -1) >= GRAIN * 2) this.borders.push(place);
    }
  }

  /** The borders between turns, drawn once for all runs. They are a row in the background whose last cell is as high as all rows together. */
  background() {
    if (!this.borders.length) return null;
    const marks = this.borders.map((border) => {
      const mark = el("i", { class: "border" });
      mark.style.left = `${border * 100}%`;
      return mark;
    });
    return el("div", { class: "run borders", "aria-hidden": "true" }, el("span"), el("span"), el("span"), el("span"), el("span", { class: "bars" }, marks));
  }

  bars(run) {
    const line = el("span", { class: "bars" });
    for (const [from, to] of this.times(run)) {
      const bar = el("i", { class: `bar1 ${STATUSES.includes(run.status) ? run.status : ""}` });
      bar.style.left = `${Math.min(from, 1) * 100}%`;
      bar.style.width = `${(to - from) * 100}%`;
      line.append(bar);
    }
    return line;
  }

  /** Returns the times of a run as parts of the time line. Times that touch are joined. */
  times(run) {
    const times = [];
    for (const work of run.turns) {
      const turn = this.turns.get(work.first);
      if (work.began === null || !turn) continue;
      const from = Math.max(turn.offset + work.began - turn.began, 0) / this.total;
      const to = from + Math.max((work.ended - work.began) / this.total, 0);
      const before = times.at(-1);
      if (before && from - before[1] < GRAIN) before[1] = Math.max(before[1], to);
      else times.push([from, to]);
    }
    return times;
  }
}
