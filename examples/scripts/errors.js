// Counts the lines with ERROR in each file below a folder: weir script run errors.js folder=logs
const r = await tools.grep_search({ pattern: "ERROR", path: args.folder });
const files = {};
for (const [, file] of (await r.text()).matchAll(/^([^:\n]+):\d+: /gm)) files[file] = (files[file] ?? 0) + 1;
return files;
