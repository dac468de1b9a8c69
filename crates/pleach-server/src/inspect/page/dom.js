// Makes elements. All contents of events become text nodes: nothing here reads markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Makes an element. In `props`, functions become listeners and all other values attributes. Children are strings or elements. */
export function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** Makes an SVG element. */
export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/** Replaces the children of an element. */
export function show(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
}

/** Returns a time as text: the time of day, and also the day if it is not today. `seconds` are since the epoch. */
export function time(seconds) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return String(seconds);
  const two = (number) => String(number).padStart(2, "0");
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return date.toDateString() === new Date().toDateString() ? clock : `${day} ${clock}`;
}

/** Returns a duration as text. */
export function duration(seconds) {
  if (!(seconds >= 0)) return "";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Returns a number and what is counted, such as `2 events`. */
export function count(number, thing) {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}

/** Returns a value as text: a string unchanged, all other values as JSON. */
export function text(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Shows a value on one line. A click on a long value shows all of it. */
export function value(of, most = 160) {
  const short = text(of) ?? "null";
  if (short.length <= most && !short.includes("\n")) return el("code", { class: "value" }, short);
  const long = typeof of === "string" ? of : JSON.stringify(of, null, 2);
  const cut = short.slice(0, most).replaceAll("\n", " ");
  return el("details", { class: "value" }, el("summary", null, el("code", null, `${cut}…`)), el("pre", null, long));
}

/** Shows a status as a word with a colour. */
export function status(name) {
  return el("span", { class: `status ${STATUSES.includes(name) ? name : ""}` }, name ?? "");
}

const STATUSES = ["done", "waiting", "failed", "started", "undone", "aborted"];

let hiding;

/** Shows a message for some time. */
export function notice(message, isError = false) {
  const place = document.getElementById("notice");
  place.textContent = message;
  place.className = isError ? "shown error" : "shown";
  clearTimeout(hiding);
  hiding = setTimeout(() => (place.className = ""), isError ? 12000 : 4000);
}

/** Makes a button that calls `work`. While that runs, the button is disabled. If it fails, the reason is shown. */
export function button(label, work, props) {
  const element = el("button", { type: "button", ...props }, label);
  element.addEventListener("click", async () => {
    element.disabled = true;
    try {
      await work();
    } catch (error) {
      notice(error.message, true);
    } finally {
      element.disabled = false;
    }
  });
  return element;
}
