// A line of one hour as SVG, and the same numbers as a table.
import { h } from "./dom.js";
import { dim, num, td, tr } from "./parts.js";
import { clock, count } from "./format.js";

const MINUTE = 60_000;

/** The latest minute that relays have written down: they do so once it is over, at most a minute later. */
export const noted = (reports, now) => reports.reduce((at, one) => Math.max(at, Date.parse(one.minute)), now - 2 * MINUTE);

/** One value for each minute up to `now`, oldest first; minutes without a report are 0. `pick` takes a list of a minute's reports. */
export function perMinute(reports, minutes, now, pick) {
  const last = Math.floor(now / MINUTE);
  const lists = Array.from({ length: minutes }, () => []);
  for (const report of reports) {
    const place = minutes - 1 - (last - Math.floor(Date.parse(report.minute) / MINUTE));
    if (place >= 0 && place < minutes) lists[place].push(report);
  }
  return lists.map((list) => pick(list));
}

export const sum = (field) => (list) => list.reduce((total, one) => total + (one[field] || 0), 0);
export const most = (field) => (list) => list.reduce((top, one) => Math.max(top, one[field] || 0), 0);
export function meanCall(list) {
  const calls = sum("calls")(list);
  return calls ? list.reduce((total, one) => total + (one.call_mean_ms || 0) * one.calls, 0) / calls : 0;
}

/** `label` says what the line shows. The height is of the box that the style sheet gives it. */
export function spark(values, label, size = { width: 120, height: 24 }) {
  const top = Math.max(...values, 0), step = size.width / Math.max(1, values.length - 1), edge = 1.5;
  const y = (value) => (top ? size.height - edge - (value / top) * (size.height - 2 * edge) : size.height - edge).toFixed(1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${y(value)}`).join(" ");
  return h("svg.spark" + (top ? "" : ".flat"), { viewBox: `0 0 ${size.width} ${size.height}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    h("polyline.area", { points: `0,${size.height} ${points} ${size.width},${size.height}` }),
    h("polyline.stroke", { points, "vector-effect": "non-scaling-stroke" }));
}

/** A chart with its title, its greatest value, and "as table". */
export function chart(title, values, now, write) {
  const top = Math.max(...values, 0), last = Math.floor(now / MINUTE) * MINUTE;
  const at = (index) => last - (values.length - 1 - index) * MINUTE;
  return h("figure.chart", { key: title },
    h("figcaption", h("span", title), dim(`last ${write(values.at(-1))}, most ${write(top)}`)),
    spark(values, `${title}: last ${write(values.at(-1))}, at most ${write(top)}`, { width: 600, height: 96 }),
    h("div.axis", { "aria-hidden": "true" }, h("span", clock(at(0)).slice(0, -3)), h("span", clock(last).slice(0, -3))),
    h("details", h("summary", "as table"),
      h("div.scroll", { tabindex: "0", role: "region", "aria-label": `${title}, minute by minute` }, h("table", h("caption.unseen", title),
        h("thead", h("tr", h("th", { scope: "col" }, "Minute"), h("th", { scope: "col", class: "number" }, title))),
        h("tbody", values.map((value, index) => [value, index]).filter(([value]) => value > 0).reverse()
          .map(([value, index]) => tr(at(index), td(clock(at(index)).slice(0, -3)), num(write(value)))))))));
}

export const whole = (value) => count(Math.round(value));
