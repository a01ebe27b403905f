// The frame: who reads, where, and whether what is shown is live.
import { get } from "./api.js";
import { askFor, dialogNodes, isOpen, saidNodes } from "./dialogs.js";
import { button, h, render } from "./dom.js";
import { clock } from "./format.js";
import * as homePage from "./home.js";
import { stalled } from "./lanes.js";
import * as lists from "./lists.js";
import * as loginPage from "./login.js";
import * as processPage from "./process.js";
import * as rowPage from "./row.js";
import { empty, quiet } from "./parts.js";
import { onDraw, outdate, paused, redraw, state, sweep, take } from "./store.js";
import { stream } from "./stream.js";

const part = (id) => document.getElementById(id);
const TICK_MS = 1000;
const NAV = [["/", "Lanes"], ["/journal", "Journal"], ["/instances", "Instances"], ["/checks", "Checks"]];

function route() {
  const query = new URLSearchParams(location.search), path = location.pathname;
  const process = /^\/p\/([^/]+)(\/row)?\/?$/.exec(path);
  if (process) return { page: process[2] ? rowPage.row : processPage.process, title: process[2] ? rowPage.title : processPage.title, name: decodeURIComponent(process[1]), query };
  const page = { "/": homePage.home, "/journal": lists.journal, "/instances": lists.instances, "/checks": lists.checks, "/login": loginPage.login }[path];
  return { page: page || (() => empty("There is no such page.")), title: null, query };
}

function keepPause(href) {
  const url = new URL(href, location.href);
  if (paused()) url.searchParams.set("pause", "1");
  return url;
}

function go(url) {
  const elsewhere = url.pathname !== location.pathname;
  history.pushState(null, "", url);
  state.filter = "";
  if (elsewhere) {
    scrollTo(0, 0);
    part("main").focus({ preventScroll: true });
  }
  redraw();
}

document.addEventListener("click", (event) => {
  const anchor = event.target.closest("a[href]");
  if (!anchor || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = keepPause(anchor.href);
  if (url.origin !== location.origin || url.hash || url.pathname.startsWith("/api/")) return;
  event.preventDefault();
  go(url);
});
addEventListener("popstate", redraw);

const events = stream("/api/v1/events", {
  event(kind, data) {
    if (kind === "status") recovered(data);
    else if (kind === "read") recovered({ ...state.status, ...data });
    else if (kind === "journal") outdate("/journal");
    else if (kind === "alert") outdate("/alerts");
    else if (kind === "trouble") lose(data.detail);
    else if (kind === "recount") {
      state.recount.set(data.process, data);
      if (data.done) outdate("/audit");
      redraw();
    }
  },
  live() {
    if (!state.live && !state.trouble) {
      state.live = true;
      state.lostAt = null;
      outdate();
    }
  },
  lost(status) {
    state.trouble = null;
    lose(null);
    if (status === 401) void begin();
  },
});

/** The first snapshot after a trouble makes the page live again. */
function recovered(status) {
  if (state.trouble) {
    state.trouble = null;
    state.live = true;
    state.lostAt = null;
    outdate();
  }
  take(status);
}

/** What is shown is old from now on: the relay is gone, or (`trouble`) it cannot ask the database. */
function lose(trouble) {
  if (state.live || state.lostAt === null) state.lostAt = new Date();
  state.live = false;
  state.trouble = trouble;
  redraw();
}

function togglePause() {
  const url = new URL(location.href);
  if (paused()) url.searchParams.delete("pause");
  else url.searchParams.set("pause", "1");
  history.replaceState(null, "", url);
  follow();
  redraw();
}

function follow() {
  if (paused()) {
    events.stop();
    state.lostAt = null;
    if (!state.status) get("/status").then(take, () => { state.lostAt = new Date(); redraw(); });
  } else {
    events.start();
  }
}

function top() {
  const here = location.pathname, me = state.me;
  return h("div.bar", h("a.brand", { href: "/" }, "seriatim"),
    !(me && me.needs_login) && h("nav", { "aria-label": "Pages" }, NAV.map(([href, text]) => h("a", { key: href, href, "aria-current": here === href || (href === "/" && here.startsWith("/p/")) && "page" }, text))),
    h("div.right", liveness(), me && !me.needs_login && h("span.who", { title: me.why_not || "" }, me.name ? `${me.name}, ${me.role}` : "read only"),
      me && me.name && button(".plain", loginPage.leave, "Log out"),
      button(".plain", help, "?", { "aria-label": "Help" })));
}

function liveness() {
  if (here("/login") || !state.me || state.me.needs_login) return null;
  const text = paused() ? `Paused at ${clock(state.status?.looked_at)}` : state.live ? "Live" : state.lostAt ? `Not live since ${clock(state.lostAt)}` : "Connecting…";
  return [h("span", { class: `live ${paused() ? "paused" : state.live ? "on" : "off"}`, id: "live" }, text),
    button(".plain", togglePause, paused() ? "Go on" : "Pause updates", { key: "pause" })];
}

const here = (path) => location.pathname === path;

function help() {
  const keys = [["/", "filter the lanes"], ["?", "this help"], ["Tab, Enter", "reach and press everything"], ["Esc", "close a dialog"]];
  askFor({ title: "Help", closes: "Close", show: () => [h("dl.keys", keys.map(([key, text]) => h("div", { key }, h("dt", h("kbd", key)), h("dd", text)))),
    h("p", "Each button has its command next to it: what is done here can be done on a terminal as well."), quiet(state.me ? `seriatim ${state.me.version}, relay ${state.me.relay}` : "")] });
}

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select") || event.metaKey || event.ctrlKey || event.altKey || isOpen()) return;
  if (event.key === "?") help();
  else if (event.key === "/" && part("filter")) part("filter").focus();
  else return;
  event.preventDefault();
});

