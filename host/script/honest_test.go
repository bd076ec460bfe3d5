package script

import (
	"cmp"
	"slices"

	"github.com/weirhost/weir/host/internal/scriptvm"
)

func sorted[T cmp.Ordered](list []T) []T { return slices.Sorted(slices.Values(list)) }

var setting = scriptvm.Setting{Tools: []string{"read", "write", "ask", "again"}}

// honest are usual scripts, each at the call that waits for a person.
var honest = []string{
	`await tools.ask({n: 1})`,
	`const all = await Promise.all([1, 2, 3, 4, 5].map((n) => tools.read({n}))); await tools.ask({text: all.map(String).join("\n")})`,
	`for (let i = 0; i < 20; i++) { const r = await tools.read({i}); text(r) } await tools.ask({n: 2})`,
	`const rows = Array.from({length: 1000}, (_, i) => ({id: i, name: "name " + i, total: i * 3.5}));
	 const sums = {}; for (const r of rows) sums[r.id % 7] = (sums[r.id % 7] ?? 0) + r.total;
	 await tools.ask({text: JSON.stringify(sums)}); return rows.length`,
	`class Item { constructor(n) { this.n = n; this.done = false } async run() { this.text = String(await tools.read({n: this.n})); this.done = true; return this } }
	 const items = await Promise.all([...Array(10).keys()].map((n) => new Item(n).run()));
	 await tools.ask({done: items.filter((i) => i.done).length})`,
	`const seen = new Map(), queue = [0];
	 while (queue.length && seen.size < 15) { const n = queue.shift(); if (seen.has(n)) continue; seen.set(n, String(await tools.read({n}))); queue.push(n * 2 + 1, n * 2 + 2) }
	 await Promise.all([...seen.keys()].map((n) => tools.ask({n})))`,
	`const lines = Array.from({length: 2000}, (_, i) => "2026-11-25 error in module " + (i % 13) + " at line " + i);
	 const found = lines.filter((l) => /module (3|7) /.test(l)); store("found", found);
	 await tools.ask({count: found.length}); return load("found").length`,
	`let failures = 0; for (let i = 0; i < 10; i++) { try { if (i % 3 === 0) throw new Error("no " + i); await tools.read({i}) } catch { failures++ } }
	 console.log(failures); await tools.ask({failures})`,
	`const page = "x".repeat(50000); const parts = page.match(/.{1,1000}/g); for (const p of parts) text(p.length);
	 await tools.ask({parts: parts.length})`,
	`async function retry(f, n = 3) { for (let i = 0; ; i++) try { return await f() } catch (e) { if (i === n) throw e } }
	 const r = await retry(() => tools.read({x: 1})); const doc = JSON.parse('{"a": {"b": [1, 2, {"c": "deep"}]}}');
	 const found = []; (function walk(v) { if (typeof v !== "object" || v === null) found.push(v); else Object.values(v).forEach(walk) })(doc);
	 await tools.ask({text: String(r) + found.join()})`,
}
