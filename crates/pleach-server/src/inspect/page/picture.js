// Draws the workflow as boxes and lines, with the status of each node. The server computes the layout.

import { get, pictureAddress } from "./api.js";
import { el, show, svg } from "./dom.js";

export function picture(view) {
  const element = el("div", { class: "picture" });
  return {
    element,
    async render() {
      const drawn = view.shown
        ? await get(`${view.path}/picture`, { invocation: view.shown.id })
        : await planned(view);
      if (!drawn) {
        show(element, el("p", { class: "empty" }, "Nothing to draw: no node has run."));
        return;
      }
      const note = drawn.source === "runs" ? "Read from the runs: a line leads to what ran next, and nodes that did not run are missing." : "The workflow of the app.";
      const file = view.shown ? el("a", { href: pictureAddress(view.key, view.shown.id), target: "_blank" }, "as SVG") : null;
      show(element, el("p", { class: "dim" }, note, " ", file), el("div", { class: "frame" }, draw(drawn.picture, (path) => open(view, path))));
    },
  };
}

/** Returns the picture of the app's workflow, which has not run in this session. */
async function planned(view) {
  return view.readOnly ? null : get(`apps/${encodeURIComponent(view.key.app)}/picture`);
}

function open(view, path) {
  view.views.runs.select(path);
  view.choose(view.invocation, "runs");
}

function draw({ width, height, boxes, edges }, choose) {
  const arrow = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z", class: "tip" }));
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "The workflow" },
    svg("defs", null, arrow),
    boxes.map((one) => box(one, choose)),
    edges.map(edge),
  );
}

const STATUSES = ["done", "waiting", "failed", "started"];

function box(one, choose) {
  const { x, y, width, height, kind, name, detail, path } = one;
  const middle = x + width / 2;
  const kinds = `box ${kind} ${STATUSES.includes(one.status) ? one.status : "idle"}`;
  if (kind === "start") return svg("circle", { cx: middle, cy: y + height / 2, r: width / 2, class: kinds }, svg("title", null, name));
  const shape = kind === "join"
    ? svg("path", { d: `M${x} ${y + height / 2} L${x + 14} ${y} H${x + width - 14} L${x + width} ${y + height / 2} L${x + width - 14} ${y + height} H${x + 14} Z` })
    : svg("rect", { x, y, width, height, rx: 7 });
  const line = y + (detail || kind === "group" ? 18 : 26);
  return svg(
    "g",
    { class: path ? `${kinds} link` : kinds, click: path ? () => choose(path) : null, "data-name": name },
    shape,
    svg("text", { x: middle, y: line, class: "name" }, name),
    detail ? svg("text", { x: middle, y: y + 32, class: "detail" }, detail) : null,
    svg("title", null, path ?? name),
  );
}

function edge({ points, label }) {
  const line = svg("polyline", { points: points.map(([x, y]) => `${x},${y}`).join(" "), class: "edge", "marker-end": "url(#arrow)" });
  if (!label || points.length < 2) return line;
  const place = Math.floor(points.length / 2);
  const [[x1, y1], [x2, y2]] = [points[place - 1], points[place]];
  return svg("g", null, line, svg("text", { x: (x1 + x2) / 2, y: (y1 + y2) / 2, class: "route" }, label));
}
