// What differs between two outcomes of judged.mjs, and which of that is allowed.

/** Returns the differences: { at, direct, weir }, where `at` is a path with "/" for "~1" in names. */
export function differences({ direct, weir }) {
  const out = [];
  if (direct.instructions && !weir.instructions.includes(direct.instructions)) {
    out.push({ at: 'instructions', direct: direct.instructions, weir: weir.instructions });
  }
  compare('prefix', direct.prefix, weir.prefix, out);
  compare('tools', direct.tools, weir.tools, out);
  for (const kind of ['prompts', 'resources']) {
    const by = list => Object.fromEntries(list.map(x => [x.name, x]));
    compare(kind, by(direct[kind]), by(weir[kind]), out);
  }
  for (const [label, call] of Object.entries(direct.calls)) {
    const { whole, ...behind } = weir.calls[label], at = 'calls/' + step(label);
    if (whole !== undefined && whole === texts(call.result) && texts(behind.result) !== whole) {
      out.push({ at: at + '/cut', direct: whole, weir: texts(behind.result) });
      behind.result = { ...behind.result, content: call.result.content };
    }
    compare(at, call, behind, out);
  }
  return out;
}

const texts = result => result?.content?.filter(c => c.type === 'text').map(c => c.text).join('\n');
const step = name => name.replaceAll('~', '~0').replaceAll('/', '~1');
const plain = x => typeof x === 'object' && x !== null && !Array.isArray(x);

function compare(at, direct, weir, out) {
  if (plain(direct) && plain(weir)) {
    const keys = Object.keys(direct);
    for (const key of new Set([...keys, ...Object.keys(weir)])) {
      compare(at + '/' + step(key), direct[key], weir[key], out);
    }
    // A model reads parameters in their order.
    if (at.endsWith('/properties') && keys.filter(k => k in weir).join() !== Object.keys(weir).filter(k => k in direct).join()) {
      out.push({ at: at + '/#order', direct: keys, weir: Object.keys(weir) });
    }
  } else if (Array.isArray(direct) && Array.isArray(weir) && direct.length === weir.length) {
    direct.forEach((x, i) => compare(at + '/' + i, x, weir[i], out));
  } else if (JSON.stringify(direct) !== JSON.stringify(weir)) {
    out.push({ at, direct, weir });
  }
}

/**
 * Returns what is wrong with a server's differences, a sentence each: those that no entry of
 * `allowed` covers, and entries for that server that cover none.
 * An entry has `at` (a path; * is one step, ** any number), `why`, `of` (the servers; left out: all) and
 * `if` (a function of the direct and weir's value; left out: any) and `sometimes` (it need not occur).
 */
export function faults(server, found, allowed) {
  const mine = allowed.filter(a => !a.of || a.of.includes(server)), used = new Set(), out = [];
  for (const { at, direct, weir } of found) {
    const entry = mine.find(a => pattern(a.at).test(at) && (!a.if || a.if(direct, weir)));
    if (entry) {
      used.add(entry);
    } else {
      out.push(`${server}: ${at} differs: directly ${brief(direct)}, behind weir ${brief(weir)}`);
    }
  }
  for (const entry of mine.filter(a => !used.has(a) && !a.sometimes)) {
    out.push(`${server}: nothing differs at ${entry.at} any more (${entry.why}): take the entry out of allowed.mjs`);
  }
  return out;
}

const pattern = at => new RegExp('^' + at.split('/').map(s => s === '**' ? '.*' : s.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*')).join('/') + '$');
const brief = x => { const s = JSON.stringify(x) ?? 'nothing'; return s.length > 200 ? s.slice(0, 130) + '…' + s.slice(-69) : s; };
