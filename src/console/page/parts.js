// Pieces that several pages show.
import { button, h } from "./dom.js";
import { clock, word } from "./format.js";

/** Each state has a shape, so that no state is told by its colour alone. */
const SHAPES = {
  running: ["M3 2l7.5 4L3 10z", "good"],
  idle: ["M6 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8zm0 1.6a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8z", "good"],
  halted: ["M2 2h8v8H2z", "bad"],
  retrying: ["M6 1.2l5 9.3H1z", "warn"],
  paused: ["M2.5 2h2.6v8H2.5zM6.9 2h2.6v8H6.9z", "warn"],
  fenced: ["M2 2h1.5v2h1.75V2h1.5v2H8.5V2H10v8H8.5V8H6.75v2h-1.5V8H3.5v2H2zm1.5 3.5v1h5v-1z", "warn"],
  standby: ["M6 1l5 5-5 5-5-5zM6 3.1L3.1 6 6 8.9 8.9 6z", "warn"],
};
const OTHER = ["M2 5h8v2H2z", "warn"];

export function shape(state) {
  const [path, tone] = SHAPES[state] || OTHER;
  return h("svg", { class: `shape ${tone}`, viewBox: "0 0 12 12", "aria-hidden": "true" }, h("path", { d: path, "fill-rule": "evenodd" }));
}

export const tone = (state) => (SHAPES[state] || OTHER)[1];
export const stateWord = (state, text) => h("span", { class: `state ${tone(state)}` }, shape(state), text || state);

export const link = (href, ...children) => h("a", { href }, ...children);
export const processPath = (name, tab) => `/p/${encodeURIComponent(name)}${tab ? `?tab=${tab}` : ""}`;
export const rowPath = (name, id) => `/p/${encodeURIComponent(name)}/row?id=${encodeURIComponent(id)}`;
export const time = (at) => (at ? h("time", { datetime: at, title: at }, clock(at)) : h("span.quiet", "never"));

/** A table with a caption; a column whose text begins with > holds numbers. */
export function table(caption, columns, body, props) {
  return h("div.scroll", { tabindex: "0", role: "region", "aria-label": caption, ...props }, h("table", h("caption.unseen", caption),
    h("thead", h("tr", columns.map((text) => (text[0] === ">" ? h("th.number", { scope: "col" }, text.slice(1)) : h("th", { scope: "col" }, text))))),
    h("tbody", body)));
}

export const empty = (text) => h("p.empty", text);

/** A command or a statement with a button that copies it. */
export function copyable(text) {
  return h("span.copyable", h("code", text), button(".copy", (event) => copy(text, event.currentTarget), h("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, h("path", { d: "M4 1h6a1 1 0 0 1 1 1v6h-1.2V2.2H4zM2 4h5a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1H2a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1zm.2 1.2v4.6h4.6V5.2z" })), { "aria-label": `Copy: ${text}` }));
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // a page without TLS on another host has no clipboard: the text is selected instead
    getSelection().selectAllChildren(button.previousSibling);
    return;
  }
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1200);
}

/** What `data` holds once it is there; before, that it is read; or why it could not be. */
export function loaded(data, show) {
  if (data.value !== undefined) return show(data.value);
  if (data.error) return h("div.failed", { role: "note" }, h("p", data.error.message), data.error.mend && h("p.quiet", data.error.mend));
  return h("p.empty", "Reading…");
}

/** Pages of a list that goes on at `next`. */
export function more(next, href) {
  return next ? h("p.more", link(href, "Older")) : null;
}

export const command = (...words) => ["seriatim", ...words.map(word)].join(" ");
