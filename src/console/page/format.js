// How numbers, ages and times are written. All pure.

const two = (number) => String(number).padStart(2, "0");

/** 31 min; the same words as the command line. */
export function span(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1000) return "under 1 s";
  const seconds = Math.floor(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** 9 814, with a thin space that does not break. */
export function count(number) {
  if (number === null || number === undefined) return "unknown";
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export const rows = (number, more) => `${count(number)}${more ? " or more" : ""} row${number === 1 ? "" : "s"}`;

/** 02:41:03, with the date unless it is today's; in the reader's time zone. */
export function clock(time) {
  if (!time) return "";
  const at = new Date(time);
  if (isNaN(at)) return String(time);
  const day = at.toDateString() === new Date().toDateString() ? "" : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} `;
  return `${day}${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return "";
  if (perSecond === 0) return "0/s";
  if (perSecond < 1) return `${Math.max(1, Math.round(perSecond * 60))}/min`;
  return `${count(Math.round(perSecond))}/s`;
}

export const ms = (number) => (number === null || number === undefined ? "" : number < 10 ? `${number.toFixed(1)} ms` : number < 10000 ? `${count(Math.round(number))} ms` : span(number));

export function bytes(number) {
  if (number === null || number === undefined) return "none";
  return number < 1024 ? `${number} B` : number < 1048576 ? `${(number / 1024).toFixed(1)} KiB` : `${(number / 1048576).toFixed(1)} MiB`;
}

/** host:pid; the rest of a holder's name only separates two lives of one process. */
export const instance = (holder) => (holder ? holder.split(":").slice(0, -1).join(":") || holder : "");

export const word = (text) => (/^[A-Za-z0-9_.:@%+,\/-]+$/.test(text) ? text : `'${String(text).replaceAll("'", "'\\''")}'`);
