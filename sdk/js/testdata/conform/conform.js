// conform is the tool that every SDK of weir has: it does what its argument "do" says, so
// that the vectors of sdk/testdata/abi can ask each SDK for the same.

let calls = 0; // 1 in every call: each starts fresh

const acts = {
  echo: (c, text) => text,
  repeat: (c, text) => text.repeat(c.argInt("count")),
  length: (c, text) => `${[...text].length} characters, ${unescape(encodeURIComponent(text.toWellFormed())).length} bytes`,
  args(c) {
    const { list, object } = c.args;
    const words = ["list", ...(list ?? [])].join(" ");
    return `twice the number is ${c.argNum("number") * 2}, whole ${c.argInt("whole", 7)}, ${c.argBool("flag") ? "yes" : "no"}, ${words}, deep ${object?.deep ?? "absent"}`;
  },
  sources: (c) => ({ text: "see the sources", sources: c.args.sources }),
  more: (c) => ({ text: "the first part", more: { shown: c.argInt("shown"), total: c.argInt("total"), args: c.args.args } }),
  entries: (c) => ({ text: "a list\n", entries: c.args.list, show: c.argInt("count") }),
  part: () => ({ text: "a picture", parts: [{ mime: "image/png", name: "dot.png", data: new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x00, 0xff]) }] }),
  fail(c, text) {
    throw c.fail(c.argStr("code", "failed"), c.argStr("hint"), text);
  },
  limits: (c) => `${c.maxChars} characters, ${c.maxLines} lines`,
  config: (c) => c.config(c.argStr("key")) ?? "not set",
  say: (c) => c.say("good morning", "早上好"),
  log(c, text) {
    c.log("warn", text);
    return "logged";
  },
  progress(c, text) {
    c.progress(1, 2, text);
    return "told";
  },
  async http(c) {
    const r = await c.http({ url: c.argStr("url"), method: c.argStr("method", "GET"), headers: { "X-Conform": "yes" }, body: c.argStr("body") });
    return `${r.status} ${r.header("content-type")} ${r.text()}`;
  },
  state: () => `call ${calls}`,
  trap: () => null.nothing,
};

export function conform(args, c) {
  calls++;
  const what = c.argStr("do");
  if (!Object.hasOwn(acts, what)) throw c.fail("bad_args", "", 'Argument "do" names nothing that is known.');
  return acts[what](c, c.argStr("text"));
}
