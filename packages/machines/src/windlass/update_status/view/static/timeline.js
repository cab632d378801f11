// The timeline of the newest update: a bar for each operator, pool and node, from when it began until it was updated.

import { compare, count, h, Keyed, setText } from "./dom.js";
import { between, clock, duration, now, zone } from "./time.js";

const KINDS = [
  ["operator", "Operators"],
  ["pool", "Pools"],
  ["node", "Nodes"],
];
const STEPS = [10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400, 172_800].map((s) => s * 1000);
// So many nodes stand open while one of them is under way; more are made when somebody looks.
const OPEN = 60;
// While something is under way, the axis grows with the time.
const REDRAW = 5000;

export class Timeline {
  shown = false;
  #axis = h("div", { class: "axis", "aria-hidden": "true" });
  #groups;
  #record = null;
  #timer = 0;

  constructor() {
    this.#groups = KINDS.map(([kind, title]) => new Group(kind, title));
    this.element = h("section", { id: "timeline" }, h("h2", {}, "Timeline"), this.#axis);
    this.element.append(...this.#groups.map((group) => group.element));
  }

  draw(parts, keys) {
    if (![...keys].some((key) => key === "record" || key.startsWith("took/") || key.startsWith("operator/"))) return;
    this.#record = parts.get("record");
    for (const group of this.#groups) group.read(parts);
    this.shown = Boolean(this.#record) && this.#groups.some((group) => group.items.length);
    this.#redraw();
  }

  #redraw() {
    clearTimeout(this.#timer);
    if (!this.shown) return;
    const start = Date.parse(this.#record.started);
    const end = Math.max(start + 1000, this.#record.completed ? Date.parse(this.#record.completed) : now());
    const scale = { start, end, over: this.#record.completed, place: (moment) => Math.min(1, Math.max(0, (moment - start) / (end - start))) };
    drawAxis(this.#axis, scale);
    for (const group of this.#groups) group.draw(scale);
    if (!this.#record.completed) {
      this.#timer = setTimeout(() => this.element.isConnected && this.#redraw(), REDRAW);
    }
  }
}

function drawAxis(axis, { start, end, place }) {
  const step = STEPS.find((one) => (end - start) / one <= 6) ?? STEPS.at(-1);
  const marks = [];
  for (let moment = Math.ceil((start + step / 4) / step) * step; moment < end - step / 4; moment += step) {
    const mark = h("span", { class: "mark" }, clock(moment, { seconds: step < 60_000 }));
    mark.style.left = `${place(moment) * 100}%`;
    marks.push(mark);
  }
  axis.replaceChildren(h("span", { class: "zone" }, zone(end)), h("div", { class: "marks" }, marks));
}

class Group {
  items = [];
  #rows;
  #list = h("ul", { class: "tracks" });
  #summary = h("summary");

  constructor(kind, title) {
    this.kind = kind;
    this.title = title;
    this.element = h("details", {}, this.#summary, this.#list);
    this.element.addEventListener("toggle", () => this.element.open && this.#scale !== this.#shown && this.draw(this.#scale));
    this.#rows = new Keyed(this.#list, { make: makeTrack, update: updateTrack });
  }

  #scale = null;
  // The scale with which its rows were drawn last: what is closed is drawn when somebody opens it.
  #shown = null;
  // From then on it is open or closed as its reader leaves it.
  #drawn = false;

  read(parts) {
    const prefix = `took/${this.kind}/`;
    this.items = [];
    for (const [key, took] of parts) {
      if (!key.startsWith(prefix)) continue;
      const sick = this.kind === "operator" && parts.get(`operator/${took.name}`)?.health;
      this.items.push([key, { ...took, sick: sick && sick !== "Healthy" ? sick : "" }]);
    }
    this.items.sort(([, a], [, b]) => begun(a) - begun(b) || compare(a.name, b.name));
  }

  draw(scale) {
    this.#scale = scale;
    this.element.hidden = !this.items.length;
    const busy = this.items.filter(([, took]) => !took.completed).length;
    if (this.items.length && !this.#drawn) {
      this.#drawn = true;
      this.element.open = this.kind !== "node" || (busy > 0 && this.items.length <= OPEN);
    }
    const left = busy ? `, ${busy} ${scale?.over ? "not updated" : "under way"}` : "";
    setText(this.#summary, `${this.title}: ${count(this.items.length - busy, "updated", "updated")}${left}`);
    if (!this.element.open) return;
    this.#shown = scale;
    this.#rows.draw(this.items.map(([key, took]) => [key, { ...took, scale, over: scale.over }]));
  }
}

function begun({ started, completed }) {
  return Date.parse(started ?? completed) || 0;
}

function makeTrack() {
  const bar = h("span", { class: "bar" });
  return h("li", {}, h("span", { class: "name" }), h("span", { class: "track", "aria-hidden": "true" }, bar), h("span", { class: "took" }));
}

function updateTrack(row, { name, started, completed, sick, scale, over }) {
  const [label, track, text] = row.children;
  const bar = track.firstElementChild;
  const from = scale.place(Date.parse(started ?? completed));
  const until = completed ? scale.place(Date.parse(completed)) : 1;
  bar.style.left = `${from * 100}%`;
  bar.style.width = `${(until - from) * 100}%`;
  bar.dataset.tone = sick ? "bad" : completed ? "good" : "busy";
  setText(label, name);
  setText(text, words(started, completed, sick, over));
  row.title = `${name}: ${started ? `from ${started}` : "begin not seen"}${completed ? ` to ${completed}` : ""}`;
}

// `over`: when the update ended. What was not updated until then never was.
function words(started, completed, sick, over) {
  const took = !started
    ? `done ${clock(completed)}`
    : completed
      ? between(started, completed)
      : over
        ? `${between(started, over)}, not updated`
        : `${duration(now() - Date.parse(started))} so far`;
  return sick ? `${took}, ${sick.toLowerCase()}` : took;
}
