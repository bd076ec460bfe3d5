/**
 * weir.ts: write a tool for weir in AssemblyScript. This one file is the whole SDK; copy it beside
 * the tool.
 *
 *     import { Call, run } from "./weir";
 *     export { weir_mailbox, weir_reserve } from "./weir";
 *
 *     export function greet(): i32 {
 *       return run((c: Call): void => {
 *         const name = c.argStr("name");
 *         if (name == "") return c.fail("bad_args", "Give a name.", 'Argument "name" is empty.');
 *         c.add("Hello, " + name);
 *       });
 *     }
 *
 *     npx asc greet.ts --outFile greet.wasm -Os --runtime stub --use abort=weir/stop
 *
 * Its plugin.toml says format = "mcp" for the tool. Return all that you computed: the host keeps the
 * whole and cuts what is shown. Every call starts with fresh memory, so nothing is collected.
 */

/** Log levels. */
export enum Level { Trace, Debug, Info, Warn, Error }

/** A request, sent by the host if the operator granted the address; the host adds the secrets. */
export class Request {
  method: string = "GET";
  headers: Map<string, string> = new Map();
  body: ArrayBuffer = new ArrayBuffer(0);
  constructor(public url: string) {}
}

/** What came back, whatever its status. */
export class Response {
  status: i64 = 0;
  url: string = ""; // after redirects
  headers: Map<string, string> = new Map(); // see header()
  body: ArrayBuffer = new ArrayBuffer(0);

  /** A header's value, its name in any case; "": it is absent. */
  header(name: string): string {
    const names = this.headers.keys();
    for (let i = 0; i < names.length; i++) {
      if (names[i].toLowerCase() == name.toLowerCase()) return this.headers.get(names[i]);
    }
    return "";
  }

  text(): string { return String.UTF8.decode(this.body); }
}

/** One running call: its arguments, the way to the host, and the answer. */
export class Call {
  private text: string[] = [];
  private sources: string[] = [];
  private parts: string = "";
  private more_: string = "";
  private entries: i64[] = [];
  private counted: i32 = 0; // pieces of the text whose newlines are counted
  private newlines: i64 = 0;
  private ended: bool = true; // the text is empty or ends with a newline
  /** How many entries a model reads, from the first, where no agent's limit says otherwise; 0: as many as fit. */
  show: i64 = 0;
  private code: string = "";
  private hint: string = "";
  private message: string = "";

  constructor(private args: Value, private posted: bool) {}

  /**
   * An argument by its name; null: it is missing or null. Lists and objects are read by
   * value.list and value.get(name).
   */
  arg(name: string): Value | null {
    const v = this.args.get(name);
    return v == null || v.kind == Kind.Null ? null : v;
  }

  /**
   * A text. Like its sisters it gives the fallback for a missing argument; one of another type
   * gives it too and fails the call with bad_args, so it is enough to ask failed() once after the
   * last argument.
   */
  argStr(name: string, fallback: string = ""): string {
    const v = this.arg(name);
    if (v == null) return fallback;
    if (v.kind == Kind.Text) return v.text;
    this.wrong(name, "a string");
    return fallback;
  }

  /** A whole number, written 5 or 5.0. */
  argInt(name: string, fallback: i64 = 0): i64 {
    const v = this.arg(name);
    if (v == null) return fallback;
    if (v.isInt()) return v.int();
    this.wrong(name, "an integer");
    return fallback;
  }

  argNum(name: string, fallback: f64 = 0): f64 {
    const v = this.arg(name);
    if (v == null) return fallback;
    if (v.kind == Kind.Number) return v.num();
    this.wrong(name, "a number");
    return fallback;
  }

  argBool(name: string, fallback: bool = false): bool {
    const v = this.arg(name);
    if (v == null) return fallback;
    if (v.kind == Kind.True || v.kind == Kind.False) return v.kind == Kind.True;
    this.wrong(name, "true or false");
    return fallback;
  }

  private wrong(name: string, kind: string): void {
    this.fail("bad_args", 'Give "' + name + '" as ' + kind + ".", 'Argument "' + name + '" must be ' + kind + ".");
  }

