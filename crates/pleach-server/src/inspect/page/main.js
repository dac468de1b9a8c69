// Shows the view that the address names: the sessions of an app, or one session.

import { get } from "./api.js";
import { el, notice, show } from "./dom.js";
import { home } from "./home.js";
import { session } from "./session.js";

const main = document.getElementById("main");
const crumbs = document.getElementById("crumbs");
let leave = null;

/** Reads an address such as `#/app/user/session?tab=runs`. */
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const words = path.split("/").filter(Boolean).map(decode);
  return { words, params: new URLSearchParams(query ?? "") };
}

function decode(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

function link(label, ...words) {
  return el("a", { href: `#/${words.map(encodeURIComponent).join("/")}` }, label);
}

async function open() {
  leave?.();
  leave = null;
  const { words, params } = place();
  const [app, user, id] = words;
  const parts = [app && link(app, app), user && id && el("span", null, user), id && link(id, app, user, id)];
  show(crumbs, parts.filter(Boolean).flatMap((part) => [el("i", null, "/"), part]));
  document.title = [id, app, "pleach inspector"].filter(Boolean).join(" · ");
  try {
    leave = words.length >= 3 ? await session(main, { app, user, session: id }, params) : await home(main, app);
  } catch (error) {
    show(main, el("p", { class: "empty error" }, error.message));
  }
}

let queue = Promise.resolve();
const next = () => (queue = queue.then(open));
addEventListener("hashchange", next);
addEventListener("unhandledrejection", (event) => notice(String(event.reason?.message ?? event.reason), true));
get("config").then((config) => {
  document.getElementById("mode").textContent = config.readOnly ? "read only" : "";
}, (error) => notice(error.message, true));
next();