let announced = "";

/** Says the verdict to a screen reader when it becomes another one, not when its numbers change. */
function announce() {
  const verdict = `${state.status.verdict.state} ${stalled(state.status.lanes).length}`;
  if (verdict === announced) return;
  if (announced) part("announce").textContent = state.status.verdict.text;
  announced = verdict;
}

function draw() {
  const where = route(), asks = state.me && state.me.needs_login;
  render(part("top"), top());
  if (here("/login") || asks) render(part("main"), loginPage.login({ done: entered }));
  else if (state.status) render(part("main"), where.page(where));
  else render(part("main"), h("p.empty", state.trouble || state.lostAt ? state.trouble ? `The database cannot be asked: ${state.trouble}` : "The relay does not answer. On a terminal: seriatim status" : "Reading…"));
  render(part("said"), saidNodes());
  render(part("dialogs"), dialogNodes());
  const old = !asks && !here("/login") && state.status && !paused() && (!state.live || state.status.verdict.state === "unknown");
  part("main").classList.toggle("old", Boolean(old));
  if (state.status && !asks) {
    document.title = `${old ? "Not live: " : ""}${where.title && where.title !== homePage.title ? `${where.title(where)} · ` : ""}${state.status.verdict.text}`;
    announce();
    if (!performance.getEntriesByName("painted").length) performance.mark("painted");
  }
  sweep();
  if (state.refused) {
    state.refused = false;
    void begin();
  }
}

async function entered() {
  if (here("/login")) history.replaceState(null, "", "/");
  await begin();
}

async function begin() {
  try {
    state.me = await get("/me");
    if (state.me.needs_login) events.stop();
    else follow();
  } catch {
    state.lostAt ??= new Date();
    setTimeout(begin, 2000);
  }
  redraw();
}

onDraw(draw);
setInterval(() => { if (!document.hidden && !paused() && state.live) redraw(); }, TICK_MS);
redraw();
void begin();