  /** Adds to the text of the answer. */
  add(text: string): void { this.text.push(text); }

  /**
   * Begins an entry, on a line of its own: a hit, a row, a match. What is added next is its
   * beginning. The host cuts between two entries and says how many there are.
   */
  entry(): void {
    this.count();
    if (!this.ended) {
      this.add("\n");
      this.count();
    }
    const at = this.newlines + 1;
    if (this.entries.length == 0 || this.entries[this.entries.length - 1] != at) this.entries.push(at);
  }

  private count(): void {
    for (; this.counted < this.text.length; this.counted++) {
      const s = this.text[this.counted];
      for (let i = 0; i < s.length; i++) this.newlines += s.charCodeAt(i) == 10 ? 1 : 0;
      if (s.length > 0) this.ended = s.charCodeAt(s.length - 1) == 10;
    }
  }

  /** Says where the content comes from: a page or a file path; the title may be "". */
  source(title: string, url: string): void {
    this.sources.push('{"title":' + quote(title) + ',"url":' + quote(url) + "}");
  }

  /**
   * Says that there is more that the tool did not compute: items in the text, items there are (0: unknown), and the
   * arguments to change in the call that goes on, a JSON object ("": none).
   */
  more(shown: i64, total: i64, args: string = ""): void {
    this.more_ = ',"more":{"shown":' + shown.toString() + ',"total":' + total.toString() + (args == "" ? "" : ',"args":' + args) + "}";
  }

  /** Adds a picture or other bytes; the model reads one line about it. */
  part(mime: string, name: string, data: Uint8Array): void {
    const kind = mime.split("/")[0];
    if (kind == "image" || kind == "audio") {
      this.parts += ',{"type":' + quote(kind) + ',"data":"' + toBase64(data) + '","mimeType":' + quote(mime) + ',"name":' + quote(name) + "}";
    } else {
      this.parts += ',{"type":"resource","resource":{"uri":' + quote("part:" + name) + ',"mimeType":' + quote(mime) + ',"blob":"' + toBase64(data) + '"}}';
    }
  }

  /**
   * Fails the call; the first failure counts, and what was added to the text does not. code is one
   * of failed bad_args denied timed_out rate_limited too_large, hint says what to do next ("" for
   * nothing), message is one sentence.
   */
  fail(code: string, hint: string, message: string): void {
    if (this.failed()) return;
    this.code = code;
    this.hint = hint;
    this.message = message;
  }

  failed(): bool { return this.code != ""; }

  /**
   * The characters of the answer that will be shown: for putting first what matters most; cutting
   * is the host's work. Without a word of the host: 8,000.
   */
  maxChars(): i64 { return this.limit(box(MAX_CHARS), "weir.max_chars", 8000); }

  /** The lines of the answer that will be shown. Without a word of the host: 500. */
  maxLines(): i64 { return this.limit(box(MAX_LINES), "weir.max_lines", 500); }

  private limit(posted: u32, key: string, fallback: i64): i64 {
    if (this.posted) return posted > 0 ? posted : fallback;
    const s = this.config(key);
    const n = s == null ? 0 : I64.parseInt(s);
    return n > 0 ? n : fallback;
  }

  /** A setting of the manifest; null: it is not set. */
  config(key: string): string | null {
    const k = keep(utf8(key));
    if (k == 0) return null;
    const at = host_config_get(k);
    host_free(k);
    return at == 0 ? null : String.UTF8.decode(taken(at));
  }

  /** The wording in the language of the conversation; English where it is not known. */
  say(en: string, zh: string): string {
    const locale = this.config("weir.locale");
    return locale != null && locale == "zh" ? zh : en;
  }

  /** Writes a line into the host's log, which no model sees. */
  log(level: Level, text: string): void {
    const at = keep(utf8(text));
    if (at != 0) host_weir_log(level, at); // the host frees it
  }

  /** Reports the progress of a long call; a total of 0 means unknown. */
  progress(done: i64, total: i64, message: string): void {
    const at = keep(utf8('{"done":' + done.toString() + ',"total":' + total.toString() + ',"message":' + quote(message) + "}"));
    if (at != 0) host_weir_progress(at);
  }

