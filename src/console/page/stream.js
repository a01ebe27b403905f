// The stream of events, read by fetch so that its comments show that it is alive. A hidden tab ends it after 30 s, because
// a browser keeps only six connections to one relay.

const HIDDEN_MS = 30_000;
const SILENT_MS = 40_000;  // a comment comes every 15 s
const AGAIN_MS = [500, 1000, 2000, 4000];

/** Calls `on.event(kind, data)`, `on.live()` and `on.lost(status)`; `start` and `stop` may be called at any time. */
export function stream(path, on) {
  let wanted = false, reading = null, failures = 0, again = null, hidden = null, lastId = "";

  function stop() {
    wanted = false;
    close();
  }

  function close() {
    clearTimeout(again);
    if (reading) reading.abort();
    reading = null;
  }

  function start() {
    wanted = true;
    if (!reading && !document.hidden) open();
  }

  async function open() {
    const mine = (reading = new AbortController());
    let status = 0;
    try {
      const answer = await fetch(path, { signal: mine.signal, cache: "no-store", headers: lastId ? { "Last-Event-ID": lastId } : {} });
      status = answer.status;
      if (answer.ok) await read(answer.body.getReader(), mine);
    } catch { /* reported below */ }
    if (reading !== mine) return;
    reading = null;
    on.lost(status);
    if (wanted && !document.hidden) again = setTimeout(open, AGAIN_MS[Math.min(failures++, AGAIN_MS.length - 1)]);
  }

  async function read(reader, mine) {
    const decoder = new TextDecoder();
    let text = "", silence = null;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => mine.abort(), SILENT_MS);
    };
    try {
      for (heard(); ;) {
        const { value, done } = await reader.read();
        if (done || reading !== mine) return;
        heard();
        failures = 0;
        on.live();
        text += decoder.decode(value, { stream: true }).replaceAll("\r", "");
        for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) take(text.slice(0, end));
      }
    } finally {
      clearTimeout(silence);
    }
  }

  function take(block) {
    let kind = "message", data = "";
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      const name = line.slice(0, colon), value = line.slice(colon + 1).replace(/^ /, "");
      if (name === "event") kind = value;
      else if (name === "data") data += (data ? "\n" : "") + value;
      else if (name === "id") lastId = value;
    }
    if (data) on.event(kind, JSON.parse(data));
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(close, HIDDEN_MS);
    else if (wanted && !reading) {
      clearTimeout(again);
      open();
    }
  });
  return { start, stop };
}
