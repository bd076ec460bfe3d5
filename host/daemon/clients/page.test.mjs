// The page's own reader of answers against a daemon behind a proxy that cuts
// connections in the middle of what they bring.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { after, test } from 'node:test';

const source = await readFile(new URL('../web/src/core/stream.js', import.meta.url), 'base64');
const { Stream } = await import('data:text/javascript;base64,' + source);

const began = () => fetch(process.env.WEIR_CONTROL + '/began');
const ended = () => fetch(process.env.WEIR_CONTROL + '/ended');

const proxies = [];
after(() => proxies.forEach((p) => p.close()));

// behind returns what asks the daemon through a proxy that cuts so many
// connections, each some bytes behind its first event: how many deltas the daemon
// joins in an event, and so how long the rest is, depends on the machine.
async function behind(cuts) {
  const daemon = new URL(process.env.WEIR_URL);
  const seen = { cut: 0, methods: [] };
  const proxy = createServer((client) => {
    const up = connect(daemon.port, daemon.hostname);
    const mayCut = seen.cut < cuts;
    let brought = Buffer.alloc(0);
    client.on('error', () => up.destroy()).on('close', () => up.destroy());
    up.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.pipe(up);
    up.on('data', (data) => {
      const before = brought.length;
      brought = Buffer.concat([brought, data]);
      const event = brought.indexOf('event:');
      const end = event < 0 ? -1 : brought.indexOf('\n\n', event);
      const limit = mayCut && end >= 0 ? end + 20 : Infinity;
      client.write(data.subarray(0, Math.max(0, limit - before)));
      if (brought.length < limit) return;
      seen.cut++;
      up.destroy();
      client.destroySoon();
    });
  });
  proxies.push(proxy);
  await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
  const base = `http://127.0.0.1:${proxy.address().port}/`;
  const api = async (path, options) => {
    seen.methods.push(options.method ?? 'GET');
    const res = await fetch(base + path, { ...options, headers: { Authorization: 'Bearer ' + process.env.WEIR_TOKEN, ...options.headers } });
    if (!res.ok) throw Object.assign(new Error(await res.text()), { status: res.status });
    return res;
  };
  return { api, seen };
}

// gather reads an answer to its end; each is called with every event.
async function gather(stream, message, each = () => {}) {
  const got = { text: '', names: [], end: null };
  for await (const [name, data] of stream.read({ message })) {
    got.names.push(name);
    if (name === 'message.delta') got.text += data.text;
    if (name === 'chat.end') got.end = data;
    each(name, got);
  }
  return got;
}

test('an answer goes on behind every cut, with nothing lost and nothing twice', async () => {
  const { api, seen } = await behind(3);
  const got = await gather(new Stream(api), 'Hello');
  assert.ok(seen.cut >= 2, `${seen.cut} connections were cut`);
  assert.deepEqual(seen.methods, ['POST', ...Array(seen.cut).fill('GET')]);
  assert.equal(got.text, 'Hello from the far side of the weir.');
  assert.equal(got.names.filter((n) => n === 'chat.start').length, 1);
  const told = got.names.filter((n) => n.startsWith('stream.'));
  assert.deepEqual(told, Array(seen.cut).fill(['stream.lost', 'stream.back']).flat(), 'every cut is told, and every way back');
  assert.equal(got.end.answer, got.text);
});

test('stop ends the turn behind a cut', async () => {
  const { api, seen } = await behind(1);
  const stream = new Stream(api);
  const got = await gather(stream, 'Speak for ever', (name) => {
    if (name === 'message.delta' && seen.cut === 1 && !stream.ending) stream.end();
  });
  await began();
  await ended();
  assert.equal(got.end.reason, 'cancelled');
  assert.ok(!got.names.includes('error'), String(got.names));
  assert.ok(got.end.answer.startsWith(got.text), 'what was read is what was said');
  assert.equal(seen.methods.filter((m) => m === 'DELETE').length, 1);
});

test('stop before the first event ends the turn', async () => {
  const { api } = await behind(0);
  const stream = new Stream(api);
  const all = gather(stream, 'Speak for ever');
  stream.end();
  assert.equal((await all).end.reason, 'cancelled');
});

test('a daemon that is gone for good is given up', async () => {
  const { api } = await behind(1);
  let gone = false;
  const waited = [];
  const stream = new Stream((path, options) => (gone ? Promise.reject(new TypeError('fetch failed')) : api(path, options)), async (ms) => { gone = true; waited.push(ms); });
  const got = await gather(stream, 'Speak for ever');
  assert.equal(got.end, null);
  assert.deepEqual(got.names.filter((n) => n.startsWith('stream.')), ['stream.lost']);
  assert.ok(waited.length > 3 && waited[0] === 0 && waited.every((ms, i) => !i || ms >= waited[i - 1]), String(waited));
  await api('api/chat', { method: 'DELETE', headers: { 'Last-Event-ID': stream.last } });
  await began();
  await ended();
});
