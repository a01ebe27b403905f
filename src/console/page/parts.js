// Pieces that several pages show.
import { button, h } from "./dom.js";
import { clock, word } from "./format.js";
import { use } from "./store.js";

/** Each state has a shape, so that no state is shown by its colour alone. */
const SHAPES = {
  running: ["M3 2l7.5 4L3 10z", "good"],
  idle: ["M6 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8zm0 1.6a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8z", "good"],
  halted: ["M2 2h8v8H2z", "bad"],
  retrying: ["M6 1.2l5 9.3H1z", "warn"],
  paused: ["M2.5 2h2.6v8H2.5zM6.9 2h2.6v8H6.9z", "warn"],
  fenced: ["M2 1h2v4h4V1h2v10H8V7H4v4H2z", "warn"],
  standby: ["M6 1l5 5-5 5-5-5zM6 3.1L3.1 6 6 8.9 8.9 6z", "bad"],
};
const OTHER = ["M2 5h8v2H2z", "warn"];

export function shape(state) {
  const [path, tone] = SHAPES[state] || OTHER;
  return h("svg", { class: `shape ${tone}`, viewBox: "0 0 12 12", "aria-hidden": "true" }, h("path", { d: path, "fill-rule": "evenodd" }));
}

export const tone = (state) => (SHAPES[state] || OTHER)[1];
export const stateWord = (state, text) => h("span", { class: `state ${tone(state)}` }, shape(state), text || state);

export const link = (href, ...children) => h("a", { href }, ...children);
/** A path with what is not null of `values`. */
export function path(base, values) {
  const text = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== undefined)).toString();
  return text ? `${base}?${text}` : base;
}
export const processPath = (name, tab, values) => path("/p/" + encodeURIComponent(name), { tab, ...values });
export const rowPath = (name, id) => path(`/p/${encodeURIComponent(name)}/row`, { id });
export const choices = (name, list) => h(`nav.${name}`, { key: name, "aria-label": name }, list.map(([href, text, chosen]) => h("a", { key: href, href, "aria-current": chosen && "page" }, text)));
export const commands = (list) => h("ul.commands", list.map((text) => h("li", { key: text }, copyable(text))));
export const time = (at) => (at ? h("time", { datetime: at, title: at }, clock(at)) : dim("never"));

/** A table with a caption; a column whose text begins with > holds numbers. */
export function table(caption, columns, body, props) {
  return h("div.scroll", { tabindex: "0", role: "region", "aria-label": caption, ...props }, h("table", h("caption.unseen", caption),
    h("thead", h("tr", columns.map((text) => (text[0] === ">" ? h("th.number", { scope: "col" }, text.slice(1)) : h("th", { scope: "col" }, text))))),
    h("tbody", body)));
}

export const dim = (...children) => h("span.quiet", ...children);
/** A cell; what is not known is a dash. */
export const td = (...children) => h("td", ...(children.length === 1 && (children[0] ?? "") === "" ? ["–"] : children));
export const num = (...children) => h("td.number", ...children);
export const mono = (...children) => h("td.id", ...children);
export const wide = (...children) => h("td.wide", ...children);
export const tr = (key, ...cells) => h("tr", { key }, ...cells);
export const quiet = (...children) => h("p.quiet", ...children);
export const empty = (text) => h("p.empty", text);

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

/** `show` of what a GET answers; before, that it is read; or why it could not be. */
export function read(path, age, show) {
  const data = use(path, age);
  if (data.value !== undefined) return show(data.value);
  if (data.error) return h("div.failed", { role: "note" }, h("p", data.error.message), data.error.remedy && h("p.quiet", data.error.remedy));
  return h("p.empty", "Reading…");
}

export const command = (...words) => ["seriatim", ...words.map(word)].join(" ");