  /** Sends a request. null: there is no response, and the call has failed with the host's reason. */
  http(r: Request): Response | null {
    const at = keep(utf8(encodeRequest(r)));
    if (at == 0) {
      this.fail("too_large", "Send a smaller request.", "The request does not fit the memory of the call.");
      return null;
    }
    const back = host_weir_http(at);
    host_free(at);
    if (back == 0) {
      this.fail("too_large", "Ask for a smaller answer.", "The answer to a request does not fit the memory of the call.");
      return null;
    }
    const read = parse(taken(back));
    const v = read == null ? new Value(Kind.Null) : read;
    const e = v.get("error");
    if (e != null) {
      this.fail(e.member("code"), e.member("hint"), e.member("message"));
      return null;
    }
    const out = decodeResponse(v);
    if (out == null) this.fail("failed", "", "The host's answer to a request could not be read.");
    return out;
  }

  /** The answer as the host reads it. */
  encode(): ArrayBuffer {
    if (this.failed()) return this.encodeFailure();
    let text = String.UTF8.encode(this.text.join(""), false, String.UTF8.ErrorMode.REPLACE);
    if (text.byteLength > 8 << 20) text = text.slice(0, (8 << 20) + 1); // a byte more tells the host that there is more
    const after = "}" + this.parts + '],"sources":[' + this.sources.join(",") + "]" + this.more_ + this.listed() + ',"isError":false}';
    return joined('{"content":[{"type":"text","text":', quoted(text), after);
  }

  private listed(): string {
    if (this.entries.length == 0) return "";
    return ',"entries":{"lines":[' + this.entries.join(",") + '],"show":' + this.show.toString() + "}";
  }

  private encodeFailure(): ArrayBuffer {
    const message = quote(this.message);
    return utf8('{"content":[{"type":"text","text":' + message + '}],"isError":true,"error":{"code":' + quote(this.code) + ',"message":' + message + ',"hint":' + quote(this.hint) + "}}");
  }
}

// ---- JSON ---------------------------------------------------------------------------------------

export enum Kind { Null, True, False, Number, Text, List, Object }

/** A JSON value. Numbers stay as they were written. */
export class Value {
  text: string = ""; // of a text or a number
  list: Value[] = []; // the elements of a list, the values of an object
  names: string[] = []; // the names of an object
  constructor(public kind: Kind) {}

  /** A member of an object; null: there is none, or this is no object. */
  get(name: string): Value | null {
    const i = this.names.indexOf(name);
    return i < 0 ? null : this.list[i];
  }

  /** The text of a member; "": there is none. */
  member(name: string): string {
    const v = this.get(name);
    return v != null && v.kind == Kind.Text ? v.text : "";
  }

  num(): f64 { return parseFloat(this.text); }

  /** A whole number, written 5 or 5.0; with a point or an exponent up to 2^53. */
  isInt(): bool {
    if (this.kind != Kind.Number) return false;
    if (isDigits(this.text)) return this.text.length < 19;
    const f = this.num();
    return f == Math.trunc(f) && Math.abs(f) <= 9007199254740992;
  }

  int(): i64 { return isDigits(this.text) ? I64.parseInt(this.text) : <i64>this.num(); }

  /** The value as JSON text. */
  toJSON(): string {
    if (this.kind == Kind.Number) return this.text;
    if (this.kind == Kind.Text) return quote(this.text);
    if (this.kind < Kind.Number) return this.kind == Kind.Null ? "null" : this.kind == Kind.True ? "true" : "false";
    const inside: string[] = [];
    for (let i = 0; i < this.list.length; i++) {
      inside.push((this.kind == Kind.Object ? quote(this.names[i]) + ":" : "") + this.list[i].toJSON());
    }
    return this.kind == Kind.List ? "[" + inside.join(",") + "]" : "{" + inside.join(",") + "}";
  }
}

function isDigits(s: string): bool {
  for (let i = s.startsWith("-") ? 1 : 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c < 48 || c > 57) return false;
  }
  return true;
}

