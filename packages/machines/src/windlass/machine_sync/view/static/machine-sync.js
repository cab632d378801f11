// Machines and MachineSets of both APIs: authority, phases, whether the sides agree; and one of them in full.

import { conditions, Details, events } from "./dialog.js";
import { arrange, compare, count, h, setLong, setText } from "./dom.js";
import { badge } from "./pieces.js";
import { Table } from "./table.js";
import { age } from "./time.js";

const SIDES = { MachineAPI: "Machine API", ClusterAPI: "Cluster API" };
const KINDS = [
  ["Machine", "Machines", "machine"],
  ["MachineSet", "MachineSets", "MachineSet"],
];

// As `windlass machines --unsynced` counts: not known to agree.
function unsynced(row) {
  const sides = [row.machineAPI, row.clusterAPI].filter(Boolean);
  if (!row.synchronized) return sides.length > 1 || sides.some((side) => side.unreadable);
  return row.synchronized.status !== "True" || behind(row);
}

function behind({ generation }) {
  return Boolean(generation) && generation.source !== null && generation.synchronized < generation.source;
}

function moving(row) {
  return row.authority === "Migrating" || Boolean(row.desiredAuthority && row.authority && row.desiredAuthority !== row.authority);
}

function concern(row) {
  return Number(unsynced(row) || moving(row));
}

function words(row) {
  const sides = [row.machineAPI, row.clusterAPI].filter(Boolean);
  const said = row.synchronized;
  return [row.name, row.authority, said?.reason, said?.message, ...sides.flatMap((side) => [side.phase, side.node, side.unreadable])]
    .filter(Boolean)
    .join(" ")
    .toLowerCase();
}

export function mount({ details }) {
  const dialog = new Details(details, described);
  const open = ({ kind, name }) => dialog.open(`${kind}/${name}`, `${kind} ${name}`, { kind, name });
  const search = h("input", { type: "search", id: "search", placeholder: "Name, phase, Node, reason" });
  const strays = h("input", { type: "checkbox", id: "strays" });
  const summary = h("p", { class: "line", role: "status" });
  const kinds = KINDS.map(([kind, title]) => new Kind(kind, title, open));
  const nothing = h("p", { class: "muted" }, "There are no machines in either API.");
  const element = h(
    "div",
    { class: "machines" },
    h(
      "section",
      { class: "verdict", "aria-label": "Summary" },
      h("h1", {}, "Machines of both APIs"),
      summary,
      h(
        "div",
        { class: "filters" },
        h("label", { for: "search" }, "Filter", search),
        h("label", { for: "strays", class: "check" }, strays, "Only what is not in sync or moves"),
      ),
    ),
    nothing,
    kinds.map((kind) => kind.element),
    dialog.element,
  );
  let rows = [];

  function redraw() {
    const wanted = search.value.trim().toLowerCase();
    const shown = rows.filter(([, row]) => (!strays.checked || unsynced(row) || moving(row)) && (!wanted || words(row).includes(wanted)));
    for (const kind of kinds) kind.draw(shown.filter(([, row]) => row.kind === kind.kind));
    setText(summary, inShort(rows.map(([, row]) => row)));
    nothing.hidden = rows.length > 0;
  }

  search.addEventListener("input", redraw);
  strays.addEventListener("input", redraw);

  return {
    element,
    draw(parts, keys) {
      rows = [...parts].filter(([key]) => KINDS.some(([kind]) => key.startsWith(`${kind}/`)));
      // What somebody may have to look at stands first, even among thousands.
      rows.sort(([, a], [, b]) => concern(b) - concern(a) || compare(a.name, b.name));
      redraw();
      dialog.changed(parts, keys);
      return null;
    },
  };
}

