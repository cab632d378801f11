// Makes and updates elements. Texts of a cluster only ever become text nodes, never HTML.

// Characters that command a terminal or turn the direction of writing could make a text look like another one.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function clean(text) {
  return String(text).replace(UNSEEN, "\ufffd");
}

// h("a", { class: "x", href: "/" }, "text", node): an element with attributes, listeners (onclick) and children.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false && child !== "") element.append(clean(child));
  }
  return element;
}

// Sets the text of an element if it differs, so that screen readers and selections are left alone.
export function setText(element, text) {
  const cleaned = clean(text);
  if (element.textContent !== cleaned) element.textContent = cleaned;
}

// Calls `then` once what is there now is on the screen.
export function afterNextFrame(then) {
  requestAnimationFrame(() => setTimeout(then));
}

// Puts `wanted` elements into `parent` in this order; those that are there already stay, with their focus.
export function arrange(parent, wanted) {
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  let place = parent.firstElementChild;
  for (const element of wanted) {
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
}

// Keeps one element for each key. `make(item)` returns the element, `update(element, item)` draws a changed item.
export class Keyed {
  #parent;
  #make;
  #update;
  #known = new Map();

  constructor(parent, { make, update }) {
    this.#parent = parent;
    this.#make = make;
    this.#update = update;
  }

  // `items`: [key, value] in order. A value is drawn again only if it is another one than before.
  draw(items) {
    const wanted = [];
    const seen = new Set();
    for (const [key, value] of items) {
      let known = this.#known.get(key);
      if (!known) {
        known = { element: this.#make(value, key), value: undefined };
        this.#known.set(key, known);
      }
      if (known.value !== value) {
        this.#update(known.element, value, key);
        known.value = value;
      }
      seen.add(key);
      wanted.push(known.element);
    }
    for (const key of [...this.#known.keys()]) if (!seen.has(key)) this.#known.delete(key);
    arrange(this.#parent, wanted);
  }
}

// Compares names as people sort them: worker-2 before worker-10. Not by Intl.Collator: a page that opens would wait
// longer for that than for everything that it draws.
export function compare(a = "", b = "") {
  const [left, right] = [sortable(a), sortable(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

const MOST_KEPT = 20_000;
const kept = new Map();

// The same names are sorted at every change.
function sortable(name) {
  let found = kept.get(name);
  if (found === undefined) {
    found = name.replace(/\d+/g, (digits) => digits.padStart(20, "0"));
    if (kept.size >= MOST_KEPT) kept.clear();
    kept.set(name, found);
  }
  return found;
}

// A text that takes a few lines: what is longer can be opened.
export function long(text, most = 240) {
  const start = text.split("\n", 3).join("\n").slice(0, most);
  if (start.length === text.length) return clean(text);
  return h("details", { class: "long" }, h("summary", {}, start.trimEnd()), h("div", {}, text));
}

// Draws a long text into an element; if it was open, it stays open.
export function setLong(element, text, most) {
  if (element.dataset.whole === text) return;
  const open = element.querySelector("details")?.open ?? false;
  element.dataset.whole = text;
  element.replaceChildren(long(text, most));
  const details = element.querySelector("details");
  if (details) details.open = open;
}

// A link to documentation, if the text is an https URL; else the text itself. What a cluster says is not trusted:
// no other scheme becomes a link, and the host is shown so that people see where it leads.
export function documentation(reference, title) {
  let url;
  try {
    url = new URL(reference);
  } catch {
    return reference ? h("span", { class: "muted" }, reference) : null;
  }
  if (url.protocol !== "https:") return h("span", { class: "muted" }, reference);
  return h(
    "a",
    { href: url.href, target: "_blank", rel: "noopener noreferrer" },
    title,
    h("span", { class: "host" }, url.host),
  );
}

// `1 node`, `3 nodes`
export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}
