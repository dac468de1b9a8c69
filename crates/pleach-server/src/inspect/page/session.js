// Shows one session: a list of its invocations, and next to it the chosen view. The session is read again when it has
// new events.

import { get, livePath, post, sessionPath } from "./api.js";
import { button, count, duration, el, notice, show, status, time } from "./dom.js";
import { picture } from "./picture.js";
import { questions } from "./questions.js";
import { state } from "./state.js";
import { timeline } from "./timeline.js";
import { tree } from "./tree.js";

/** The first and the longest pause before a refused stream is tried again, in milliseconds. */
const FIRST_PAUSE = 2500;
const LAST_PAUSE = 60000;
const TABS = { timeline: "Timeline", runs: "Runs", picture: "Picture", state: "State" };

export async function session(main, key, params) {
  const view = new SessionView(main, key, params);
  await view.open();
  return () => view.close();
}

class SessionView {
  constructor(main, key, params) {
    this.main = main;
    this.key = key;
    this.tab = params.get("tab") in TABS ? params.get("tab") : "timeline";
    this.invocation = params.get("invocation");
    this.follows = true;
    this.views = { timeline: timeline(this), runs: tree(this), picture: picture(this), state: state(this) };
    this.asked = questions(this);
    this.list = el("div", { class: "invocations" });
    this.head = el("div", { class: "bar" });
    this.content = el("div", { class: "content" });
    this.partial = el("div", { class: "partial", hidden: true });
    this.live = el("span", { class: "live off", title: "not connected" }, "live");
    this.tabs = el("div", { class: "tabs", role: "tablist" });
  }

  get path() {
    return sessionPath(this.key);
  }

  get readOnly() {
    return this.summary?.readOnly ?? true;
  }

  async open() {
    this.summary = await get(this.path);
    const side = el("aside", { class: "side" }, el("h2", null, "Invocations"), this.list);
    const wide = el("section", { class: "wide" }, this.head, this.asked.element, this.tabs, this.content, this.partial);
    if (!this.readOnly) wide.append(this.composer());
    show(this.main, el("div", { class: "columns" }, side, wide));
    await this.render();
    this.connect();
  }

  close() {
    this.closed = true;
    this.source?.close();
    clearTimeout(this.timer);
    clearTimeout(this.retry);
  }

  /** Follows the session. The stream shows only that there are new events. */
  connect() {
    if (this.closed) return;
    this.source = new EventSource(livePath(this.key, this.summary.lastEvent));
    this.source.onopen = () => {
      this.pause = FIRST_PAUSE;
      this.mark(true, "connected");
    };
    this.source.onerror = () => this.lost();
    this.source.onmessage = (message) => this.news(JSON.parse(message.data));
  }

  /** Connects again after the stream has failed. A browser does that itself, unless the reply was an error. */
  lost() {
    this.mark(false, "not connected");
    if (this.closed || this.source.readyState !== EventSource.CLOSED) return;
    this.pause = Math.min((this.pause ?? FIRST_PAUSE) * 2, LAST_PAUSE);
    this.retry = setTimeout(() => {
      this.refreshSoon();
      this.connect();
    }, this.pause);
  }

  mark(on, title) {
    this.live.className = on ? "live" : "live off";
    this.live.title = title;
  }

  news(block) {
    if (block.partial) {
      this.partial.hidden = false;
      const by = block.partial.path || block.partial.author;
      const same = this.partialBy === by;
      this.partialBy = by;
      this.partialText = (same ? this.partialText : "") + block.partial.text;
      show(this.partial, el("b", null, by), " ", this.partialText);
      return;
    }
    if (block.wait) {
      const wait = block.wait;
      this.partial.hidden = false;
      this.partialText = "";
      const why = `${wait.status ?? ""} ${wait.code}`.trim();
      show(this.partial, el("b", null, wait.path || wait.author), ` waits ${count(Math.ceil(wait.seconds), "second")} for ${wait.model}, attempt ${wait.attempt} failed: ${why}`);
      return;
    }
    if (block.error) notice(text(block.error), true);
    this.refreshSoon();
  }

  refreshSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), 120);
  }

  async refresh() {
    if (this.closed || this.refreshing) {
      this.again = this.refreshing;
      return;
    }
    this.refreshing = true;
    try {
      this.summary = await get(this.path);
      this.partial.hidden = true;
      this.partialText = "";
      await this.render();
    } catch (error) {
      notice(error.message, true);
    } finally {
      this.refreshing = false;
    }
    if (this.again) {
      this.again = false;
      this.refreshSoon();
    }
  }

  /** The invocation that the runs and the picture show: the chosen one, or the last one. */
  get shown() {
    const all = this.summary.invocations;
    return all.find((one) => one.id === this.invocation) ?? all.at(-1);
  }

  choose(invocation, tab = this.tab) {
    this.invocation = invocation;
    this.tab = tab;
    const params = new URLSearchParams({ tab });
    if (invocation) params.set("invocation", invocation);
    const words = [this.key.app, this.key.user, this.key.session].map(encodeURIComponent).join("/");
    history.replaceState(null, "", `#/${words}?${params}`);
    return this.render();
  }

  async render() {
    const { summary } = this;
    show(
      this.head,
      el("h2", null, summary.id),
      el("span", { class: "dim" }, `${summary.userId} · ${count(summary.eventCount, "event")} · ${time(summary.lastUpdateTime)}`),
      this.live,
      el("span", { class: "grow" }),
      this.resume(),
      button("Reload", () => this.refresh()),
    );
    this.renderInvocations();
    this.asked.render(summary.openQuestions);
    const tabs = Object.entries(TABS).map(([name, label]) => {
      const on = name === this.tab;
      return el("button", { type: "button", role: "tab", "aria-selected": on ? "true" : "false", click: () => this.choose(this.invocation, name) }, label);
    });
    show(this.tabs, tabs);
    const view = this.views[this.tab];
    if (this.content.firstChild !== view.element) show(this.content, view.element);
    try {
      await view.render();
    } catch (error) {
      // Only this view has failed. The others can still be chosen.
      show(this.content, el("p", { class: "empty error" }, error.message));
    }
  }

  renderInvocations() {
    const all = this.summary.invocations;
    if (!all.length) {
      show(this.list, el("p", { class: "empty" }, "None yet."));
      return;
    }
    const rows = [...all].reverse().map((one) => {
      const on = this.invocation ? one.id === this.invocation : false;
      return el(
        "button",
        { type: "button", class: on ? "row on" : "row", title: one.id, click: () => this.choose(on ? null : one.id) },
        el("span", { class: "line" }, status(one.effective ? (one.aborted ? "aborted" : one.status) : "undone"), el("span", { class: "dim" }, time(one.began))),
        el("span", { class: "message" }, one.message || one.id),
        el("span", { class: "dim" }, `${count(one.events, "event")}, ${duration(one.ended - one.began)}`),
      );
    });
    show(this.list, rows);
  }

  /** A button that resumes the shown invocation, if that can be resumed. */
  resume() {
    const shown = this.shown;
    if (this.readOnly || !shown?.effective || shown.aborted || !["started", "failed"].includes(shown.status)) return null;
    const work = () => this.move({ resume: shown.id });
    return button("Resume", work, { title: "Continue this invocation. Nodes that are done are not run again." });
  }

  async move(body) {
    const moved = await post(`${this.path}/moves`, body);
    this.refreshSoon();
    return moved;
  }

  composer() {
    const input = el("textarea", { rows: 1, placeholder: "Send a message", "aria-label": "Message" });
    const send = button("Send", async () => {
      if (!input.value.trim()) return;
      await this.move({ message: input.value });
      input.value = "";
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        send.click();
      }
    });
    return el("div", { class: "composer" }, input, send);
  }
}

function text(error) {
  return typeof error === "string" ? error : JSON.stringify(error);
}
