// Follows the document of a view: fetches it, then listens to what changes, and starts again when the stream breaks.
//
// EventSource does not tell why a server refuses, so each attempt begins with a fetch, which does. A hidden page closes
// its stream: a browser has six connections to a host, and an operator has many tabs.

import { setClock } from "./time.js";

const SHORTEST = 500;
const LONGEST = 15_000;
// The server gives a sign of life each ten seconds.
const SILENCE = 25_000;

export class Follower {
  parts = new Map();
  // When the document changed last, by the server's clock.
  changedAt = null;
  #stamp = "";
  #url;
  #onChange;
  #onState;
  #source = null;
  #timer = 0;
  #watchdog = 0;
  #pause = SHORTEST;
  #attempt = 0;
  #stopped = true;
  #visibility = () => this.#seen();

  // onChange(keys, whole): these parts are different or gone. onState(state, why, status): live, lost, hidden, refused.
  constructor(view, { onChange, onState }) {
    this.#url = `/api/views/${encodeURIComponent(view)}`;
    this.#onChange = onChange;
    this.#onState = onState;
  }

  start() {
    this.#stopped = false;
    document.addEventListener("visibilitychange", this.#visibility);
    this.#connect();
  }

  stop() {
    this.#stopped = true;
    document.removeEventListener("visibilitychange", this.#visibility);
    this.#close();
  }

  async #connect() {
    this.#close();
    const attempt = ++this.#attempt;
    const current = () => attempt === this.#attempt && !this.#stopped;
    let answer;
    try {
      const response = await fetch(`${this.#url}/document?since=${encodeURIComponent(this.#stamp)}`);
      if (!current()) return;
      setClock(response.headers.get("X-Windlass-Now"));
      answer = await response.json();
      if (!current()) return;
      if (!response.ok) return this.#refused(response.status, answer.error);
    } catch {
      if (current()) this.#lost("the server cannot be reached");
      return;
    }
    this.#take(answer);
    if (document.hidden) return this.#onState("hidden");
    this.#listen();
  }

  #listen() {
    const source = new EventSource(`${this.#url}/changes?since=${encodeURIComponent(this.#stamp)}`);
    this.#source = source;
    const alive = () => {
      clearTimeout(this.#watchdog);
      this.#watchdog = setTimeout(() => this.#lost("the server is silent"), SILENCE);
    };
    source.addEventListener("beat", (event) => {
      alive();
      this.#pause = SHORTEST;
      setClock(JSON.parse(event.data).now);
      this.#onState("live");
    });
    source.addEventListener("change", (event) => {
      alive();
      this.#take(JSON.parse(event.data));
    });
    source.addEventListener("end", (event) => {
      const { status, why } = JSON.parse(event.data);
      this.#refused(status, why);
    });
    source.addEventListener("error", () => this.#lost("the connection is lost"));
    alive();
  }

  #take({ stamp, whole, parts, gone, at }) {
    const keys = new Set([...Object.keys(parts), ...gone]);
    if (whole) {
      for (const key of this.parts.keys()) keys.add(key);
      this.parts.clear();
    }
    for (const key of gone) this.parts.delete(key);
    for (const [key, value] of Object.entries(parts)) this.parts.set(key, value);
    this.#stamp = stamp;
    this.changedAt = at;
    if (keys.size || whole) this.#onChange(keys, whole);
  }

  #refused(status, why) {
    if (status !== 401 && status !== 403 && status !== 404) return this.#lost(why ?? "the server has failed");
    this.#close();
    this.#stamp = "";
    this.parts.clear();
    this.#onState("refused", why, status);
  }

  #lost(why) {
    this.#close();
    this.#onState("lost", why);
    this.#timer = setTimeout(() => this.#connect(), this.#pause * (0.7 + 0.6 * Math.random()));
    this.#pause = Math.min(LONGEST, this.#pause * 2);
  }

  #seen() {
    if (document.hidden) {
      this.#close();
      this.#onState("hidden");
    } else if (!this.#source) {
      this.#pause = SHORTEST;
      this.#connect();
    }
  }

  #close() {
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
    this.#source?.close();
    this.#source = null;
    this.#attempt++;
  }
}