function inShort(rows) {
  const found = KINDS.map(([kind, , word]) => [rows.filter((row) => row.kind === kind), word]).filter(([those]) => those.length);
  if (!found.length) return "";
  const totals = found.map(([those, word]) => count(those.length, word)).join(" and ");
  const stray = rows.filter(unsynced).length;
  const migrating = rows.filter(moving).length;
  return [
    totals,
    stray ? `${stray} not known to be in sync` : "all in sync",
    migrating ? `authority of ${migrating} moves` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

class Kind {
  #table;
  #title = h("h2");

  constructor(kind, title, open) {
    this.kind = kind;
    this.title = title;
    const own = kind === "Machine" ? phase : ready;
    const columns = [
      {
        title: "Name",
        class: "name",
        update(cell, row) {
          const button = cell.firstElementChild ?? h("button", { type: "button", class: "plain" });
          setText(button, row.name);
          button.onclick = () => open(row);
          arrange(cell, [button]);
        },
      },
      { title: "Authority", node: authority, class: "state labelled" },
      { title: "Machine API", node: (row) => own(row.machineAPI), class: "state labelled" },
      { title: "Cluster API", node: (row) => own(row.clusterAPI), class: "state labelled" },
      { title: "In sync", update: drawSync, class: "sync labelled" },
      { title: "Since", node: (row) => age(row.synchronized?.since), class: "since" },
      ...(kind === "Machine"
        ? [{ title: "Node", text: (row) => row.machineAPI?.node || row.clusterAPI?.node || "", class: "node labelled" }]
        : []),
    ];
    this.#table = new Table(columns, { caption: title });
    this.element = h("section", { id: kind }, this.#title, this.#table.element);
  }

  draw(items) {
    this.element.hidden = !items.length;
    setText(this.#title, `${this.title} (${items.length})`);
    this.#table.draw(items);
  }
}

function authority(row) {
  if (!row.machineAPI) return h("span", { class: "muted" }, "Cluster API alone");
  if (moving(row)) return badge(`${row.authority === "Migrating" ? "moving" : SIDES[row.authority]} → ${SIDES[row.desiredAuthority] ?? "unknown"}`, "busy");
  return SIDES[row.authority] ?? row.authority ?? "";
}

function phase(side) {
  if (!side) return h("span", { class: "muted" }, "none");
  const word = side.unreadable ? "Unreadable" : side.deleting ? "Deleting" : side.phase || "no phase";
  const tones = { Failed: "bad", Unreadable: "bad", Deleting: "warn", Running: "good", Provisioned: "good" };
  return [badge(word, tones[word] ?? "calm"), side.paused ? h("span", { class: "step" }, "paused") : null];
}

function ready(side) {
  if (!side) return h("span", { class: "muted" }, "none");
  if (side.unreadable || !side.replicas) return badge("Unreadable", "bad");
  const { desired, current, ready: there } = side.replicas;
  const complete = desired !== null && desired === current && desired === there;
  return badge(`${there ?? 0} of ${desired ?? "?"} ready`, complete ? "good" : "warn");
}

// Whether the sides agree; if they do not, why.
function drawSync(cell, row) {
  const [word, tone] = inSync(row);
  const mark = tone ? badge(word, tone) : h("span", { class: "muted" }, word);
  const why = cell.querySelector(".why") ?? h("div", { class: "why" });
  setLong(why, reasons(row));
  cell.replaceChildren(mark, ...(why.textContent ? [why] : []));
}

function inSync(row) {
  const said = row.synchronized;
  if (!said) return unsynced(row) ? ["not yet", "warn"] : ["not mirrored", ""];
  if (said.status === "True") return behind(row) ? ["behind", "warn"] : ["yes", "good"];
  return said.status === "False" ? ["no", "bad"] : [said.status, "warn"];
}

function reasons(row) {
  const sides = [row.machineAPI, row.clusterAPI].filter(Boolean);
  const unreadable = sides.map((side) => side.unreadable).filter(Boolean);
  if (unreadable.length) return unreadable.join("\n");
  const said = row.synchronized;
  return !said || said.status === "True" ? "" : [said.reason, said.message].filter(Boolean).join(": ");
}

function described(sight) {
  return [
    ...sight.unavailable.map(({ what, message: why }) => h("p", { class: "error" }, `${what} cannot be read: ${why}`)),
    plan(sight),
    side("Machine API", sight.machineAPI),
    side("Cluster API", sight.clusterAPI),
    sight.infrastructure ? side("Infrastructure", sight.infrastructure) : null,
    events(sight.events),
  ].filter(Boolean);
}

function plan({ plan: planned, noPlan, idle }) {
  const section = h("section", {}, h("h3", {}, "What Windlass would do next"));
  if (idle) section.append(h("p", { class: "muted" }, `Machine sync idles on this cluster: ${idle}`));
  if (!planned) {
    section.append(h("p", { class: "muted" }, noPlan ? `There is no plan: ${noPlan}` : "There is no plan."));
    return section;
  }
  const actions = planned.actions.map((action) =>
    h(
      "li",
      {},
      h("strong", {}, action.verb),
      " ",
      h("code", {}, `${action.target.kind} ${action.target.name}${action.subresource ? ` (${action.subresource})` : ""}`),
      action.why ? h("p", {}, action.why) : null,
      action.diff.length ? h("ul", { class: "diff" }, action.diff.map(difference)) : null,
    ),
  );
  if (actions.length) section.append(h("ol", {}, actions));
  const next = planned.next;
  const then = { Done: next.note || "nothing: it is as it should be", WaitFor: `wait for ${next.what}` }[next.type];
  section.append(h("p", {}, `${actions.length ? "Then " : ""}${then ?? next.why ?? next.error}`));
  return section;
}

function difference({ path, before, after }) {
  const show = (value) => (value === null || value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value));
  return h("li", {}, h("code", {}, path), `: ${show(before)} → ${show(after)}`);
}

function side(title, found) {
  const section = h("section", {}, h("h3", {}, title));
  if (!found) {
    section.append(h("p", { class: "muted" }, "does not exist there"));
    return section;
  }
  section.append(h("p", { class: "muted" }, h("code", {}, `${found.kind}.${found.apiVersion} ${found.namespace}/${found.name}`)));
  const known = [
    ["Unreadable", found.unreadable],
    ["Phase", found.phase],
    ["Paused", found.paused],
    ["Provider ID", found.providerID],
    ["Node", found.node],
    ["Addresses", found.addresses.join(", ")],
    ["Infrastructure", found.infrastructure],
    ["Owners", found.owners.join(", ")],
    ["Finalizers", found.finalizers.join(", ")],
  ].filter(([, value]) => value);
  const facts = known.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  if (found.created) facts.unshift(h("div", {}, h("dt", {}, "Age"), h("dd", {}, age(found.created))));
  if (found.deleting) facts.unshift(h("div", {}, h("dt", {}, "Deleting for"), h("dd", {}, age(found.deleting))));
  section.append(h("dl", { class: "known" }, facts));
  if (found.conditions.length) section.append(conditions(title, found.conditions));
  return section;
}
