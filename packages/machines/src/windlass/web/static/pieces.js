// What the views share: the parts of a document by kind, and words as coloured badges.

import { compare, h } from "./dom.js";

// The values of all parts whose key begins so, in the order of their names or of `place`.
export function all(parts, kind) {
  const found = [];
  const prefix = `${kind}/`;
  for (const [key, value] of parts) if (key.startsWith(prefix)) found.push([key, value]);
  return found.sort(([, a], [, b]) => (a.place ?? 0) - (b.place ?? 0) || compare(a.name, b.name));
}

export function touched(keys, ...kinds) {
  for (const key of keys) for (const kind of kinds) if (key === kind || key.startsWith(`${kind}/`)) return true;
  return false;
}

export function badge(text, tone) {
  return h("span", { class: "badge", "data-tone": tone }, text);
}

export function tone(word) {
  if (/^(Degraded|Unavailable|Stalled|Failed|Critical|Error)/.test(word)) return "bad";
  if (/(Slow|Warning|Excluded|Paused)/.test(word)) return "warn";
  if (/^(Completed|Updated|Healthy)/.test(word)) return "good";
  if (/^(Progressing|Draining|Updating|Rebooting)/.test(word)) return "busy";
  return "calm";
}
