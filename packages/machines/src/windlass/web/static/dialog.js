// One object in full, in a dialog: read with the rights of whoever opens it, and again when the object changes.

import { h, setLong, setText } from "./dom.js";
import { badge } from "./pieces.js";
import { Table } from "./table.js";
import { age } from "./time.js";

export class Details {
  #ask;
  #draw;
  #body = h("div", { class: "details" });
  #title = h("h2", { id: "details-title" });
  #key = "";
  #query = null;
  #asked = 0;

  // `ask` gets the query of the object and returns the answer; `draw` makes elements of what that tells.
  constructor(ask, draw) {
    this.#ask = ask;
    this.#draw = draw;
    const close = h("button", { type: "button", onclick: () => this.element.close() }, "Close");
    this.element = h("dialog", { "aria-labelledby": "details-title" }, h("header", {}, this.#title, close), this.#body);
    this.element.addEventListener("close", () => (this.#key = ""));
  }

  // `key`: of the part whose change means that the object is another one.
  open(key, title, query) {
    this.#key = key;
    this.#query = query;
    setText(this.#title, title);
    this.#body.replaceChildren(h("p", { class: "muted" }, "Reading…"));
    if (!this.element.open) this.element.showModal();
    this.#read();
  }

  changed(parts, keys) {
    if (!this.#key || !keys.has(this.#key)) return;
    if (parts.has(this.#key)) this.#read();
    else this.#body.prepend(h("p", { class: "error" }, "It does not exist any more."));
  }

  async #read() {
    const [asked, key] = [++this.#asked, this.#key];
    let answer;
    try {
      answer = await this.#ask(this.#query);
    } catch {
      answer = { ok: false, body: { error: "the server cannot be reached" } };
    }
    if (asked !== this.#asked || this.#key !== key) return;
    if (!answer.ok) return this.#body.replaceChildren(h("p", { class: "error", role: "alert" }, answer.body.error));
    this.#body.replaceChildren(...this.#draw(answer.body));
  }
}

// What `windlass.web.described` tells: objects with their facts and conditions, and the last Events.
export function objects({ sides, events: last, unavailable }) {
  return [
    ...unavailable.map(({ what, message }) => h("p", { class: "error" }, `${what} cannot be read: ${message}`)),
    ...sides.map((one) => object(one)),
    events(last),
  ];
}

function object(found) {
  const name = [found.namespace, found.name].filter(Boolean).join("/");
  const facts = found.facts.map(([title, value]) => h("div", {}, h("dt", {}, title), h("dd", {}, value)));
  if (found.created) facts.unshift(h("div", {}, h("dt", {}, "Age"), h("dd", {}, age(found.created))));
  if (found.deleting) facts.unshift(h("div", {}, h("dt", {}, "Deleting for"), h("dd", {}, age(found.deleting))));
  return h(
    "section",
    {},
    h("h3", {}, `${found.kind} ${found.name}`),
    h("p", { class: "muted" }, h("code", {}, `${found.kind}.${found.apiVersion} ${name}`)),
    h("dl", { class: "known" }, facts),
    found.conditions.length
      ? conditions(`${found.kind} ${found.name}`, found.conditions)
      : h("p", { class: "muted" }, "It has no conditions: no controller has said anything of it."),
  );
}

// Of some conditions True is bad, and of some neither is.
const BAD = /(Failed|Failure|Degraded|Error|Interrupted)$/;
const NEITHER = /^(Paused|Deleting|Progressing|Building|BuildPending|Prepared|Updating|Reconciling|ScalingUp|ScalingDown|Remediating|RollingOut)$/;

function toneOf({ type, status }) {
  if (BAD.test(type)) return status === "True" ? "bad" : "calm";
  if (NEITHER.test(type)) return status === "True" ? "busy" : "calm";
  return { True: "good", False: "warn" }[status] ?? "calm";
}

export function conditions(title, found) {
  const table = new Table(
    [
      { title: "Condition", text: (one) => (one.of ? `${one.of}.${one.type}` : one.type), class: "name" },
      { title: "Status", node: (one) => badge(one.status || "none", toneOf(one)), class: "state" },
      { title: "Since", node: (one) => age(one.since), class: "since" },
      { title: "Message", update: (cell, one) => setLong(cell, [one.reason, one.message].filter(Boolean).join(": ")), class: "text" },
    ],
    { caption: `Conditions: ${title}` },
  );
  table.draw(found.map((one, place) => [place, one]));
  return table.element;
}

export function events(found) {
  const section = h("section", {}, h("h3", {}, "Last Events"));
  if (!found.length) section.append(h("p", { class: "muted" }, "none"));
  const table = new Table(
    [
      { title: "Reason", text: (one) => one.reason, class: "name" },
      { title: "Type", node: (one) => badge(one.type || "Event", one.type === "Warning" ? "warn" : "calm"), class: "state" },
      { title: "Seen", node: (one) => age(one.last, { suffix: " ago" }), class: "since" },
      { title: "Message", update: (cell, one) => setLong(cell, one.message), class: "text" },
    ],
    { caption: "Last Events" },
  );
  table.draw(found.map((one, place) => [place, one]));
  if (found.length) section.append(table.element);
  return section;
}
