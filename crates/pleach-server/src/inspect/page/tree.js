// The runs of an invocation's nodes, with a bar for the time of each.

import { get } from "./api.js";
import { count, duration, el, show, status, text, time, value } from "./dom.js";

const MOST = 2000;
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
    for (const run of current.runs.slice(0, MOST)) {
      if (hidden !== null && run.depth > hidden) continue;
      hidden = closed.has(run.path) ? run.depth : null;
      lines.push(line(run, scale));
      if (run.path === chosen) lines.push(detail(run));
    }
    const left = current.runs.length - MOST;
    show(
      element,
      head(current),
      el("div", { class: "runs", role: "tree" }, lines),
      left > 0 ? el("p", { class: "empty" }, `${left} more runs are not shown.`) : null,
    );
  }

  function line(run, scale) {
    const at = current.runs.indexOf(run);
    const hasInner = current.runs[at + 1]?.depth > run.depth;
    const failed = run.attempts.filter((attempt) => attempt.error).length;
    const fold = el("button", { type: "button", class: "fold", "aria-label": "Fold", click: (event) => {
      event.stopPropagation();
      if (!closed.delete(run.path)) closed.add(run.path);
      draw();
    } }, hasInner ? (closed.has(run.path) ? "▸" : "▾") : "");
    const name = el("span", { class: "name" }, fold, run.name, run.runId && run.runId !== "1" ? el("span", { class: "dim" }, `@${run.runId}`) : null);
    name.style.paddingLeft = `${run.depth * 16}px`;
    const works = run.turns.length > 1 || run.turns[0]?.turn > 1
      ? run.turns.map((work) => el("span", { class: `work ${SIGNS[work.work] ? work.work : ""}`, title: `turn ${work.turn}: ${work.work}` }, `${work.turn} ${SIGNS[work.work] ?? work.work}`))
      : null;
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

function head(tree) {
  const turns = tree.turns.map((turn) => {
    const what = turn.answers.length ? `answers ${turn.answers.join(", ")}` : turn.message || "begins";
    return el("li", null, el("b", null, `turn ${turn.number} `), el("span", { class: "dim" }, `${time(turn.began)} `), what);
  });
  return el("div", { class: "head" }, el("span", { class: "dim" }, tree.invocation), tree.effective ? null : status("undone"), turns.length > 1 ? el("ol", null, turns) : null);
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
  run.turns.forEach((work) => add(`turn ${work.turn}`, MEANINGS[work.work] ?? work.work, work.began === null ? "" : `, ${duration(work.ended - work.began)}`));
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
  waited: "waited for an answer that this turn did not bring",
};

/** Places of times on a line on which the turns follow each other without the time between them. */
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
    this.borders = turns.slice(1).map((turn) => this.turns.get(turn.number).offset / this.total);
  }

  bars(run) {
    const line = el("span", { class: "bars" });
    for (const border of this.borders) {
      const mark = el("i", { class: "border" });
      mark.style.left = `${border * 100}%`;
      line.append(mark);
    }
    for (const work of run.turns) {
      const turn = this.turns.get(work.turn);
      if (work.began === null || !turn) continue;
      const from = Math.max(turn.offset + work.began - turn.began, 0) / this.total;
      const bar = el("i", { class: `bar1 ${run.status}` });
      bar.style.left = `${Math.min(from, 1) * 100}%`;
      bar.style.width = `${Math.max((work.ended - work.began) / this.total, 0) * 100}%`;
      line.append(bar);
    }
    return line;
  }
}