/** Reads one JSON value; null: it is none, has something after it, or nests too deep. */
export function parse(text: ArrayBuffer): Value | null {
  const p = new Parser(String.UTF8.decode(text));
  const v = p.value(100);
  p.space();
  return p.at == p.text.length ? v : null;
}

class Parser {
  at: i32 = 0;
  constructor(public text: string) {}

  private peek(): i32 { return this.at < this.text.length ? this.text.charCodeAt(this.at) : 0; }

  space(): void {
    for (let c = this.peek(); c == 32 || c == 10 || c == 9 || c == 13; c = this.peek()) this.at++;
  }

  private take(c: i32): bool {
    this.space();
    if (this.peek() != c) return false;
    this.at++;
    return true;
  }

  value(depth: i32): Value | null {
    this.space();
    const c = this.peek();
    if (c == 0x22) {
      const s = this.string();
      if (s == null) return null;
      const v = new Value(Kind.Text);
      v.text = s;
      return v;
    }
    if (c == 0x7b || c == 0x5b) return depth == 0 ? null : this.inside(c == 0x7b, depth - 1);
    if (c == 0x2d || (c >= 48 && c <= 57)) return this.number();
    if (this.word("true")) return new Value(Kind.True);
    if (this.word("false")) return new Value(Kind.False);
    return this.word("null") ? new Value(Kind.Null) : null;
  }

  private word(w: string): bool {
    if (this.text.substr(this.at, w.length) != w) return false;
    this.at += w.length;
    return true;
  }

  private number(): Value {
    const from = this.at;
    for (let c = this.peek(); c == 0x2d || c == 0x2b || c == 0x2e || c == 0x65 || c == 0x45 || (c >= 48 && c <= 57); c = this.peek()) this.at++;
    const v = new Value(Kind.Number);
    v.text = this.text.substring(from, this.at);
    return v;
  }

  private inside(object: bool, depth: i32): Value | null {
    const v = new Value(object ? Kind.Object : Kind.List);
    const end = object ? 0x7d : 0x5d;
    this.at++;
    if (this.take(end)) return v;
    while (true) {
      if (object) {
        this.space();
        const name = this.string();
        if (name == null || !this.take(0x3a)) return null;
        v.names.push(name);
      }
      const inner = this.value(depth);
      if (inner == null) return null;
      v.list.push(inner);
      if (this.take(end)) return v;
      if (!this.take(0x2c)) return null;
    }
  }

  private string(): string | null {
    if (this.peek() != 0x22) return null;
    this.at++;
    const out: string[] = [];
    while (true) {
      const from = this.at;
      while (this.at < this.text.length && this.peek() != 0x22 && this.peek() != 0x5c) this.at++;
      out.push(this.text.substring(from, this.at));
      if (this.at >= this.text.length) return null;
      if (this.text.charCodeAt(this.at++) == 0x22) return out.join("");
      out.push(this.escape());
    }
  }

  private escape(): string {
    const c = this.peek();
    this.at++;
    if (c == 0x75) {
      const hex = this.text.substr(this.at, 4);
      this.at += 4;
      return String.fromCharCode(<i32>I64.parseInt(hex, 16));
    }
    const i = "nrtbf".indexOf(String.fromCharCode(c));
    return i < 0 ? String.fromCharCode(c) : "\n\r\t\b\f".charAt(i);
  }
}

function quote(s: string): string {
  return String.UTF8.decode(quoted(utf8(s)));
}

/** The bytes of a text as a JSON string. */
function quoted(text: ArrayBuffer): ArrayBuffer {
  const hex = "0123456789abcdef";
  const from = Uint8Array.wrap(text);
  let more = 2;
  for (let i = 0; i < from.length; i++) {
    const c = unchecked(from[i]);
    more += c == 10 || c == 34 || c == 92 ? 1 : c < 32 ? 5 : 0;
  }
  const out = new Uint8Array(from.length + more);
  let n = 0;
  unchecked(out[n++] = 34);
  for (let i = 0; i < from.length; i++) {
    const c = unchecked(from[i]);
    if (c >= 32 && c != 34 && c != 92) {
      unchecked(out[n++] = c);
      continue;
    }
    unchecked(out[n++] = 92);
    if (c >= 32 || c == 10) {
      unchecked(out[n++] = c == 10 ? 0x6e : c);
      continue;
    }
    unchecked(out[n++] = 0x75);
    unchecked(out[n++] = 48);
    unchecked(out[n++] = 48);
    unchecked(out[n++] = 48 + (c >> 4));
    unchecked(out[n++] = <u8>hex.charCodeAt(c & 15));
  }
  unchecked(out[n] = 34);
  return out.buffer;
}

