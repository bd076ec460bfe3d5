// The part of the SDK that is JavaScript. It is a function of what the adapter offers, and
// gives the function by which the adapter calls back: with the promise of what the script
// exports, or the error it ended with; with a tool's name, or none for report, and its input;
// and with nothing, when all promises have come to rest, to have the output.
(function (config, http, progress, log, crash, random) {
  "use strict";

  const own = Object.prototype.hasOwnProperty;
  const MAX_WHOLE = 8 << 20; // bytes of a text that the host keeps
  const FILE = "tool.js"; // the script, as its author calls it
  const ORIGINS = null; // the source map of a script that was built: {sources, mappings, starts}
  const LEVELS = ["trace", "debug", "info", "warn", "error"];
  let tools, fault; // what the script exports, or why it exports nothing: {why, error}
  let output, failure; // what a call came to; a failure is in English and in Chinese

  // What a tool throws to fail with a code and a hint; c.fail makes it.
  class ToolError extends Error {
    constructor(code, hint, message) {
      super(message);
      this.code = code;
      this.hint = hint;
    }
  }

  const say = (en, zh) => (config("weir.locale") === "zh" ? zh : en);
  const json = (value) => JSON.stringify(value).toWellFormed();

  // ---- bytes and texts ----

  function utf8(text) {
    const binary = unescape(encodeURIComponent(String(text).toWellFormed()));
    const out = new Uint8Array(binary.length);
    for (let i = 0; i < out.length; i++) out[i] = binary.charCodeAt(i);
    return out;
  }

  function binaryOf(bytes) {
    let out = "";
    for (let i = 0; i < bytes.length; i += 8192) out += String.fromCharCode.apply(null, bytes.subarray(i, i + 8192));
    return out;
  }

  // Reads UTF-8; bytes that are none become U+FFFD.
  function textOf(bytes) {
    const binary = binaryOf(bytes);
    if (!/[\x80-\xff]/.test(binary)) return binary;
    try {
      return decodeURIComponent(escape(binary));
    } catch {
      return binary.replace(/[\x80-\xff]+/g, leniently);
    }
  }

  function leniently(run) {
    const whole = /[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|[^]/g;
    return run.replace(whole, (c) => (c.length === 1 ? "\ufffd" : decodeURIComponent(escape(c))));
  }

  function bytesOf(value) {
    if (value == null) return new Uint8Array(0);
    if (value instanceof Uint8Array) return value;
    return value instanceof ArrayBuffer ? new Uint8Array(value) : utf8(value);
  }

  const base64 = (value) => btoa(binaryOf(bytesOf(value)));

  function fromBase64(text) {
    const binary = atob(text);
    const out = new Uint8Array(binary.length);
    for (let i = 0; i < out.length; i++) out[i] = binary.charCodeAt(i);
    return out;
  }

  // ---- what a tool is given ----

  class Call {
    constructor(args) {
      this.args = args;
    }

    // Arguments by name: a missing or null one gives the fallback, one of another type
    // fails the call with bad_args.
    argStr(name, fallback = "") {
      return this.#arg(name, fallback, "a string", (v) => typeof v === "string");
    }
    argInt(name, fallback = 0) {
      return this.#arg(name, fallback, "an integer", Number.isInteger);
    }
    argNum(name, fallback = 0) {
      return this.#arg(name, fallback, "a number", (v) => typeof v === "number");
    }
    argBool(name, fallback = false) {
      return this.#arg(name, fallback, "true or false", (v) => typeof v === "boolean");
    }
    #arg(name, fallback, kind, fits) {
      const v = own.call(this.args, name) ? this.args[name] : undefined;
      if (v == null) return fallback;
      if (fits(v)) return v;
      throw this.fail("bad_args", `Give "${name}" as ${kind}.`, `Argument "${name}" must be ${kind}.`);
    }

    // The error to throw: code is one of failed bad_args denied timed_out rate_limited
    // too_large, hint says what to do next, message is one sentence.
    fail(code, hint, message) {
      return new ToolError(code, hint, message);
    }

    // How many characters and lines of the answer will be shown: for putting first what
    // matters most; cutting is the host's work.
    get maxChars() {
      return this.#limit("weir.max_chars", 8000);
    }
    get maxLines() {
      return this.#limit("weir.max_lines", 500);
    }
    #limit(key, fallback) {
      const n = parseInt(config(key), 10);
      return n > 0 ? n : fallback;
    }

    // A setting of the manifest; undefined: it is not set.
    config(key) {
      return config(String(key));
    }
    // The wording in the language of the conversation; English where it is not known.
    say(en, zh) {
      return say(en, zh);
    }
    // A line in the host's log, which no model sees. level is trace, debug, info, warn or error.
    log(level, text) {
      const n = LEVELS.indexOf(level);
      log(String(n < 0 ? 2 : n), String(text).toWellFormed());
    }
    // How far a long call is; a total of 0 is not known.
    progress(done, total, message = "") {
      progress(json({ done: Math.trunc(done), total: Math.trunc(total), message: String(message) }));
    }

    // Sends {url, method, headers, body} to a host that the operator granted, and gives
    // {status, url, headers, body, text(), json(), header(name)}, whatever the status.
    http({ url, method = "GET", headers = {}, body }) {
      const back = http(json({ method, url: String(url), headers, body: base64(body) }));
      if (back === undefined) throw this.fail("too_large", "Ask for less.", "Request or answer do not fit the memory of the call.");
      const r = JSON.parse(back);
      if (r.error) throw this.fail(r.error.code, r.error.hint, r.error.message);
      return new Response(r);
    }
  }

  class Response {
    constructor({ status, url, headers = {}, body = "" }) {
      this.status = status;
      this.url = url; // behind redirects
      this.headers = headers;
      this.body = fromBase64(body);
    }
    text() {
      return textOf(this.body);
    }
    json() {
      return JSON.parse(this.text());
    }
    // A header's value, its name in any case; "": it is absent.
    header(name) {
      const found = Object.keys(this.headers).find((k) => k.toLowerCase() === String(name).toLowerCase());
      return found === undefined ? "" : this.headers[found];
    }
  }

  // ---- the answer ----

  function encode(answer) {
    const a = typeof answer === "object" && answer !== null ? answer : { text: answer };
    const { text, lines } = listed(a.text == null ? "" : String(a.text), a.entries ?? []);
    const content = [{ type: "text", text: text.slice(0, MAX_WHOLE + 1) }]; // a character more tells the host that there is more
    for (const p of a.parts ?? []) content.push(part(p));
    const entries = lines.length > 0 ? { lines, show: a.show } : undefined;
    return json({ content, sources: a.sources, more: a.more, entries, isError: false });
  }

  // The text with its entries behind it, each on a line of its own, and the lines at which
  // they begin.
  function listed(text, entries) {
    if (entries.length === 0) return { text, lines: [] }; // the text may take most of the memory
    const pieces = [text], lines = [];
    let line = 1 + newlines(text), ended = text === "" || text.endsWith("\n");
    for (const e of entries) {
      if (!ended) pieces.push("\n"), line++;
      if (lines.at(-1) !== line) lines.push(line);
      const s = String(e);
      pieces.push(s);
      line += newlines(s);
      ended = s === "" ? true : s.endsWith("\n");
    }
    return { text: pieces.join(""), lines };
  }

  function newlines(s) {
    let n = 0;
    for (let at = s.indexOf("\n"); at >= 0; at = s.indexOf("\n", at + 1)) n++;
    return n;
  }

  function part({ mime, name = "", data }) {
    const kind = mime.split("/")[0];
    if (kind === "image" || kind === "audio") return { type: kind, data: base64(data), mimeType: mime, name };
    return { type: "resource", resource: { uri: "part:" + name, mimeType: mime, blob: base64(data) } };
  }

  function encodeError({ code, hint, message }) {
    message = String(message);
    return json({ content: [{ type: "text", text: message }], isError: true, error: { code: String(code), message, hint: String(hint ?? "") } });
  }

  // An error that the tool did not mean, and the first line of the script in its stack: the
  // adapter calls the script tool.js, and the prelude's lines are no concern of its author's.
  function said(e) {
    try {
      return e instanceof Error ? `${e.name}: ${e.message}` : String(e);
    } catch {
      return "an object without a text";
    }
  }
  function where(e) {
    const at = e instanceof Error ? /\btool\.js:(\d+):(\d+)/.exec(e.stack ?? "") : null;
    return at === null ? [] : origin(Number(at[1]), Number(at[2]));
  }
  function told(e) {
    const at = where(e);
    return said(e) + (at.length > 0 ? ` (${at.join(":")})` : "");
  }

  // The file, line and column of the source that a place of the script was made of: the last
  // mapping of its line that begins at or before its column. A number of a mapping is base64
  // digits of five bits each, the lowest first, the sixth bit saying that more follow; its
  // lowest bit is its sign. A map that does not make sense leaves the place as it is.
  function origin(line, column) {
    let found = [FILE, line, column];
    if (ORIGINS === null) return found;
    const digits = new Uint8Array(128); // by character: one more than its digit
    for (let i = 0; i < 64; i++) digits["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".charCodeAt(i)] = i + 1;
    const { sources, mappings, starts } = ORIGINS;
    const start = starts.findLast((s) => s.row < line || (s.row === line && s.column < column)) ?? { row: 1, offset: 0, before: [0, 0, 0, 0] };
    const at = [...start.before]; // the column in the script; source, line and column of that
    let row = start.row, field = 0, value = 0, shift = 1;
    for (let i = start.offset; i <= mappings.length && row <= line && (row < line || at[0] < column); i++) {
      const c = mappings.charCodeAt(i);
      const digit = digits[c] - 1;
      if (digit >= 0) {
        value += (digit & 31) * shift;
        shift *= 32;
        if (digit & 32) continue;
        if (field < 4) at[field] += value % 2 ? -(value - 1) / 2 : value / 2;
        field++, (value = 0), (shift = 1);
        continue;
      }
      if (field >= 4 && row === line && at[0] < column && sources[at[1]] && at[2] >>> 0 === at[2] && at[3] >>> 0 === at[3]) found = [sources[at[1]], at[2] + 1, at[3] + 1];
      field = 0;
      if (c === 59) row++, (at[0] = 0); // a semicolon ends a line
    }
    return found;
  }
  const both = (en, zh, error) => [en + error, zh + error];

  // What the host asks before any call: what the script exports, or why it did not start.
  function report() {
    if (fault === undefined) return json({ exports: Object.keys(tools).filter((name) => typeof tools[name] === "function") });
    const [file, line, column] = where(fault.error);
    return json({ error: "error" in fault ? said(fault.error) : fault.why[0], file, line, column });
  }

  // ---- a call ----

  async function run(name, input) {
    try {
      const args = input === "" ? {} : parse(input);
      output = encode(await tools[name](args, new Call(args)));
      failure = undefined;
    } catch (e) {
      failure = e instanceof ToolError ? undefined : both("the script threw ", "脚本抛出了 ", told(e));
      output = failure === undefined ? encodeError(e) : undefined;
    }
  }

  function parse(input) {
    let args;
    try {
      args = JSON.parse(input);
    } catch {}
    if (typeof args === "object" && args !== null && !Array.isArray(args)) return args;
    throw new ToolError("bad_args", 'Write the arguments as {"name": value}.', "The arguments must be a JSON object.");
  }

  globalThis.console = {};
  for (const level of ["debug", "info", "warn", "error"]) console[level] = (...all) => Call.prototype.log(level, all.join(" "));
  console.log = console.info;
  Math.random = () => (random() * 2 ** 21 + (random() >>> 11)) / 2 ** 53;

  return function dispatch(what, input) {
    if (what === undefined) {
      if (failure !== undefined) crash(say(...failure));
      return output;
    }
    const rest = ["the script waits for something that never happens", "脚本在等待永远不会发生的事"]; // until it comes to rest
    if (input === undefined) {
      const failed = (error) => (fault = { error, why: both("the script did not start: ", "脚本未能启动：", told(error)) });
      fault = { why: rest };
      if (what instanceof Promise) what.then((all) => ((tools = all), (fault = undefined)), failed);
      else failed(what);
    } else if (what === "") {
      failure = undefined;
      output = report();
    } else if (fault !== undefined) {
      failure = fault.why;
    } else if (typeof tools[what] !== "function") {
      failure = [`the script exports no function "${what}"`, `脚本没有导出函数 "${what}"`];
    } else {
      failure = rest;
      run(what, input);
    }
  };
})
