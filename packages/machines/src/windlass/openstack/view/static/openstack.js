// Clusters, machines, servers and pools of floating IPs on OpenStack: how each is doing, and what needs somebody.

import { Details, objects } from "./dialog.js";
import { afterNextFrame, arrange, compare, count, h, Keyed, setLong, setText } from "./dom.js";
import { all, badge, touched } from "./pieces.js";
import { Table } from "./table.js";
import { age } from "./time.js";

const WORST = ["bad", "warn", "busy", "calm", "good"];
const KINDS = { cluster: "OpenStackClusters", machine: "OpenStackMachines", server: "OpenStackServers", pool: "OpenStackFloatingIPPools" };
// More rows than a screen has are drawn after the first picture.
const AT_FIRST = 60;

export function mount({ details }) {
  const dialog = new Details(details, objects);
  const open = (part, { kind, namespace, name }) =>
    dialog.open(`${part}/${namespace}/${name}`, `${kind} ${namespace}/${name}`, { kind, namespace, name });
  const summary = h("p", { class: "line", role: "status" });
  const search = h("input", { type: "search", id: "search", placeholder: "Name, cluster, state, address, reason" });
  const troubled = h("input", { type: "checkbox", id: "troubled" });
  const attention = new Attention(open);
  const quotas = new Quotas();
  const tables = [
    new Kind("cluster", "Clusters", clusterColumns, open),
    new Kind("machine", "Machines", machineColumns, open),
    new Kind("machineapi", "Machines of the Machine API", machineColumns, open),
    new Kind("server", "Other servers", serverColumns, open),
    new Kind("pool", "Pools of floating IPs", poolColumns, open),
  ];
  const nothing = h("section", { class: "empty" });
  const filters = h(
    "div",
    { class: "filters" },
    h("label", { for: "search" }, "Filter", search),
    h("label", { for: "troubled", class: "check" }, troubled, "Only what is not in order"),
  );
  const element = h(
    "div",
    { class: "machines" },
    h("section", { class: "verdict", "aria-label": "Summary" }, h("h1", {}, "Machines on OpenStack"), summary, filters),
    nothing,
    attention.element,
    quotas.element,
    tables.map((table) => table.element),
    orphans(),
    dialog.element,
  );
  let parts = new Map();
  let whole = false;

  function redraw(keys = null) {
    const wanted = search.value.trim().toLowerCase();
    const isShown = (row) => (!troubled.checked || row.standing.tone !== "good") && (!wanted || words(row).includes(wanted));
    for (const table of tables) {
      if (!keys || touched(keys, table.part)) table.draw(parts, isShown, whole ? Infinity : AT_FIRST);
    }
  }

  search.addEventListener("input", () => redraw());
  troubled.addEventListener("input", () => redraw());

  return {
    element,
    draw(now, keys) {
      parts = now;
      const known = tables.some((table) => table.has(parts));
      filters.hidden = !known;
      setText(summary, parts.get("brief")?.line ?? "");
      drawNothing(nothing, known, parts);
      attention.draw(parts, known);
      quotas.draw(parts, known);
      redraw(keys);
      dialog.changed(parts, keys);
      if (!whole) {
        element.setAttribute("aria-busy", "true");
        afterNextFrame(() => {
          whole = true;
          redraw();
          element.removeAttribute("aria-busy");
        });
      }
      return null;
    },
  };
}

function words(row) {
  const { state, reason, message } = row.standing;
  return [row.name, row.namespace, row.cluster, row.instance, row.flavor, state, reason, message, ...(row.addresses ?? [])]
    .filter(Boolean)
    .join(" ")
    .toLowerCase();
}

function drawNothing(element, known, parts) {
  element.hidden = known;
  if (known) return;
  // Until the first lists are complete, what there is is not known.
  if (!parts.has("brief")) return element.replaceChildren(h("p", {}, "The cluster is being read."));
  const unserved = parts.get("unserved") ?? [];
  const runs = parts.get("runs");
  element.replaceChildren(
    h("p", {}, "Here would be clusters, machines and servers that Windlass keeps on OpenStack."),
    unserved.length
      ? h("p", {}, "The cluster does not serve ", unserved.map((name) => KINDS[name]).join(", "), ". Install them with ", h("code", {}, "kubectl apply -k deploy/openstack/crds"), ".")
      : h("p", {}, "There are none yet. They appear when somebody creates an OpenStackCluster or an OpenStackServer; ", h("code", {}, "windlass plan openstack -f FILE"), " checks one before it is created."),
    runs && runs.state !== "runs" ? h("p", {}, `${runs.text}. `, ["stopped", "absent"].includes(runs.state) ? [h("code", {}, "kubectl apply -k deploy/openstack"), " installs it."] : null) : "",
  );
}