function utf8(s: string): ArrayBuffer { return String.UTF8.encode(s, false, String.UTF8.ErrorMode.REPLACE); }

function joined(before: string, middle: ArrayBuffer, after: string): ArrayBuffer {
  const a = utf8(before), b = utf8(after);
  const out = new Uint8Array(a.byteLength + middle.byteLength + b.byteLength);
  out.set(Uint8Array.wrap(a));
  out.set(Uint8Array.wrap(middle), a.byteLength);
  out.set(Uint8Array.wrap(b), a.byteLength + middle.byteLength);
  return out.buffer;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function toBase64(data: Uint8Array): string {
  const out: string[] = [];
  for (let i = 0; i < data.length; i += 3) {
    const two = i + 1 < data.length, three = i + 2 < data.length;
    const v = (<i32>data[i] << 16) | (two ? <i32>data[i + 1] << 8 : 0) | (three ? <i32>data[i + 2] : 0);
    out.push(DIGITS.charAt(v >> 18) + DIGITS.charAt((v >> 12) & 63) + (two ? DIGITS.charAt((v >> 6) & 63) : "=") + (three ? DIGITS.charAt(v & 63) : "="));
  }
  return out.join("");
}

function fromBase64(s: string): ArrayBuffer {
  const out = new Uint8Array((s.length / 4) * 3);
  let v = 0, bits = 0, n = 0;
  for (let i = 0; i < s.length; i++) {
    const d = DIGITS.indexOf(s.charAt(i));
    if (d < 0) break;
    v = (v << 6) | d;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out[n++] = <u8>(v >> bits);
    }
  }
  return out.buffer.slice(0, n);
}

function encodeRequest(r: Request): string {
  const names = r.headers.keys();
  const headers: string[] = [];
  for (let i = 0; i < names.length; i++) headers.push(quote(names[i]) + ":" + quote(r.headers.get(names[i])));
  return '{"method":' + quote(r.method) + ',"url":' + quote(r.url) + ',"headers":{' + headers.join(",") + '},"body":"' + toBase64(Uint8Array.wrap(r.body)) + '"}';
}

function decodeResponse(v: Value): Response | null {
  const status = v.get("status");
  if (status == null || !status.isInt()) return null;
  const out = new Response();
  out.status = status.int();
  out.url = v.member("url");
  out.body = fromBase64(v.member("body"));
  const headers = v.get("headers");
  for (let i = 0; headers != null && i < headers.names.length; i++) out.headers.set(headers.names[i], headers.list[i].text);
  return out;
}

// ---- the host -----------------------------------------------------------------------------------

@external("extism:host/env", "input_length") declare function host_input_length(): u64;
@external("extism:host/env", "input_load_u8") declare function host_input_load_u8(at: u64): u32;
@external("extism:host/env", "input_load_u64") declare function host_input_load_u64(at: u64): u64;
@external("extism:host/env", "alloc") declare function host_alloc(length: u64): u64;
@external("extism:host/env", "free") declare function host_free(at: u64): void;
@external("extism:host/env", "length") declare function host_length(at: u64): u64;
@external("extism:host/env", "load_u8") declare function host_load_u8(at: u64): u32;
@external("extism:host/env", "load_u64") declare function host_load_u64(at: u64): u64;
@external("extism:host/env", "store_u8") declare function host_store_u8(at: u64, v: u32): void;
@external("extism:host/env", "store_u64") declare function host_store_u64(at: u64, v: u64): void;
@external("extism:host/env", "output_set") declare function host_output_set(at: u64, length: u64): void;
@external("extism:host/env", "error_set") declare function host_error_set(at: u64): void;
@external("extism:host/env", "config_get") declare function host_config_get(key: u64): u64;
@external("extism:host/user", "weir_http") declare function host_weir_http(request: u64): u64;
@external("extism:host/user", "weir_progress") declare function host_weir_progress(report: u64): void;
@external("extism:host/user", "weir_log") declare function host_weir_log(level: i32, text: u64): void;

