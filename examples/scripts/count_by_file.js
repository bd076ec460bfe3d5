/* weir
description = "Counts in which files a word is, and how often."
description_zh = "统计一个词出现在哪些文件中，以及次数。"
tools = ["grep_search"]
read_only = true
max_chars = 2000

[params]
required = ["word"]
[params.properties.word]
type = "string"
description = "what to look for"
[params.properties.folder]
type = "string"
*/
const r = await tools.grep_search({ pattern: args.word, path: args.folder ?? "." });
const files = {};
for (const [, file] of (await r.text()).matchAll(/^([^:\n]+):\d+: /gm)) files[file] = (files[file] ?? 0) + 1;
return Object.entries(files).sort((a, b) => b[1] - a[1]).map(([file, n]) => `${file}: ${n}`).join("\n");
