// What needs attention: causes, each with what follows from it, and insights; the worst first.

import { count, documentation, h, Keyed } from "./dom.js";
import { all, badge, tone, touched } from "./pieces.js";
import { age } from "./time.js";

const LEVELS = ["Critical", "Error", "Warning", "Info"];

export class Attention {
  #list = h("ul", { class: "insights" });
  #rows;

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
    this.#rows.draw(items);
  }
}

// Causes and insights, each with the insights that stand under it, and nowhere else.
function troubles(parts) {
  const known = [...all(parts, "cause"), ...all(parts, "insight")];
  const below = Map.groupBy(known, ([, { under }]) => (parts.has(under) ? under : undefined));
  const top = below.get(undefined) ?? [];
  return top.map(([key, one]) => [key, { ...one, symptoms: (below.get(key) ?? []).map(([, insight]) => insight) }]);
}

function rank({ level }) {
  const place = LEVELS.indexOf(level);
  return place < 0 ? LEVELS.length : place;
}

function drawTrouble(row, trouble) {
  row.dataset.tone = tone(trouble.level);
  const open = [...row.querySelectorAll("details")].map((one) => one.open);
  const since = trouble.started ?? trouble.firstSeen;
  const resources = trouble.resources ?? trouble.about ?? [];
  const more = h("details", { open: open[0] }, h("summary", {}, "Details"));
  if (trouble.description) more.append(h("p", { class: "text" }, trouble.description));
  if (resources.length) more.append(h("ul", { class: "resources" }, resources.map(resource)));
  const meta = [
    since && h("span", {}, trouble.started ? "for " : "seen for ", age(since)),
    trouble.impact && trouble.impact !== "None" && h("span", {}, `impact: ${trouble.impact}`),
    trouble.pool && h("span", {}, `pool ${trouble.pool}`),
    trouble.informer && h("span", { class: "informer" }, `says the informer ${trouble.informer}`),
    trouble.staleSince && h("span", { class: "informer" }, "which has not answered for ", age(trouble.staleSince)),
    documentation(trouble.reference, "What to do"),
    trouble.description || resources.length ? more : null,
  ];
  row.replaceChildren(
    h(
      "p",
      { class: "summary" },
      badge(trouble.claimed ? `${trouble.level} (claimed)` : trouble.level, tone(trouble.level)),
      " ",
      h("strong", {}, trouble.summary),
    ),
    ...(trouble.remedy ? [h("p", { class: "remedy" }, trouble.remedy)] : []),
    h("div", { class: "meta" }, meta),
    ...(trouble.affected?.length || trouble.symptoms.length ? [waiting(trouble, open.at(-1))] : []),
  );
}

// What waits for a cause, and what is reported because of it.
function waiting({ affected = [], symptoms: found }, open) {
  const names = affected.map(({ resource: kind, name }) => `${kind.replace(/s$/, "")} ${name}`);
  const some = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  const facts = [some && `Waiting: ${some}`, found.length && `${count(found.length, "report")} of it`];
  return h(
    "details",
    { class: "waiting", open },
    h("summary", {}, facts.filter(Boolean).join(" · ")),
    h("ul", { class: "resources" }, affected.map(resource)),
    h("ul", { class: "symptoms" }, found.map(({ level, summary: text }) => h("li", {}, badge(level, tone(level)), " ", text))),
  );
}

function resource({ group, resource: kind, namespace, name }) {
  return h("li", {}, h("code", {}, `${kind}${group ? `.${group}` : ""} ${namespace ? `${namespace}/` : ""}${name}`));
}

// How many troubles of each level there are, as badges.
export function attentionInShort(parts) {
  const found = troubles(parts).map(([, one]) => one).filter(({ informer }) => !informer);
  const texts = LEVELS.slice(0, 3)
    .map((level) => [found.filter((one) => one.level === level).length, level])
    .filter(([number]) => number)
    .map(([number, level]) => badge(level === "Critical" ? `${number} critical` : count(number, level.toLowerCase()), tone(level)));
  return texts.length ? texts.flatMap((text) => [text, " "]) : h("span", { class: "ok" }, "nothing");
}