/** A copy in the host's memory; 0: it has none left. */
function keep(b: ArrayBuffer): u64 {
  const n = b.byteLength, at = host_alloc(n), from = changetype<usize>(b);
  if (at == 0) return 0;
  let i = 0;
  for (; i + 8 <= n; i += 8) host_store_u64(at + i, load<u64>(from + i));
  for (; i < n; i++) host_store_u8(at + i, load<u8>(from + i));
  return at;
}

/** A copy of the host's memory, which is given back. */
function taken(at: u64): ArrayBuffer {
  const n = <i32>host_length(at), b = new ArrayBuffer(n), to = changetype<usize>(b);
  let i = 0;
  for (; i + 8 <= n; i += 8) store<u64>(to + i, host_load_u64(at + i));
  for (; i < n; i++) store<u8>(to + i, <u8>host_load_u8(at + i));
  host_free(at);
  return b;
}

function input(): ArrayBuffer {
  const n = <i32>host_input_length(), b = new ArrayBuffer(n), to = changetype<usize>(b);
  let i = 0;
  for (; i + 8 <= n; i += 8) store<u64>(to + i, host_input_load_u64(i));
  for (; i < n; i++) store<u8>(to + i, <u8>host_input_load_u8(i));
  return b;
}

// The mailbox, by which a host that knows of it passes arguments and answer in one piece each
// (docs/abi.md). Others do not look at it.
const MAILBOX = memory.data<u32>([0x72696577, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
const ROOM = memory.data(4096, 8);
const STATE = 2, IN_PTR = 3, IN_CAP = 4, IN_LEN = 5, OUT_PTR = 6, OUT_LEN = 7, MAX_CHARS = 10, MAX_LINES = 11;

function box(field: i32): u32 { return load<u32>(MAILBOX + 4 * field); }
function setBox(field: i32, v: usize): void { store<u32>(MAILBOX + 4 * field, <u32>v); }

export function weir_mailbox(): usize {
  setBox(IN_PTR, ROOM);
  setBox(IN_CAP, 4096);
  return MAILBOX;
}

export function weir_reserve(bytes: i32): i32 {
  setBox(IN_PTR, heap.alloc(bytes));
  setBox(IN_CAP, bytes);
  return 1;
}

function posted(): ArrayBuffer {
  const b = new ArrayBuffer(box(IN_LEN));
  memory.copy(changetype<usize>(b), box(IN_PTR), box(IN_LEN));
  return b;
}

/** Reads the arguments, runs the tool and hands its answer to the host. It is a tool's export. */
export function run(tool: (c: Call) => void): i32 {
  const byMailbox = box(STATE) == 1;
  const text = byMailbox ? posted() : input();
  let args = parse(text);
  const c = new Call(args == null ? new Value(Kind.Object) : args, byMailbox);
  if (text.byteLength > 0 && (args == null || args.kind != Kind.Object)) {
    c.fail("bad_args", 'Write the arguments as {"name": value}.', "The arguments must be a JSON object.");
  } else {
    tool(c);
  }
  const out = c.encode();
  if (byMailbox) {
    setBox(OUT_PTR, changetype<usize>(out)); // nothing is collected: it stays
    setBox(OUT_LEN, out.byteLength);
    setBox(STATE, 2);
    return 0;
  }
  let at = keep(out);
  if (at != 0) {
    host_output_set(at, out.byteLength);
    return 0;
  }
  at = keep(utf8("too_large: the result does not fit the memory of the call"));
  if (at != 0) host_error_set(at);
  return 1;
}

/** Ends the call. The compiler calls it with --use abort=weir/stop. */
export function stop(message: string | null, file: string | null, line: u32, column: u32): void {
  unreachable();
}
