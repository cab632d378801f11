// How the update of the cluster goes: verdict, progress, what needs attention, timeline, operators and nodes.

import { Attention, attentionInShort } from "./attention.js";
import { afterNextFrame, arrange, compare, count, h, Keyed, long, setLong, setText } from "./dom.js";
import { all, badge, tone, touched } from "./pieces.js";
import { Table } from "./table.js";
import { age, between, clock, duration, now, when, zone } from "./time.js";
import { Timeline } from "./timeline.js";

const BAD_NODE = ["Degraded", "Unavailable"];
const BUSY_NODE = ["Progressing"];

export function mount() {
  const verdict = new Verdict();
  const first = [verdict, new Attention()];
  const sections = [...first, new Unknown(), new Timeline(), new Operators(), new Pools(), new Past()];
  // What people look for is on the screen a frame ahead of the rest.
  const element = h("div", { class: "update", "aria-busy": "true" });
  let begun = false;
  let drawn = first;

  function show() {
    arrange(element, drawn.filter((section) => section.shown).map((section) => section.element));
  }

  function drawRest(parts) {
    drawn = sections;
    element.removeAttribute("aria-busy");
    if (!parts.has("update")) return;
    for (const section of sections.slice(first.length)) section.draw(parts, new Set(parts.keys()));
    show();
  }

  return {
    element,
    draw(parts, keys) {
      if (!begun) afterNextFrame(() => drawRest(parts));
      begun = true;
      if (!parts.has("update")) {
        arrange(element, [nothing(parts)]);
        return null;
      }
      for (const section of drawn) section.draw(parts, keys);
      show();
      return verdict.title;
    },
  };
}

// Why there is nothing to show.
function nothing(parts) {
  const problem = parts.get("problem")?.text;
  const why = problem ?? (parts.get("troubles")?.length ? "What is missing stands above." : "Reading the cluster.");
  const title = parts.size ? "Nothing is known of an update" : "One moment";
  return h("section", { class: "notice", "aria-label": "Summary" }, h("h1", {}, title), h("p", {}, why));
}

class Verdict {
  shown = true;
  title = "Update";
  #heading = h("h1");
  #why = h("p", { class: "why" });
  #line = h("p", { class: "line" });
  #facts = h("dl", { class: "facts" });
  #progress = h("ul", { class: "progress", "aria-label": "Progress" });
  #rows;
  #message = h("p", { class: "said" });

