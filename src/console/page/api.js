// The relay's answers. The token of acts lives in this module's memory only, and is forgotten after 15 idle minutes.

const IDLE_MS = 15 * 60 * 1000;
let token = null;
let forget = null;

export class Problem extends Error {
  constructor(body) {
    super(body.detail || body.title || "no answer");
    this.status = body.status || 0;
    this.remedy = body.remedy || "";
    this.now = body.now;
  }
}

export const hasToken = () => token !== null;

export function keepToken(text) {
  token = text;
  touch();
}

export function dropToken() {
  token = null;
  clearTimeout(forget);
}

function touch() {
  clearTimeout(forget);
  if (token !== null) forget = setTimeout(dropToken, IDLE_MS);
}
for (const kind of ["keydown", "pointerdown"]) addEventListener(kind, touch, { passive: true });

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch("/api/v1" + path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ detail: "the relay does not answer", remedy: "is it running, and can this browser reach it?" });
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem({ status: answer.status, ...body });
  return body;
}

export const get = (path, signal) => ask(path, { signal });

function send(method, path, body, authorized) {
  const headers = { "Content-Type": "application/json", "Seriatim-Console": "1" };
  if (authorized && token !== null) headers.Authorization = "Bearer " + token;
  touch();
  return ask(path, { method, headers, body: JSON.stringify(body || {}) });
}

export const of = (process) => "/processes/" + encodeURIComponent(process);

export const login = (text) => send("POST", "/session", { token: text }, false);
export const logout = () => send("DELETE", "/session", {}, false);
export const act = (process, order) => send("POST", of(process) + "/acts", order, true);
export const reveal = (process, row, reason) => send("POST", of(process) + "/reveal", { row, reason }, true);
export const recount = (process) => send("POST", of(process) + "/recounts", {}, true);
export const endRecount = (process) => send("DELETE", of(process) + "/recounts", {}, true);
