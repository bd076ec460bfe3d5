// Times of the page, with a real daemon and browser: how long until the end of a
// conversation of 300 turns shows, and until a result of 5 MB is open and scrolled to its
// middle. Times are reported and not asserted: make bench-page, on a quiet machine.
import { startWorld } from './world.mjs';

const turns = 300, lines = 80_000;
const world = await startWorld(), { weir, model } = world;
model.says = () => [`### Done\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n${'Some words of an answer. '.repeat(40)}\n\n- one\n- two\n`];

// converse asks so many questions and returns the conversation's id.
async function converse(n) {
  const headers = { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json' };
  let id;
  for (let i = 0; i < n; i++) {
    const res = await fetch(`${weir.url}api/chat`, { method: 'POST', headers, body: JSON.stringify({ message: `Question ${i}`, conversation_id: id }) });
    id ??= /"conversation_id":"([^"]+)"/.exec(await res.text())?.[1] ?? id;
  }
  return id;
}

// timed calls act in the page and returns how long it takes until sign is true there, the
// tasks over 50 ms until three seconds later, and the nodes and requests by then.
const timed = (page, act, sign, with_) => page.evaluate(([act, sign, with_]) => new Promise((done) => {
  const run = new Function('x', `return (${act})(x)`), seen = new Function('x', `return (${sign})(x)`);
  window.long = [];
  const before = performance.getEntriesByType('resource').length, began = performance.now();
  run(with_);
  const look = () => {
    if (!seen(with_)) return requestAnimationFrame(look);
    const ms = Math.round(performance.now() - began);
    setTimeout(() => done({ ms, longTasks: window.long, nodes: document.querySelectorAll('*').length, requests: performance.getEntriesByType('resource').length - before }), 3000);
  };
  look();
}), [String(act), String(sign), with_]);

try {
  const talk = await converse(turns);
  const result = Array.from({ length: lines }, (_, i) => `${i + 1} entry with some words that make it sixty five characters wide`).join('\n');
  const { uuid } = await weir.api('api/results', { method: 'POST', body: JSON.stringify({ tool_name: 'their_tool', conversation_id: 'big', result }) });
  const page = await world.visit({ bypassCSP: true }); // what is timed is handed over as text
  await page.evaluate(() => { window.long = []; new PerformanceObserver((l) => window.long.push(...l.getEntries().map((e) => Math.round(e.duration)))).observe({ type: 'longtask', buffered: true }); });
  const go = (hash) => { location.hash = hash; };
  for (let i = 0; i < 3; i++) {
    console.log(`${turns} turns, end shown:`, JSON.stringify(await timed(page, go, () => document.querySelectorAll('.sums').length > 1, `#/ask/${talk}`)));
    console.log(`${(result.length / 1e6).toFixed(1)} MB, open:`, JSON.stringify(await timed(page, go, () => document.querySelectorAll('.row-line .txt bdi').length > 1, `#/results/${uuid}`)));
    console.log('its middle:', JSON.stringify(await timed(page, () => { const box = document.getElementById('lines'); box.scrollTop = box.scrollHeight / 2; }, () => [...document.querySelectorAll('.row-line .txt bdi')].some((n) => /^4\d{4} entry/.test(n.textContent)), null)));
    await page.evaluate(go, '#/tools');
    await page.getByRole('heading', { level: 1 }).waitFor();
  }
} finally {
  await world.close();
}