  constructor() {
    this.element = h("section", { class: "verdict", "aria-label": "Summary" }, this.#heading, this.#why, this.#line);
    this.element.append(this.#facts, this.#message, this.#progress);
    this.#rows = new Keyed(this.#progress, { make: makeProgress, update: updateProgress });
  }

  draw(parts) {
    const update = parts.get("update");
    const plane = update.controlPlane;
    const { text, why, tone: urgency } = update.headline;
    const operators = all(parts, "operator").map(([, one]) => one);
    const pools = all(parts, "pool").map(([, one]) => one);
    const updated = operators.filter((one) => one.state === "Updated").length;

    this.title = text;
    setText(this.#heading, text);
    setText(this.#why, why);
    this.element.dataset.tone = urgency;
    this.#line.replaceChildren(...line(plane, plane.versions).flatMap((part, place) => (place ? [" · ", part] : [part])));
    this.#facts.replaceChildren(...facts(update, parts, updated, operators.length));
    // What the operator says, unless the heading has it.
    const said = update.updating && plane.progressing.status === "True" ? plane.progressing.message : "";
    setText(this.#message, said === why ? "" : said);

    const rows = [["plane", planeProgress(operators, updated)]];
    for (const pool of pools) rows.push([pool.name, poolProgress(pool)]);
    this.#rows.draw(rows);
  }
}

function line(plane, versions) {
  const found = [];
  if (versions?.previous) found.push(`from ${versions.previous}${versions.incomplete ? " (never completed)" : ""}`);
  if (versions?.multiArch) found.push("migration to multi-architecture");
  if (plane.started) found.push(["started ", when(plane.started)]);
  if (plane.completed) {
    const took = between(plane.started, plane.completed);
    found.push(["control plane completed ", when(plane.completed), ` in ${took}`]);
  }
  return found.map((part) => (Array.isArray(part) ? h("span", {}, ...part) : part));
}

function facts(update, parts, updated, total) {
  const plane = update.controlPlane;
  const found = [];
  const fact = (name, ...value) => found.push(h("div", {}, h("dt", {}, name), h("dd", {}, ...value)));
  if (update.updating && plane.started && !plane.completed) fact("Elapsed", age(plane.started));
  const stalled = plane.assessment === "Stalled";
  if (plane.expectedEnd && !stalled) fact("Control plane expected", expected(plane.expectedEnd));
  else if (update.updating && plane.progressing.status === "True") fact("Control plane left", estimate(plane));
  fact("Operators", `${updated} of ${total}`, h("span", { class: "muted" }, " updated"));
  const pools = all(parts, "pool").map(([, one]) => one.summary);
  const nodes = pools.reduce((sum, one) => sum + (one?.total ?? 0) - (one?.unmanaged ?? 0), 0);
  const done = pools.reduce((sum, one) => sum + (one?.updated ?? 0), 0);
  if (nodes) fact("Nodes", `${done} of ${nodes}`, h("span", { class: "muted" }, " updated"));
  fact("Attention", attentionInShort(parts));
  return found;
}

function estimate(plane) {
  const seconds = plane.estimate;
  if (plane.assessment === "Stalled") return `late: ${duration(plane.expected * 1000)} were expected`;
  if (seconds < 0) return "late, should end soon";
  if (!seconds) return "unknown";
  return `about ${duration(seconds * 1000)}`;
}

// A range of times. Its tooltip has them in UTC, and what they are computed from.
function expected({ earliest, latest, basis }) {
  const [from, to] = [earliest, latest].map((moment) => clock(moment, { seconds: false }));
  const range = from === to ? `about ${from}` : `${from}–${to}`;
  const title = `${earliest} to ${latest}, estimated from ${basis}`;
  return h("span", { class: "range", title }, `${range} ${zone(latest)}`);
}

function planeProgress(operators, updated) {
  const sick = operators.filter((one) => one.state !== "Updated" && one.health !== "Healthy").length;
  const sickLater = operators.filter((one) => one.state === "Updated" && one.health !== "Healthy").length;
  const busy = operators.filter((one) => one.state === "Progressing" && one.health === "Healthy").length;
  return {
    name: "Control plane",
    href: "#operators",
    total: operators.length,
    segments: [
      ["good", updated - sickLater, "updated"],
      ["bad", sickLater, "updated but unhealthy"],
      ["bad", sick, "unhealthy"],
      ["busy", busy, "updating"],
      ["calm", operators.length - updated - sick - busy, "waiting"],
    ],
    unit: "operator",
  };
}

function poolProgress(pool) {
  const { total = 0, updated = 0, progressing = 0, degraded = 0, unmanaged = 0, ...rest } = pool.summary ?? {};
  // A node that nobody manages yet counts as paused in a paused pool.
  const excluded = Math.max(0, (rest.excluded ?? 0) - (pool.paused ? unmanaged : 0));
  return {
    name: `Pool ${pool.name}`,
    expectedEnd: pool.expectedEnd,
    href: `#pool-${pool.name}`,
    paused: pool.paused,
    total,
    segments: [
      ["good", updated, "updated"],
      ["bad", degraded, "degraded"],
      ["busy", progressing, "in progress"],
      ["warn", excluded, "paused"],
      ["calm", Math.max(0, total - updated - degraded - progressing - excluded - unmanaged), "waiting"],
      ["calm", unmanaged, "not managed yet"],
    ],
    unit: "node",
  };
}

function makeProgress() {
  const name = h("a", {});
  return h("li", {}, name, h("span", { class: "bar", "aria-hidden": "true" }), h("span", { class: "counts" }));
}

function updateProgress(row, item) {
  const [name, bar, counts] = row.children;
  setText(name, item.name);
  name.setAttribute("href", item.href);
  const present = item.segments.filter(([, number]) => number > 0);
  bar.replaceChildren(
    ...present.map(([colour, number]) => {
      const segment = h("span", { "data-tone": colour });
      segment.style.flexGrow = number;
      return segment;
    }),
  );
  const words = present.map(([, number, word]) => `${number} ${word}`).join(", ");
  setText(counts, item.total ? `${words}${item.paused ? " · pool is paused" : ""}` : `no ${item.unit}s`);
  if (item.expectedEnd) counts.append(" · expected ", expected(item.expectedEnd));
}

class Operators {
  #began = 0;
  #busy;
  #rest;
  #more;
  #summary = h("summary");

  constructor() {
    const columns = [
      { title: "Operator", text: (one) => one.name, class: "name" },
      {
        title: "State",
        node: (one) => [
          badge(one.state, tone(one.state)),
          one.health === "Healthy" ? null : badge(one.health, "bad"),
        ],
        class: "state",
      },
      { title: "Since", node: (one) => age(this.#since(one)), class: "since" },
      { title: "Message", update: (cell, one) => setLong(cell, message(one)), class: "text" },
    ];
    this.#busy = new Table(columns, { caption: "Operators that are not updated, or not healthy" });
    this.#rest = new Table(columns, { caption: "Operators that are updated and healthy" });
    this.#more = h("details", {}, this.#summary, this.#rest.element);
    this.element = h("section", { id: "operators" }, h("h2", {}, "Operators"), this.#busy.element, this.#more);
  }

  draw(parts, keys) {
    if (!touched(keys, "operator", "update")) return;
    this.#began = Date.parse(parts.get("update").controlPlane.started) || 0;
    const items = all(parts, "operator");
    this.shown = items.length > 0;
    const fine = ([, one]) => one.health === "Healthy" && one.state === "Updated";
    const busy = items.filter((item) => !fine(item)).sort(([, a], [, b]) => weight(b) - weight(a) || compare(a.name, b.name));
    const rest = items.filter(fine);
    this.#busy.draw(busy);
    this.#busy.element.hidden = !busy.length;
    this.#rest.draw(rest);
    this.#more.hidden = !rest.length;
    setText(this.#summary, `${count(rest.length, "operator")} updated and healthy`);
  }

  // Since when it is as it is shown. An operator that waits says only since when it was at rest, often for weeks.
  #since(one) {
    if (one.health !== "Healthy") return one.healthSince ?? one.since;
    return one.state === "Pending" && Date.parse(one.since) < this.#began ? null : one.since;
  }
}

function weight(operator) {
  return (operator.health === "Healthy" ? 0 : 10) + { Progressing: 3, Unknown: 2, Pending: 1, Updated: 0 }[operator.state];
}

function message(operator) {
  const sick = operator.health !== "Healthy";
  const reason = sick ? operator.healthReason : operator.reason;
  const text = sick ? operator.healthMessage : operator.message;
  return [reason === "AsExpected" ? "" : reason, text].filter(Boolean).join(": ");
}

class Pools {
  #rows;

  constructor() {
    this.element = h("div", { class: "pools" });
    this.#rows = new Keyed(this.element, { make: (pool) => new Pool(pool).element, update: () => {} });
  }

  draw(parts, keys) {
    if (!touched(keys, "pool", "node")) return;
    const members = new Map();
    for (const [key, node] of all(parts, "node")) {
      if (!members.has(node.pool)) members.set(node.pool, []);
      members.get(node.pool).push([key, node]);
    }
    const pools = all(parts, "pool");
    this.shown = pools.length > 0;
    this.#rows.draw(pools);
    for (const section of this.element.children) section.pool.draw(members.get(section.pool.name) ?? []);
  }
}

const GROUPS = [
  ["Not managed yet", (node) => !node.managed],
  ["Pending", (node) => node.phase === "Pending"],
  ["Paused", (node) => node.phase === "Paused"],
  ["Updated", () => true],
];

// Nodes that need attention or are being updated are always there; hundreds of others are made when somebody looks.
class Pool {
  #table;
  #groups;

  constructor(pool) {
    this.name = pool.name;
    const columns = nodeColumns();
    this.#table = new Table(columns, { caption: `Nodes of ${pool.name} that are being updated, or need attention` });
    this.#groups = GROUPS.map(([title, belongs]) => {
      const table = new Table(columns, { caption: `${title} nodes of ${pool.name}` });
      const summary = h("summary");
      const group = { title, belongs, table, summary, items: [] };
      group.element = h("details", {}, summary, table.element);
      group.element.addEventListener("toggle", () => group.element.open && table.draw(group.items));
      return group;
    });
    this.element = h(
      "section",
      { id: `pool-${pool.name}` },
      h("h2", {}, `Nodes of pool ${pool.name}`),
      this.#table.element,
      this.#groups.map((group) => group.element),
    );
    this.element.pool = this;
  }

  draw(items) {
    const active = items.filter(([, node]) => isActive(node));
    active.sort(([, a], [, b]) => BAD_NODE.includes(b.assessment) - BAD_NODE.includes(a.assessment) || compare(a.name, b.name));
    this.#table.draw(active);
    this.#table.element.hidden = !active.length;
    let rest = items.filter(([, node]) => !isActive(node));
    for (const group of this.#groups) {
      group.items = rest.filter(([, node]) => group.belongs(node));
      rest = rest.filter(([, node]) => !group.belongs(node));
      group.element.hidden = !group.items.length;
      setText(group.summary, `${count(group.items.length, "node")} ${group.title.toLowerCase()}`);
      if (group.element.open) group.table.draw(group.items);
    }
  }
}

function isActive(node) {
  return BAD_NODE.includes(node.assessment) || BUSY_NODE.includes(node.assessment);
}

function nodeColumns() {
  return [
    { title: "Node", text: (node) => node.name, class: "name" },
    {
      title: "State",
      node: (node) => [
        node.managed ? badge(node.phase, tone(node.phase)) : badge("Not managed yet", "calm"),
        BAD_NODE.includes(node.assessment) ? badge(node.assessment, "bad") : null,
        node.step ? h("span", { class: "step" }, node.step) : null,
      ],
      class: "state",
    },
    {
      title: "Since",
      node: (node) => age(sinceOf(node)),
      class: "since",
    },
    { title: "Version", text: (node) => node.version ?? "", class: "version" },
    { title: "Message", update: (cell, node) => setLong(cell, node.whyDegraded ?? node.whyUnavailable ?? ""), class: "text" },
  ];
}

function sinceOf(node) {
  const sick = node.degradedSince ?? (node.assessment === "Unavailable" ? node.unavailableSince : null);
  return sick ?? node.since ?? node.firstSeen ?? (isActive(node) ? node.unavailableSince : null);
}

// What could not be read, or belongs nowhere.
class Unknown {
  #title = h("h2");
  #list = h("ul", { class: "gaps" });

  constructor() {
    this.element = h("section", { id: "unknown" }, this.#title, this.#list);
  }

  draw(parts) {
    const update = parts.get("update");
    const gaps = [...update.gaps, ...(update.alerts ? [update.alerts] : [])];
    setText(this.#title, gaps.length ? "Not known" : "Outside all pools");
    if (update.unassignedNodes.length) gaps.push(`nodes of no pool: ${update.unassignedNodes.join(", ")}`);
    this.#list.replaceChildren(...gaps.map((text) => h("li", {}, long(text))));
    this.shown = gaps.length > 0;
  }
}

// Earlier updates.
class Past {
  #history;

  constructor() {
    this.#history = new Table(
      [
        { title: "To", text: (record) => record.target, class: "name" },
        { title: "From", text: (record) => record.previous ?? "installation", class: "version" },
        { title: "State", node: (record) => badge(record.state, tone(record.state)), class: "state" },
        { title: "Verified", text: (record) => record.verified ?? "", class: "since" },
        { title: "Started", node: (record) => when(record.started), class: "when" },
        { title: "Control plane", text: (record) => took(record.started, record.controlPlaneCompleted ?? record.completed), class: "since" },
        { title: "All", text: (record) => took(record.started, record.completed), class: "since" },
        { title: "Issues", text: (record) => String(record.issues ?? 0), class: "number" },
        { title: "Accepted risks", text: (record) => record.acceptedRisks ?? "", class: "message" },
      ],
      { caption: "Recorded updates, the newest first" },
    );
    this.element = h("section", { id: "history" }, h("h2", {}, "Recorded updates"), this.#history.element);
  }

  draw(parts) {
    const history = parts.get("history") ?? [];
    this.#history.draw(history.map((record) => [record.name, record]));
    this.shown = history.length > 1;
  }
}

function took(start, end) {
  return end ? between(start, end) : `${duration(now() - Date.parse(start))} so far`;
}
