// Shows the apps, and the sessions of one app.

import { createSession, get } from "./api.js";
import { button, count as counted, el, show, time } from "./dom.js";

export async function home(main, wanted) {
  const { apps } = await get("apps");
  if (!apps.length) {
    show(main, el("p", { class: "empty" }, "No app has sessions here."));
    return null;
  }
  const app = apps.find((one) => one.name === wanted) ?? (wanted ? { name: wanted, readOnly: true } : apps[0]);
  const list = el("div", { class: "sessions" });
  const count = el("span", { class: "dim" });
  const search = el("input", { type: "search", placeholder: "Search by user or session", "aria-label": "Search" });
  let latest = 0;
  const load = async () => {
    const number = ++latest;
    const found = await get(`apps/${encodeURIComponent(app.name)}/sessions`, { search: search.value });
    if (number === latest) render(list, count, found);
  };
  let typing;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(load, 150);
  });
  const names = apps.map((one) => {
    const label = one.readOnly ? `${one.name} (read only)` : one.name;
    return el("a", { href: `#/${encodeURIComponent(one.name)}`, class: one.name === app.name ? "on" : "" }, label);
  });
  show(
    main,
    el(
      "div",
      { class: "columns" },
      el("nav", { class: "side", "aria-label": "Apps" }, el("h2", null, "Apps"), names),
      el(
        "section",
        { class: "wide" },
        el("div", { class: "bar" }, el("h2", null, app.name), count, search, button("Reload", load)),
        app.readOnly ? null : creation(app),
        list,
      ),
    ),
  );
  await load();
  return null;
}

function render(list, count, { sessions, total }) {
  count.textContent = total === sessions.length ? counted(total, "session") : `the newest ${sessions.length} of ${total} sessions`;
  if (!sessions.length) {
    show(list, el("p", { class: "empty" }, "No session."));
    return;
  }
  const rows = sessions.map((one) => {
    const address = `#/${[one.appName, one.userId, one.id].map(encodeURIComponent).join("/")}`;
    return el(
      "tr",
      null,
      el("td", { class: "dim num" }, time(one.lastUpdateTime)),
      el("td", null, one.userId),
      el("td", null, el("a", { href: address }, one.id)),
    );
  });
  const head = el("tr", null, el("th", null, "last activity"), el("th", null, "user"), el("th", null, "session"));
  show(list, el("table", null, el("thead", null, head), el("tbody", null, rows)));
}

/** A form that creates a session. */
function creation(app) {
  const user = el("input", { placeholder: "user", "aria-label": "User", value: "user", required: true, size: 14 });
  const id = el("input", { placeholder: "id (made if empty)", "aria-label": "Id of the session", size: 22 });
  const make = button("New session", async () => {
    const made = await createSession(app.name, user.value, id.value);
    location.hash = `#/${[made.appName, made.userId, made.id].map(encodeURIComponent).join("/")}`;
  });
  return el("div", { class: "bar new" }, user, id, make);
}
