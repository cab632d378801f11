// The images of pools: which image each has, what is being built, why a build failed.

import { Details, objects } from "./dialog.js";
import { arrange, compare, count, h, Keyed, setLong, setText } from "./dom.js";
import { all, badge } from "./pieces.js";
import { Table } from "./table.js";
import { age, between } from "./time.js";

const WORST = ["bad", "warn", "busy", "calm", "good"];
const OPT_IN = "kubectl annotate machineconfigpool POOL machineconfiguration.openshift.io/layering-enabled=";

export function mount({ details }) {
  const dialog = new Details(details, objects);
  const open = ({ name }) => dialog.open(`pool/${name}`, `Image of pool ${name}`, { name });
  const summary = h("p", { class: "line", role: "status" });
  const nothing = h("section", { class: "empty" });
  const list = h("ul", { class: "insights", "aria-label": "Pools" });
  const out = h("p", { class: "muted others" });
  const pools = h("section", { id: "pools" }, h("h2", {}, "Pools"), list, out);
  const cards = new Keyed(list, { make: () => new Card(open).element, update: (element, pool) => element.card.draw(pool) });
  const builds = new Builds();
  const element = h(
    "div",
    { class: "machines" },
    h("section", { class: "verdict", "aria-label": "Summary" }, h("h1", {}, "Images of the OS"), summary),
    nothing,
    pools,
    builds.element,
    dialog.element,
  );

  return {
    element,
    draw(parts, keys) {
      const found = all(parts, "pool");
      found.sort(([, a], [, b]) => WORST.indexOf(a.tone) - WORST.indexOf(b.tone) || compare(a.name, b.name));
      cards.draw(found);
      setText(summary, parts.get("brief")?.line ?? "");
      pools.hidden = !found.length;
      const others = parts.get("out") ?? [];
      setText(out, others.length ? `No image is asked for: ${others.join(", ")}.` : "");
      drawNothing(nothing, found.length > 0, parts, others);
      builds.draw(all(parts, "build").map(([, build]) => build));
      dialog.changed(parts, keys);
      return null;
    },
  };
}

function drawNothing(element, known, parts, others) {
  element.hidden = known;
  if (known) return;
  // Until the first lists are complete, what there is is not known.
  if (!parts.has("brief")) return element.replaceChildren(h("p", {}, "The cluster is being read."));
  const unserved = parts.get("unserved") ?? [];
  const runs = parts.get("runs");
  element.replaceChildren(
    h("p", {}, "Here would be the image of each MachineConfigPool that asks for one: its state, its builds, and its nodes."),
    unserved.length
      ? h("p", {}, "The cluster does not serve MachineConfigPools: OpenShift's Machine Config Operator brings them.")
      : h("p", {}, others.length ? `No pool asks for one yet (${others.join(", ")}). A pool is opted in by ` : "There is no pool yet. A pool is opted in by ", h("code", {}, OPT_IN), ", or by a MachineOSConfig that names it."),
    runs && runs.state !== "runs" ? h("p", {}, `${runs.text}. `, ["stopped", "absent"].includes(runs.state) ? [h("code", {}, "kubectl apply -k deploy/os-build"), " installs it."] : null) : "",
  );
}

// A pool: its state, why, the image that it has, its nodes, and the end of the log of a build that failed.
class Card {
  #name = h("button", { type: "button", class: "plain strong" });
  #summary = h("div", { class: "summary" });
  #text = h("div", { class: "text" });
  #facts = h("dl", { class: "known" });
  #log = h("pre");
  #logPart = h("details", { class: "log" }, h("summary", {}, "Last lines of the log"), this.#log);
  element = h("li", {}, this.#summary, this.#text, this.#facts, this.#logPart);
  #open;

  constructor(open) {
    this.#open = open;
    this.element.card = this;
  }

  draw(pool) {
    this.element.dataset.tone = pool.tone;
    setText(this.#name, pool.name);
    this.#name.onclick = () => this.#open(pool);
    arrange(this.#summary, [this.#name, this.#state(pool)]);
    setLong(this.#text, pool.tone === "good" ? "" : (pool.message ?? ""), 600);
    const { nodes = 0, updated = 0 } = pool;
    const facts = [
      ["Image", pool.image ? h("code", {}, pool.image) : "none yet"],
      [pool.image ? "Built from" : "Asks for", pool.image && !pool.upToDate ? `${pool.imageConfig || "?"}; the pool asks for ${pool.config}` : pool.config],
      ["Nodes", `${updated} of ${count(nodes, "node")} run what the pool asks for${pool.paused ? "; the pool is paused" : ""}`],
      ["Asked for by", pool.claimedBy ? `MachineOSConfig ${pool.claimedBy}` : null],
    ];
    this.#facts.replaceChildren(
      ...facts.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    );
    this.#logPart.hidden = !pool.log;
    setText(this.#log, pool.log ?? "");
  }

  #state(pool) {
    const since = age(pool.since, { suffix: " ago" });
    return h("span", { class: "meta" }, badge(pool.state, pool.tone), pool.reason && pool.reason !== pool.state ? h("span", {}, pool.reason) : null, since);
  }
}

class Builds {
  #table = new Table(
    [
      { title: "MachineOSBuild", text: ({ name }) => name, class: "name" },
      { title: "State", node: ({ state, tone }) => badge(state, tone), class: "state" },
      { title: "Pool", text: ({ pool }) => pool ?? "", class: "labelled" },
      { title: "Of", text: ({ config, current }) => `${config}${current ? " (current)" : ""}`, class: "labelled" },
      { title: "Created", node: ({ created }) => age(created, { suffix: " ago" }), class: "since" },
      { title: "Took", text: ({ started, ended }) => (started && ended ? between(started, ended) : ""), class: "since labelled" },
      { title: "Built by", text: ({ builder }) => builder ?? "", class: "labelled" },
      { title: "Message", update: (cell, build) => setLong(cell, build.tone === "bad" ? (build.message ?? "") : ""), class: "text" },
    ],
    { caption: "MachineOSBuilds, the newest first" },
  );
  #title = h("h2");
  element = h("section", { id: "builds" }, this.#title, this.#table.element);

  draw(builds) {
    builds.sort((a, b) => (b.created ?? "").localeCompare(a.created ?? "") || compare(a.name, b.name));
    this.element.hidden = !builds.length;
    setText(this.#title, `Builds (${builds.length})`);
    this.#table.draw(builds.map((build) => [build.name, build]));
  }
}
