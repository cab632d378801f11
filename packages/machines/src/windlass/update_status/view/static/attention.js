// What needs attention: causes, each with what follows from it, and insights; the worst first.

import { count, documentation, h, Keyed, long } from "./dom.js";
import { all, badge, tone, touched } from "./pieces.js";
import { age } from "./time.js";

const LEVELS = ["Critical", "Error", "Warning", "Info"];
// These words have a plural.
const COUNTED = ["Error", "Warning"];
// Characters of a reason; the whole text is a detail.
const LONGEST = 240;

export class Attention {
  #list = h("ul", { class: "insights" });
  #rows;
  #before = new Map();

  constructor() {
    this.element = h("section", { id: "attention" }, h("h2", {}, "Needs attention"), this.#list);
    this.#rows = new Keyed(this.#list, { make: () => h("li"), update: drawTrouble });
  }

  draw(parts, keys) {
    if (!touched(keys, "insight", "cause")) return;
    const items = troubles(parts);
    // What informers of others tell comes last: it counts for nothing.
    items.sort(
      ([, a], [, b]) =>
        Boolean(a.informer) - Boolean(b.informer) ||
        rank(a) - rank(b) ||
        Boolean(b.affected) - Boolean(a.affected) ||
        a.place - b.place,
    );
    this.shown = items.length > 0;
    this.#rows.draw(this.#unchanged(items));
  }

  // What is equal to what was there is the same value, so that it is not drawn again under its reader's hands.
  #unchanged(items) {
    const found = items.map(([key, trouble]) => {
      const text = JSON.stringify(trouble, (name, value) => (name === "place" ? undefined : value));
      const before = this.#before.get(key);
      return [key, before?.text === text ? before : { text, trouble }];
    });
    this.#before = new Map(found);
    return found.map(([key, { trouble }]) => [key, trouble]);
  }
}

// Causes and insights, each with the insights that stand under it, and nowhere else.
function troubles(parts) {
  const known = [...all(parts, "cause"), ...all(parts, "insight")];
  const below = Map.groupBy(known, ([, { under }]) => (parts.has(under) ? under : undefined));
  const top = below.get(undefined) ?? [];
  return top.map(([key, one]) => [key, { ...one, symptoms: (below.get(key) ?? []).map(([, insight]) => insight) }]);
}

// An update that fails comes with the errors, whatever level `oc` gives it.
function rank({ level, urgent }) {
  const place = urgent ? LEVELS.indexOf("Error") - 0.5 : LEVELS.indexOf(level);
  return place < 0 ? LEVELS.length : place;
}

// The word of its badge, and its colour.
function word({ level, urgent, claimed }) {
  const text = urgent ? "Failing" : level;
  return [claimed ? `${text} (claimed)` : text, urgent ? "bad" : tone(level)];
}

function drawTrouble(row, trouble) {
  const [text, colour] = word(trouble);
  row.dataset.tone = colour;
  const opened = new Set([...row.querySelectorAll("details[open]")].map((one) => one.dataset.part));
  const focused = row.contains(document.activeElement) && document.activeElement.closest("details")?.dataset.part;
  const resources = trouble.resources ?? trouble.about ?? [];
  const more = h("details", { "data-part": "details" }, h("summary", {}, "Details"));
  const reason = trouble.reason && trouble.reason.slice(0, LONGEST);
  const told = trouble.description === reason ? "" : trouble.description;
  if (told) more.append(h("p", { class: "text" }, told));
  if (resources.length) more.append(h("ul", { class: "resources" }, resources.map(resource)));
  const meta = [
    since(trouble),
    trouble.impact && trouble.impact !== "None" && h("span", {}, `impact: ${trouble.impact}`),
    trouble.pool && h("span", {}, `pool ${trouble.pool}`),
    trouble.informer && h("span", { class: "informer" }, `says the informer ${trouble.informer}`),
    trouble.staleSince && h("span", { class: "informer" }, "which has not answered for ", age(trouble.staleSince)),
    documentation(trouble.reference, "What to do"),
    told || resources.length ? more : null,
  ];
  row.replaceChildren(
    h(
      "p",
      { class: "summary" },
      badge(text, colour),
      " ",
      h("strong", {}, trouble.summary),
    ),
    ...(reason ? [h("p", { class: "reason" }, reason === trouble.reason ? reason : `${reason}…`)] : []),
    ...(trouble.remedy ? [h("p", { class: "remedy" }, trouble.remedy)] : []),
    h("div", { class: "meta" }, meta),
    ...(trouble.affected?.length || trouble.symptoms.length ? [waiting(trouble)] : []),
  );
  for (const one of row.querySelectorAll("details")) {
    one.open = opened.has(one.dataset.part);
    if (focused && one.dataset.part === focused) one.firstElementChild.focus();
  }
}

// What waits for a cause, and what is reported because of it.
function waiting({ affected = [], symptoms: found }) {
  const names = affected.map(({ resource: kind, name }) => `${kind.replace(/s$/, "")} ${name}`);
  const some = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  const facts = [some && `Waiting: ${some}`, found.length && `${count(found.length, "report")} of it`];
  return h(
    "details",
    { class: "waiting", "data-part": "waiting" },
    h("summary", {}, facts.filter(Boolean).join(" · ")),
    h("ul", { class: "resources" }, affected.map(resource)),
    h("ul", { class: "symptoms" }, found.map(symptom)),
  );
}

function symptom(insight) {
  const text = insight.description ? long(insight.description) : null;
  if (text instanceof Element) text.dataset.part = insight.summary;
  return h(
    "li",
    {},
    badge(insight.level, tone(insight.level)),
    " ",
    insight.summary,
    h("div", { class: "meta" }, since(insight), documentation(insight.reference, "What to do")),
    text && h("div", { class: "text" }, text),
  );
}

function since({ started, firstSeen }) {
  return (started ?? firstSeen) && h("span", {}, started ? "for " : "seen for ", age(started ?? firstSeen));
}

function resource({ group, resource: kind, namespace, name }) {
  return h("li", {}, h("code", {}, `${kind}${group ? `.${group}` : ""} ${namespace ? `${namespace}/` : ""}${name}`));
}

// How many troubles of each level there are, as badges.
export function attentionInShort(parts) {
  const found = troubles(parts).map(([, one]) => one).filter(({ informer }) => !informer);
  const level = (one) => (one.urgent ? "Error" : one.level);
  const texts = LEVELS.map((name) => [found.filter((one) => level(one) === name).length, name])
    .filter(([number]) => number)
    .map(([number, name]) => badge(COUNTED.includes(name) ? count(number, name.toLowerCase()) : `${number} ${name.toLowerCase()}`, tone(name)));
  if (texts.length) return texts.flatMap((text) => [text, " "]);
  return parts.has("stale") ? h("span", { class: "muted" }, "not known") : h("span", { class: "ok" }, "nothing");
}