// What a person should look at: failures with their cause and remedy, as the conditions say, each once.
class Attention {
  #list = h("ul", { class: "insights", "aria-label": "Needs attention" });
  #calm = h("p", { class: "ok" }, "Nothing needs attention.");
  #items;
  element = h("section", { id: "attention" }, h("h2", {}, "Needs attention"), this.#calm, this.#list);

  constructor(open) {
    this.#items = new Keyed(this.#list, { make: () => h("li"), update: (element, trouble) => drawTrouble(element, trouble, open) });
  }

  draw(parts, known) {
    const found = all(parts, "trouble");
    this.element.hidden = !known;
    this.#calm.hidden = found.length > 0;
    this.#items.draw(found);
  }
}

function drawTrouble(element, { standing, number, objects }, open) {
  element.dataset.tone = standing.tone;
  const names = objects.map((one) =>
    h("button", { type: "button", class: "plain", onclick: () => open(one.part, one) }, `${one.kind} ${one.namespace}/${one.name}`),
  );
  const text = element.querySelector(".text") ?? h("div", { class: "text" });
  setLong(text, standing.message ?? "", 600);
  element.replaceChildren(
    h("div", { class: "summary" }, badge(standing.state, standing.tone), names, number > names.length ? h("span", {}, `and ${number - names.length} more`) : null),
    h("div", { class: "meta" }, standing.reason ? h("span", {}, standing.reason) : null, h("span", {}, age(standing.since, { suffix: " ago" }))),
    text,
  );
}

function worst(a, b) {
  return WORST.indexOf(a.standing.tone) - WORST.indexOf(b.standing.tone);
}

class Quotas {
  #table = new Table(
    [
      { title: "Cluster", text: ({ namespace, cluster }) => [namespace, cluster].filter(Boolean).join("/"), class: "name" },
      { title: "Waiting", text: ({ number }) => count(number, "machine"), class: "number" },
      { title: "Since", node: ({ since }) => age(since), class: "since" },
      { title: "What the cloud says", update: (cell, { message }) => setLong(cell, message), class: "text" },
    ],
    { caption: "Machines that wait for a quota" },
  );
  #none = h(
    "p",
    { class: "muted" },
    "No machine waits for a quota. How much of each is used is not kept in the cluster: ",
    h("code", {}, "windlass plan openstack -f FILE --os-cloud NAME"),
    " asks the cloud what is left.",
  );
  element = h("section", { id: "quotas" }, h("h2", {}, "Quotas"), this.#none, this.#table.element);

  draw(parts, known) {
    const found = all(parts, "quota");
    this.element.hidden = !known;
    this.#none.hidden = found.length > 0;
    this.#table.element.hidden = !found.length;
    this.#table.draw(found);
  }
}

class Kind {
  #table;
  #title;
  #heading = h("h2");

  constructor(part, title, columns, open) {
    this.part = part;
    this.#title = title;
    this.#table = new Table(columns((row) => open(part, row)), { caption: title });
    this.element = h("section", { id: part }, this.#heading, this.#table.element);
  }

  has(parts) {
    for (const key of parts.keys()) if (key.startsWith(`${this.part}/`)) return true;
    return false;
  }

  // A cluster comes with the number of its machines.
  rows(parts) {
    return all(parts, this.part).map(([, value]) => whole(value));
  }

  draw(parts, isShown, most) {
    const found = this.rows(parts);
    const shown = found.filter(isShown);
    // What somebody may have to look at stands first, even among thousands.
    shown.sort((a, b) => worst(a, b) || compare(a.namespace, b.namespace) || compare(a.name, b.name));
    this.element.hidden = !found.length;
    setText(this.#heading, shown.length === found.length ? `${this.#title} (${found.length})` : `${this.#title} (${shown.length} of ${found.length})`);
    this.#table.draw(shown.slice(0, most).map((row) => [`${row.namespace}/${row.name}`, row]));
  }
}

const rowsOfClusters = new WeakMap();

function whole(value) {
  if (!value.row) return value;
  if (!rowsOfClusters.has(value)) rowsOfClusters.set(value, { ...value.row, machines: value.machines });
  return rowsOfClusters.get(value);
}

function named(open) {
  return {
    title: "Name",
    class: "name",
    update(cell, row) {
      const button = cell.firstElementChild ?? h("button", { type: "button", class: "plain" });
      setText(button, `${row.namespace}/${row.name}`);
      button.onclick = () => open(row);
      arrange(cell, [button]);
    },
  };
}

const state = { title: "State", node: ({ standing }) => badge(standing.state, standing.tone), class: "state" };
const since = { title: "Since", node: ({ standing }) => age(standing.since), class: "since" };
const addresses = { title: "Addresses", text: (row) => (row.addresses ?? []).join(", "), class: "labelled" };
const inCloud = { title: "In the cloud", text: ({ instance }) => instance ?? "", class: "labelled" };
const flavor = { title: "Flavor", text: (row) => row.flavor ?? "", class: "labelled" };

function clusterColumns(open) {
  return [
    named(open),
    state,
    since,
    { title: "Machines", text: ({ machines }) => String(machines), class: "number" },
    { title: "Network", text: ({ network }) => network ?? "", class: "labelled" },
    { title: "API servers", text: ({ endpoint }) => endpoint ?? "", class: "labelled" },
    { title: "Bastion", text: ({ bastion }) => bastion ?? "", class: "labelled" },
  ];
}

function machineColumns(open) {
  return [
    named(open),
    state,
    since,
    { title: "Cluster", text: ({ cluster }) => cluster ?? "", class: "labelled" },
    inCloud,
    flavor,
    addresses,
  ];
}

function serverColumns(open) {
  return [
    named(open),
    state,
    since,
    { title: "Stands for", text: ({ machine }) => (machine ? `OpenStackMachine ${machine}` : "itself"), class: "labelled" },
    inCloud,
    flavor,
    addresses,
  ];
}

function poolColumns(open) {
  return [
    named(open),
    state,
    since,
    { title: "Claimed", text: ({ claimed, most }) => (most === undefined || most === null ? String(claimed ?? 0) : `${claimed ?? 0} of ${most}`), class: "number" },
    { title: "Free", text: ({ free }) => String(free ?? 0), class: "number" },
    { title: "Cannot be given", text: ({ failed }) => String(failed ?? 0), class: "number" },
  ];
}

function orphans() {
  return h(
    "section",
    { id: "orphans" },
    h("h2", {}, "Orphans"),
    h(
      "p",
      { class: "muted" },
      "Resources in a cloud whose object is gone are not kept in the cluster, and this page asks no cloud: ",
      h("code", {}, "windlass openstack orphans"),
      " finds them.",
    ),
  );
}
