// The first page: each view in a line, and what needs somebody there.

import { count, h, Keyed, setText } from "./dom.js";
import { all, badge } from "./pieces.js";
import { age } from "./time.js";

const WORST = ["bad", "warn", "busy", "calm", "good"];

export function mount({ open }) {
  const heading = h("h1");
  const summary = h("p", { class: "line", role: "status" });
  const list = h("ul", { class: "insights", "aria-label": "Needs attention" });
  const attention = h("section", { id: "attention" }, h("h2", {}, "Needs attention"), list);
  const needs = new Keyed(list, { make: () => h("li"), update: (element, need) => drawNeed(element, need, open) });
  const lines = h("ul", { class: "lines", "aria-label": "What runs here" });
  const capabilities = h("section", { id: "capabilities" }, h("h2", {}, "What runs here"), lines);
  const rows = new Keyed(lines, { make: () => h("li"), update: (element, view) => drawLine(element, view, open) });
  const element = h(
    "div",
    { class: "machines" },
    h("section", { class: "verdict", "aria-label": "Summary" }, heading, summary),
    capabilities,
    attention,
  );

  return {
    element,
    draw(parts) {
      const views = all(parts, "view");
      rows.draw(views);
      const found = views.flatMap(([, view]) => needsOf(view));
      found.sort((a, b) => WORST.indexOf(a.tone) - WORST.indexOf(b.tone));
      needs.draw(found.map((need) => [`${need.view}/${need.text}`, need]));
      attention.hidden = !found.length;
      const number = views.reduce((sum, [, view]) => sum + (view.brief?.needs?.length ?? 0) + (view.brief?.more ?? 0) + (view.stale ? 1 : 0), 0);
      setText(heading, number ? `${count(number, "thing needs", "things need")} attention` : "Nothing needs attention");
      setText(summary, views.some(([, view]) => !view.shown) ? "Not everything has been read yet." : "");
      return null;
    },
  };
}

// What needs somebody in a view. Nobody keeps up to date what is stale: that comes first.
function needsOf(view) {
  const { brief, stale, title, name } = view;
  const found = (brief?.needs ?? []).map((need) => ({ ...need, view: name, title }));
  if (stale) found.unshift({ text: stale, tone: "bad", view: name, title });
  if (brief?.more) found.push({ text: `${count(brief.more, "more")} in ${title}`, tone: found.at(-1)?.tone ?? "warn", view: name, title });
  return found;
}

function link(name, title, open) {
  return h(
    "a",
    {
      href: `/${name}`,
      onclick: (event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        open(name);
      },
    },
    title,
  );
}

function drawNeed(element, need, open) {
  element.dataset.tone = need.tone;
  element.replaceChildren(
    h("div", { class: "summary" }, h("strong", {}, need.text), h("span", { class: "meta" }, need.since ? age(need.since, { suffix: " ago" }) : null, link(need.view, need.title, open))),
  );
}

function drawLine(element, view, open) {
  const [word, tone] = doing(view);
  const more = [view.brief?.line, view.runs && view.runs.state !== "runs" && !view.stale ? view.runs.text : null, ...(view.troubles ?? []).slice(0, 1)];
  element.replaceChildren(
    link(view.name, view.title, open),
    word ? badge(word, tone) : h("span"),
    h("span", { class: "said" }, more.filter(Boolean).join(". ") || (view.shown ? "Nothing is said of it." : "It is being read.")),
  );
}

// Whether its controller runs, in a word.
function doing({ runs, stale, shown }) {
  if (stale) return ["does not run", "bad"];
  if (runs?.state === "runs") return ["runs", "good"];
  if (["stopped", "absent"].includes(runs?.state)) return ["does not run", "calm"];
  if (runs?.state === "other") return ["another program", "calm"];
  if (runs?.state === "unknown") return ["not known", "warn"];
  return [shown ? "" : "reading", "calm"];
}
