// The frame: who is signed in, which view is shown, whether what is shown is current.

import { h, Keyed, setText } from "./dom.js";
import { Follower } from "./follower.js";
import { age, freeze, tick, when } from "./time.js";

const main = document.getElementById("main");
const views = document.getElementById("views");
const state = document.getElementById("state");
const ageOfData = document.getElementById("age");
const who = document.getElementById("who");

const troubles = new Keyed(document.getElementById("troubles"), {
  make: () => h("p"),
  update: (element, text) => setText(element, text),
});

// The key of the link has done its work: it is not left in the address.
if (location.search) history.replaceState(null, "", location.pathname + location.hash);

let follower = null;
let session = null;
let shown = "";

async function ask(path, options) {
  const response = await fetch(path, options);
  const body = response.status === 204 ? null : await response.json();
  return { status: response.status, ok: response.ok, body };
}

function show(...content) {
  main.replaceChildren(...content);
}

function setState(name, text) {
  document.body.dataset.state = name;
  setText(state, text);
}

async function begin() {
  setState("connecting", "Connecting");
  try {
    const { status, ok, body } = await ask("/api/session");
    if (status === 401) return refuse(body.error);
    if (!ok) throw new Error(body.error);
    session = body;
  } catch {
    setState("lost", "The server cannot be reached");
    setTimeout(begin, 3000);
    return;
  }
  drawWho();
  open(location.pathname.slice(1), { push: false });
}

function drawWho() {
  if (!session.signsIn) return who.replaceChildren();
  const out = h("button", { type: "button", onclick: signOut }, "Sign out");
  who.replaceChildren(h("span", { class: "user", title: session.user }, session.user), out);
}

async function open(name, { push = true } = {}) {
  const view = session.views.find((one) => one.name === name) ?? session.views.find((one) => one.allowed) ?? session.views[0];
  follower?.stop();
  shown = view.name;
  freeze(null);
  troubles.draw([]);
  ageOfData.replaceChildren();
  const path = `/${view.name}`;
  if (push) history.pushState(null, "", path);
  else if (location.pathname !== path) history.replaceState(null, "", path + location.hash);
  drawNavigation(view);
  document.title = `${view.title} – Windlass`;
  const { mount } = await import(`./${view.name}.js`);
  const drawn = mount({ details: (query) => ask(`/api/views/${view.name}/details?${new URLSearchParams(query)}`), open });
  const mine = (follower = new Follower(view.name, {
    onChange: (keys) => follower === mine && change(drawn, view, keys),
    onState: (...news) => follower === mine && changeState(...news),
  }));
  mine.start();
}

function drawNavigation(current) {
  views.replaceChildren(
    ...session.views.map((view) =>
      h(
        "a",
        {
          href: `/${view.name}`,
          "aria-current": view === current ? "page" : null,
          onclick: (event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            open(view.name);
          },
        },
        view.title,
      ),
    ),
  );
}

function change(drawn, view, keys) {
  const parts = follower.parts;
  freeze(parts.get("clock")?.now);
  const found = parts.get("troubles") ?? [];
  troubles.draw(found.map((text) => [text, text]));
  if (!main.contains(drawn.element)) show(drawn.element);
  const title = drawn.draw(parts, keys);
  document.title = `${title ?? view.title} – Windlass`;
  drawAge();
  if (["live", "stale"].includes(document.body.dataset.state)) drawCurrent();
}

function changeState(name, why, status) {
  if (name === "refused") return refuse(why, status);
  if (name === "hidden") return setState(name, "Paused while hidden");
  if (name === "lost") return setState(name, `Not current: ${why}`);
  drawCurrent();
}

// The page follows the server at once; whether what it shows is current is another question.
function drawCurrent() {
  const parts = follower.parts;
  if (parts.get("clock")?.now) setState("recorded", "Recorded");
  else if (parts.has("stale")) setState("stale", "Not current");
  else setState("live", "Live");
}

function drawAge() {
  const recorded = follower.parts.get("clock")?.now;
  // The server knows changes only since it began, so a view may tell of earlier ones.
  const changed = follower.parts.get("changed")?.at || follower.changedAt;
  const read = follower.parts.get("read")?.at;
  if (read) ageOfData.replaceChildren("read ", age(read, { suffix: " ago" }));
  else if (recorded) ageOfData.replaceChildren("at ", when(recorded, { today: Date.now() }));
  else if (changed) ageOfData.replaceChildren("changed ", age(changed, { suffix: " ago" }));
}

function refuse(why, status = 401) {
  follower?.stop();
  troubles.draw([]);
  ageOfData.replaceChildren();
  if (status === 401) {
    session = null;
    views.replaceChildren();
    who.replaceChildren();
    setState("out", "Signed out");
    show(signInForm(why));
    return;
  }
  setState("out", "No access");
  show(h("section", { class: "notice" }, h("h1", {}, "You may not see this"), h("p", {}, why)));
}

function signInForm(why) {
  // On one's own machine there is nothing to sign in with: the link is the key.
  if (why.includes("link")) {
    return h("section", { class: "notice" }, h("h1", {}, "This page is locked"), h("p", {}, why));
  }
  const told = h("p", { class: "error", role: "alert" });
  const token = h("textarea", {
    id: "token",
    name: "token",
    rows: 5,
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": "token-help",
  });
  const button = h("button", { type: "submit", class: "primary" }, "Sign in");
  const form = h(
    "form",
    { class: "notice" },
    h("h1", {}, "Sign in"),
    h("label", { for: "token" }, "Token of the cluster"),
    token,
    h(
      "p",
      { id: "token-help", class: "muted" },
      "What ",
      h("code", {}, "oc whoami -t"),
      " prints, or ",
      h("code", {}, "kubectl create token NAME"),
      ". It stays in the memory of this server until you sign out.",
    ),
    told,
    button,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    setText(told, "");
    try {
      const answer = await ask("/api/session", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ token: token.value.trim() }),
      });
      if (answer.ok) return begin();
      setText(told, answer.body.error);
    } catch {
      setText(told, "The server cannot be reached.");
    } finally {
      token.value = "";
      button.disabled = false;
    }
    token.focus();
  });
  queueMicrotask(() => token.focus());
  return form;
}

async function signOut() {
  follower?.stop();
  await ask("/api/session", { method: "DELETE" }).catch(() => null);
  location.assign("/");
}

// A link to a part of the page, too, is a step of the history: it changes no view.
addEventListener("popstate", () => {
  const name = location.pathname.slice(1);
  if (session && name !== shown) open(name, { push: false });
});
setInterval(tick, 1000);
begin();
