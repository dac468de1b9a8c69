// Calls the JSON API of the inspector. Paths are relative, so that a proxy may serve the page under any path.

import { parse } from "./exact.js";

async function read(response) {
  const body = await response.text();
  let json = null;
  try {
    json = parse(body);
  } catch {
    // The reply is not JSON: it may come from a proxy.
  }
  if (response.ok) return json;
  const detail = typeof json?.detail === "string" ? json.detail : json?.detail ? JSON.stringify(json.detail) : body;
  throw new Error(`${response.status}: ${detail.slice(0, 500)}`);
}

function query(params) {
  const set = Object.entries(params ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return set.length ? `?${new URLSearchParams(set)}` : "";
}

export async function get(path, params) {
  return read(await fetch(`api/${path}${query(params)}`, { headers: { accept: "application/json" } }));
}

export async function post(path, body) {
  return read(await send(`api/${path}`, body));
}

function send(address, body) {
  return fetch(address, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(body),
  });
}

/** Creates a session. The request uses the API of the server, not the inspector's. */
export async function createSession(app, user, id) {
  const body = id ? { sessionId: id } : {};
  return read(await send(`../apps/${encodeURIComponent(app)}/users/${encodeURIComponent(user)}/sessions`, body));
}

/** Returns the path of a session. */
export function sessionPath({ app, user, session }) {
  const [a, u, s] = [app, user, session].map(encodeURIComponent);
  return `apps/${a}/users/${u}/sessions/${s}`;
}

/** Returns the address of the stream of a session's new events. */
export function livePath(key, after) {
  return `api/${sessionPath(key)}/live${query({ after })}`;
}

/** Returns the address of a session's picture as an SVG document. */
export function pictureAddress(key, invocation) {
  return `api/${sessionPath(key)}/picture${query({ invocation, format: "svg" })}`;
}
