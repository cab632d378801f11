// Times by the clock of the server: that of the browser may be wrong. For recorded clusters the clock stands still.

import { h, setText } from "./dom.js";

let skew = 0;
let frozen = null;

export function now() {
  return frozen ?? Date.now() + skew;
}

export function setClock(text) {
  const told = Date.parse(text);
  if (Number.isFinite(told)) skew = told - Date.now();
}

export function freeze(text) {
  frozen = text ? Date.parse(text) : null;
}

const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
  ["s", 1],
];

// Milliseconds (`?` for what is no number) as `45s`, `5m30s`, `3h12m`, `2d4h`: at most two units.
export function duration(milliseconds) {
  if (!Number.isFinite(milliseconds)) return "?";
  let left = Math.max(0, Math.floor(milliseconds / 1000));
  const largest = UNITS.findIndex(([, size]) => left >= size);
  if (largest < 0) return "0s";
  let text = "";
  for (const [unit, size] of UNITS.slice(largest, largest + 2)) {
    const number = Math.floor(left / size);
    if (number) text += `${number}${unit}`;
    left -= number * size;
  }
  return text;
}

export function between(start, end) {
  return duration((end ? Date.parse(end) : now()) - Date.parse(start));
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// The local time, with the day if that is another one than `today`. Not by Intl.DateTimeFormat: a page that opens would
// wait longer for that than for everything that it draws.
export function clock(moment, { seconds = true, today = now() } = {}) {
  const date = new Date(moment);
  if (!Number.isFinite(date.getTime())) return String(moment);
  const parts = [date.getHours(), date.getMinutes(), ...(seconds ? [date.getSeconds()] : [])];
  const time = parts.map((part) => String(part).padStart(2, "0")).join(":");
  const other = new Date(today);
  if (date.toDateString() === other.toDateString()) return time;
  const year = date.getFullYear() === other.getFullYear() ? "" : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${MONTHS[date.getMonth()]}${year} ${time}`;
}

// The zone of the reader's clock at that moment, as people compare it with those of others: UTC, UTC+1, UTC-3:30.
export function zone(moment) {
  const minutes = -new Date(moment).getTimezoneOffset();
  if (!minutes) return Number.isNaN(minutes) ? "" : "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "-" : "+"}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

// An element that shows when something was, with the reader's zone. Its tooltip has the moment in UTC.
export function when(moment, options) {
  return h("time", { datetime: moment, title: moment }, `${clock(moment, options)} ${zone(moment)}`.trimEnd());
}

// An element that shows how long ago something was, and counts on; null if that is not known. The moment itself is its
// tooltip.
export function age(moment, { suffix = "" } = {}) {
  if (!moment) return null;
  const element = h("time", { datetime: moment, title: `since ${moment}`, "data-age": suffix });
  tickOne(element);
  return element;
}

function tickOne(element) {
  setText(element, between(element.dateTime) + element.dataset.age);
}

export function tick() {
  for (const element of document.querySelectorAll("time[data-age]")) tickOne(element);
}
