// What a script finds, and the way from it to the host. It is a function of nothing and
// returns the function by which the host speaks to it: dispatch(what, a, b).
(function () {
  "use strict";

  // A script may replace what is built in; that harms itself alone, but its end has to be
  // seen.
  const { parse, stringify } = JSON;
  const { freeze, defineProperty } = Object;
  const { apply } = Reflect;
  const { then } = Promise.prototype;
  const { resolve } = Promise;
  const SMALL = 4000; // characters of a result that come with it
  let wants = []; // what the host is asked for since the last take
  const waiting = new Map(); // by id: {resolve, reject} of what the host was asked for
  const stored = new Map(); // store and load
  const said = []; // text(): parts of the output
  let logged = []; // console
  let asked = 0; // ids given
  let state = { done: false };
  let names = freeze([]);
  let args = freeze({});
  let columns = []; // of a script in TypeScript, by line: [column, column in the source, …], from 0

  const EXIT = Symbol("exit");

  // Asks the host; the promise settles when the host answers.
  function ask(kind, body) {
    return new Promise((resolve, reject) => {
      const id = ++asked;
      const at = place(new Error());
      let want;
      try {
        want = wholes("arguments", () => stringify({ id, kind, ...body }));
      } catch (e) {
        reject(new TypeError(`the arguments cannot be written as JSON: ${e.message}`));
        return;
      }
      waiting.set(id, { resolve, reject, at });
      wants.push(want);
    });
  }

  // Writes JSON in which results are references: in the arguments of a call all of them, in an
  // answer the long ones.
  let writing = "";
  function wholes(what, write) {
    writing = what;
    try {
      return write();
    } finally {
      writing = "";
    }
  }

  // The first place of the script in an error's stack: [line, column].
  function place(error) {
    const [, line, column] = /\bscript\.js:(\d+):(\d+)/.exec(error.stack ?? "") ?? [0, 0, 0];
    const shifts = columns[line - 1] ?? [];
    let distance = 0;
    for (let i = 0; i < shifts.length && shifts[i] < column; i += 2) distance = shifts[i + 1] - shifts[i];
    return [Number(line), Number(column) + distance];
  }

  class ToolError extends Error {
    constructor({ code, message, hint }, at) {
      super(hint ? `${message} (${hint})` : message);
      this.name = "ToolError";
      this.code = code;
      this.hint = hint;
      defineProperty(this, "at", { value: at });
    }
  }

  // A call of a tool under way. What takes it for its result throws an error that says what
  // is missing.
  class Call extends Promise {
    #tool;
    static get [Symbol.species]() {
      return Promise;
    }
    constructor(settle, tool) {
      super(settle);
      this.#tool = tool;
    }
    then(done, failed) {
      idle.delete(this);
      return apply(then, this, [done, failed]);
    }
    static missing(call) {
      return new TypeError(`await is missing: write await tools.${call.#tool}(…); its result is not there before`);
    }
  }
  const ofTexts = Object.getOwnPropertyNames(String.prototype).filter((name) => name !== "constructor");
  const ofLists = ["map", "filter", "find", "forEach", "reduce", "some", "every", "join", Symbol.iterator];
  for (const name of ["text", "json", "table", "part", "chars", "lines", "uuid", "tool", "toJSON", Symbol.toPrimitive, ...ofTexts, ...ofLists])
    defineProperty(Call.prototype, name, {
      get() {
        throw Call.missing(this);
      },
    });
  const idle = new Map(); // calls that nothing has awaited yet: {id, name of the tool}

  // A result of a tool: the host keeps the whole, and gives what is asked for.
  class Result {
    #text;
    constructor({ tool, uuid, chars, lines, text }) {
      this.tool = tool;
      this.uuid = uuid;
      this.chars = chars;
      this.lines = lines;
      this.#text = text; // undefined: it is longer than SMALL
      freeze(this);
    }
    async text() {
      return this.#text ?? ask("text", { uuid: this.uuid });
    }
    async json() {
      return parse(await this.text());
    }
    // lines "10-20" or [10, 20], grep, pointer, head, tail, offset: as load_tool_history has them.
    async part(which = {}) {
      if (typeof which !== "object" || which instanceof RegExp) throw new TypeError('write r.part({lines: "10-20"}) or r.part({grep: "…"})');
      const part = { ...which, uuid: this.uuid };
      if (part.grep instanceof RegExp) part.grep = (part.grep.ignoreCase ? "(?i)" : "") + part.grep.source;
      return ask("part", { part });
    }
    async table() {
      return table(await this.text());
    }
    [Symbol.toPrimitive]() {
      if (this.#text !== undefined) return this.#text;
      throw new TypeError(`the result of ${this.tool} has ${this.chars} characters, too many for a text in passing; write await r.text(), or r.part({grep: "…"})`);
    }
    get length() {
      return this[Symbol.toPrimitive]().length;
    }
    toString() {
      return this[Symbol.toPrimitive]();
    }
    // What the host puts in its place in an answer.
    whole() {
      return this.#text ?? { result: this.uuid };
    }
    // As an argument it is a reference, which the host replaces by the whole.
    toJSON() {
      if (this.uuid === "" || writing === "" || (writing === "answer" && this.#text !== undefined)) return this[Symbol.toPrimitive]();
      return "@result:" + this.uuid;
    }
  }
  // A short result has the methods of a text; what a list has says how to get one.
  for (const name of ofTexts) {
    const method = String.prototype[name];
    if (typeof method !== "function" || name in Result.prototype) continue;
    defineProperty(Result.prototype, name, {
      value(...args) {
        return apply(method, this[Symbol.toPrimitive](), args);
      },
    });
  }
  for (const name of ofLists)
    defineProperty(Result.prototype, name, {
      get() {
        throw new TypeError(`the result of ${this.tool} is a text, not a list; write await r.json(), await r.table(), or (await r.text()).split("\\n")`);
      },
    });

  // Rows of an array of objects in JSON, or of comma-separated lines whose first has the names.
  function table(text) {
    try {
      const rows = parse(text);
      if (Array.isArray(rows)) return rows;
    } catch {}
    const [names = [], ...rows] = csv(text);
    return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i] ?? ""])));
  }

  function csv(text) {
    const rows = [];
    let row = [], cell = "", quoted = false;
    const end = () => {
      row.push(cell);
      if (row.length > 1 || cell !== "") rows.push(row);
      row = [];
      cell = "";
    };
    for (let i = 0; i < text.length; i++) {
      const c = text[i];
      if (quoted) {
        if (c !== '"') cell += c;
        else if (text[i + 1] === '"') cell += text[++i];
        else quoted = false;
      } else if (c === '"' && cell === "") quoted = true;
      else if (c === ",") {
        row.push(cell);
        cell = "";
      } else if (c === "\n") end();
      else if (c !== "\r") cell += c;
    }
    if (cell !== "" || row.length > 0) end();
    return rows;
  }

  const tools = new Proxy({ __proto__: null }, {
    set: () => false,
    defineProperty: () => false,
    get(_, name) {
      if (typeof name !== "string" || name === "then") return undefined;
      if (name === "find") return (query, count) => ask("find", { query, count });
      if (name === "describe") return (tool) => ask("describe", { tool });
      return (args = {}) => {
        const answer = ask("call", { tool: name, args });
        const call = new Call((resolve, reject) => apply(then, answer, [(r) => resolve(new Result(r)), reject]), name);
        idle.set(call, { id: asked, name });
        return call;
      };
    },
    has: (_, name) => names.includes(name),
    ownKeys: () => names,
    getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true }),
  });

  const written = (v, indent) => (typeof v === "object" && v !== null ? wholes("answer", () => stringify(v, null, indent)) : String(v));
  const shown = (v) => (v instanceof Result ? `[result of ${v.tool}: ${v.chars} characters]` : written(v));

  const globals = {
    tools,
    text: (value) => void said.push(value),
    store: (key, value) => void stored.set(String(key), value),
    load: (key) => stored.get(String(key)),
    exit: () => {
      throw EXIT;
    },
    console: freeze(Object.fromEntries(["log", "info", "debug", "warn", "error"].map((level) => [level, (...all) => void logged.push(all.map(shown).join(" "))]))),
  };
  for (const [name, value] of Object.entries(globals)) defineProperty(globalThis, name, { value, enumerable: true });
  defineProperty(globalThis, "ALL_TOOLS", { get: () => names, enumerable: true });
  defineProperty(globalThis, "args", { get: () => args, enumerable: true });

  // An error for the model: its words, and its place in the script.
  function describe(error) {
    if (!(error instanceof Error)) return { message: `the script threw ${shown(error)}`, line: 0, column: 0 };
    const [line, column] = error instanceof ToolError ? error.at : place(error);
    return { message: `${error.name}: ${error.message}`, code: error instanceof ToolError ? error.code : undefined, line, column };
  }

  function finish(value) {
    if (value !== undefined) said[said.length] = value;
    try {
      const output = [];
      for (let i = 0; i < said.length; i++) output[i] = said[i] instanceof Result ? said[i].whole() : written(said[i], 1);
      state = { done: true, output, idle: idle.size === 0 ? [] : [...idle.values()].filter(({ id }) => !waiting.has(id)).map(({ name }) => name) };
    } catch (error) {
      fail(error);
    }
  }
  const fail = (error) => (error === EXIT ? finish() : (state = { done: true, error: describe(error), idle: [] }));

  // Every script starts with the same state: the host's seed makes random numbers differ.
  function seeded(seed) {
    const step = () => {
      seed = (seed + 0x6d2b79f5) | 0;
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return (t ^ (t >>> 14)) >>> 0;
    };
    return () => ((step() >>> 5) * 0x4000000 + (step() >>> 6)) / 0x20000000000000;
  }

  return function dispatch(what, a, b) {
    if (what === "run") {
      const setting = parse(b);
      columns = setting.columns ?? [];
      Math.random = seeded(setting.seed ?? 0);
      names = freeze(setting.tools ?? []);
      args = freeze(setting.args ?? {});
      try {
        apply(then, apply(resolve, Promise, [a()]), [finish, fail]);
      } catch (error) {
        fail(error);
      }
    } else if (what === "reset") { // after the rehearsal
      state = { done: false };
      asked = 0;
      said.length = 0;
    } else if (what === "check") {
      state = { done: true };
    } else if (what === "broken") {
      columns = parse(b).columns ?? [];
      fail(a);
    } else if (what === "give") {
      const { id, error, value } = parse(a);
      const w = waiting.get(id);
      waiting.delete(id);
      if (w === undefined) return;
      if (error !== undefined) w.reject(new ToolError(error, w.at));
      else w.resolve(value);
    } else {
      state.logged = logged;
      const taken = `{"state":${stringify(state)},"wants":[${wants.length === 0 ? "" : wants.join(",")}]}`;
      wants = [];
      logged = [];
      return taken;
    }
  };
})
