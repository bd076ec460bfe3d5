/**
 * conform is the tool that every SDK of weir has: it does what its argument "do" says, so that the
 * vectors of sdk/testdata/abi can ask each SDK for the same.
 */
import { Call, Level, Request, Value, run } from "../../weir";
export { weir_mailbox, weir_reserve } from "../../weir";

let calls: i64 = 0; // 1 in every call: each starts fresh

export function conform(): i32 {
  calls++;
  return run(act);
}

function act(c: Call): void {
  const what = c.argStr("do"), text = c.argStr("text");
  if (what == "echo") c.add(text);
  else if (what == "repeat") c.add(text.repeat(<i32>c.argInt("count")));
  else if (what == "length") c.add(codePoints(text).toString() + " characters, " + String.UTF8.byteLength(text).toString() + " bytes");
  else if (what == "args") args(c);
  else if (what == "sources") sources(c);
  else if (what == "more") more(c);
  else if (what == "entries") entries(c);
  else if (what == "http") http(c);
  else if (what == "config") config(c);
  else if (what == "state") c.add("call " + calls.toString());
  else if (what == "trap") unreachable();
  else if (what == "say") c.add(c.say("good morning", "早上好"));
  else if (what == "limits") c.add(c.maxChars().toString() + " characters, " + c.maxLines().toString() + " lines");
  else if (what == "fail") c.fail(c.argStr("code", "failed"), c.argStr("hint"), text);
  else if (what == "part") {
    const dot: u8[] = [0x89, 0x50, 0x4e, 0x47, 0x00, 0xff];
    c.add("a picture");
    const data = new Uint8Array(dot.length);
    data.set(dot);
    c.part("image/png", "dot.png", data);
  } else if (what == "log") {
    c.log(Level.Warn, text);
    c.add("logged");
  } else if (what == "progress") {
    c.progress(1, 2, text);
    c.add("told");
  } else c.fail("bad_args", "", 'Argument "do" names nothing that is known.');
}

function entries(c: Call): void {
  const list = c.arg("list");
  c.add("a list\n");
  c.show = c.argInt("count");
  for (let i = 0; list != null && i < list.list.length; i++) {
    c.entry();
    c.add(list.list[i].text);
  }
}

function codePoints(s: string): i32 {
  let n = 0;
  for (let i = 0; i < s.length; i++, n++) {
    if (s.codePointAt(i) > 0xffff) i++;
  }
  return n;
}

function args(c: Call): void {
  const list = c.arg("list"), object = c.arg("object");
  const words: string[] = ["list"];
  for (let i = 0; list != null && i < list.list.length; i++) words.push(list.list[i].text);
  let deep = object == null ? "" : object.member("deep");
  if (deep == "") deep = "absent";
  c.add("twice the number is " + (<i64>(c.argNum("number") * 2)).toString() + ", whole " + c.argInt("whole", 7).toString());
  c.add((c.argBool("flag") ? ", yes, " : ", no, ") + words.join(" ") + ", deep " + deep);
}

function sources(c: Call): void {
  const list = c.arg("sources");
  c.add("see the sources");
  for (let i = 0; list != null && i < list.list.length; i++) c.source(list.list[i].member("title"), list.list[i].member("url"));
}

function more(c: Call): void {
  const args = c.arg("args");
  c.add("the first part");
  c.more(c.argInt("shown"), c.argInt("total"), args == null ? "" : args.toJSON());
}

function http(c: Call): void {
  const r = new Request(c.argStr("url"));
  r.method = c.argStr("method", "GET");
  r.headers.set("X-Conform", "yes");
  r.body = String.UTF8.encode(c.argStr("body"));
  const answer = c.http(r);
  if (answer != null) c.add(answer.status.toString() + " " + answer.header("Content-Type") + " " + answer.text());
}

function config(c: Call): void {
  const value = c.config(c.argStr("key"));
  c.add(value == null ? "not set" : value);
}
