// A weir of its own with a model that answers by the words of the question, and
// a browser before it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const require = createRequire(import.meta.url), { chromium } = require('playwright-core'); // an import reads its 3 MB twice

// Chromium asks no one but the page, and draws without a graphics card.
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

const root = new URL('../../../../', import.meta.url).pathname;

// pending is a promise that someone else keeps.
export function pending() {
  let keep;
  const promise = new Promise((done) => { keep = done; });
  return { promise, keep };
}

// startModel answers as OpenAI's API does. What it says is said in pieces; a piece
// that is a promise is waited for.
async function startModel() {
  const model = { asked: [] };
  const server = createServer(async (req, res) => {
    if (req.method !== 'POST') return res.end('{"data":[{"id":"script","max_model_len":32768}]}');
    let body = '';
    for await (const piece of req) body += piece;
    if (req.url === '/api/show') return res.end('{"model_info":{"general.architecture":"tiny","tiny.context_length":16384}}'); // as Ollama does
    if (req.url === '/api/chat') return res.end('{"message":{"role":"assistant","content":"ready"},"done":true}\n');
    const { messages } = JSON.parse(body);
    model.asked.push(messages);
    const last = messages.at(-1);
    if (/refuse/.test(last.content)) return res.writeHead(400).end('{"error":{"message":"no luck today"}}');
    const send = (delta, finish = null) => res.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    const calls = last.role === 'user' ? model.calls(last.content) : [];
    res.writeHead(200, { 'Content-Type': 'text/event-stream' });
    calls.forEach(([name, args], index) => send({ tool_calls: [{ index, id: `call_${model.asked.length}_${index}`, function: { name, arguments: JSON.stringify(args) } }] }));
    for (const piece of calls.length ? [] : model.says(last)) {
      const text = await piece;
      if (text) send({ content: text });
    }
    send({}, calls.length ? 'tool_calls' : 'stop');
    if (model.usage) res.write(`data: ${JSON.stringify({ choices: [], usage: model.usage })}\n\n`);
    res.end('data: [DONE]\n\n');
  });
  // reset makes the model answer a question at once. calls are those of a question,
  // says the pieces of any other reply, usage what it reports of each.
  model.reset = () => Object.assign(model, { calls: () => [], says: () => ['It is done.'], usage: undefined });
  model.reset();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  model.url = `http://127.0.0.1:${server.address().port}/v1`;
  model.close = () => { server.closeAllConnections(); server.close(); };
  return model;
}

// startWeir runs a daemon over a new folder. stop and start end it and bring it back
// at the same address.
async function startWeir(model, more = '') {
  const dir = await mkdtemp(join(tmpdir(), 'weir-journeys-'));
  for (const name of ['calculator', 'long_text']) await cp(join(root, 'plugins', name), join(dir, 'own', name), { recursive: true });
  await mkdir(join(dir, 'strangers'));
  await mkdir(join(dir, 'work'));
  await writeFile(join(dir, 'tools.toml'), `
[models.script]
provider = "openai"
base_url = "${model.url}"
model = "script"
window = 32768
native_tools = true
[agent]
model = "script"
[[approvals.rule]]
tool = "long_text"
args = { lines = "^7$" }
action = "ask"
[[approvals.rule]]
tool = "long_text"
args = { lines = "^8$" }
action = "deny"
[[approvals.rule]]
tool = "long_text"
args = { lines = "^9$" }
action = "allow"
[tools.long_text]
timeout = "60s" # of 10 seconds, which a busy machine may need for 20,000 lines
keep = ["^line 201:"]
${more}
[plugins]
shipped = false
[[plugins.folder]]
path = "./own"
trust = "granted"
[[plugins.folder]]
path = "./strangers"
`);
  const weir = { dir, model, port: 0, log: '' };
  weir.start = async () => {
    if (weir.process?.exitCode === null && weir.process.signalCode === null) return; // it runs
    weir.process = spawn(join(root, 'bin', 'weir'), ['serve', '--data', join(dir, 'data'), '--config', join(dir, 'tools.toml'), '--addr', `127.0.0.1:${weir.port}`],
      { cwd: join(dir, 'work'), env: { PATH: process.env.PATH, HOME: dir, OLLAMA_HOST: new URL(model.url).host, WEIR_WORKSPACE: join(dir, 'work'), WEIR_CACHE: process.env.WEIR_TEST_CACHE ?? join(root, 'build', 'test-cache') } });
    const heard = pending();
    let running = false;
    weir.log = '';
    weir.ended = new Promise((done) => weir.process.on('exit', done));
    weir.ended.then((code) => running || heard.keep(Promise.reject(new Error(`weir ended with ${code}: ${weir.log}`))));
    for (const out of [weir.process.stdout, weir.process.stderr]) {
      out.on('data', (data) => {
        weir.log += data;
        const found = /page +http:\/\/127\.0\.0\.1:(\d+)/.exec(weir.log);
        if (found) heard.keep(found[1]);
      });
    }
    const port = await heard.promise, url = `http://127.0.0.1:${port}/`, token = (await readFile(join(dir, 'data', 'token'), 'utf8')).trim();
    running = true;
    Object.assign(weir, { port, url, token, address: `${url}#token=${token}` });
  };
  weir.stop = async (signal = 'SIGKILL') => { weir.process.kill(signal); await weir.ended; };
  weir.api = async (path, options = {}, token = weir.token) => {
    const res = await fetch(weir.url + path, { ...options, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' } });
    assert.ok(res.ok, `${path}: ${res.status} ${res.ok || await res.clone().text()}`);
    return res.json();
  };
  // stranger puts a plugin of someone else into the folder that is not trusted.
  weir.stranger = async (name, hosts, version = '0.1.0', reason = 'reads its pages', more = '') => {
    const from = join(root, 'plugins', 'fetch_url'), to = join(dir, 'strangers', name);
    const asks = hosts.map((h) => `{ host = "${h}", reason = ${JSON.stringify(reason)} }`).join(', ');
    const manifest = (await readFile(join(from, 'plugin.toml'), 'utf8')).replaceAll('"fetch_url"', `"${name}"`).replace(/^export .*$/m, 'export = "fetch_url"')
      .replace('version     = "1.0.0"', `version = "${version}"`).replace(/^hosts   = \[.*?^\]/ms, `hosts = [${asks}]`);
    await mkdir(to, { recursive: true });
    await writeFile(join(to, 'fetch_url.wasm'), '\0asm\x01\0\0\0\x01\x05\x01\x60\0\x01\x7f\x03\x02\x01\0\x07\x0d\x01\x09fetch_url\0\0\x0a\x06\x01\x04\0\x41\0\x0b'); // it is not called, and the true one takes long to read
    await writeFile(join(to, 'plugin.toml'), manifest + more);
    await weir.api('api/plugins/reload', { method: 'POST' });
  };
  await weir.start();
  return weir;
}

const size = { width: 1280, height: 800 };

// startWorld opens everything. visit gives a page that remembers nothing; with options it
// is in a browser of someone else, which takes a second longer to open. leave ends all
// visits. No page may have had an error, or have asked anyone but the daemon; close tells.
export async function startWorld(more) {
  const model = await startModel();
  const weir = await startWeir(model, more);
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: flags });
  const wrong = [];
  const world = { model, weir, browser };
  let usual, free; // the context of visits without options, and a page of it that is not in use
  world.leave = async () => {
    const [first, ...more] = usual?.pages() ?? [];
    await Promise.all([...more, ...browser.contexts().filter((context) => context !== usual)].map((x) => x.close()));
    if (!first || free) return;
    await first.evaluate(() => { localStorage.clear(); sessionStorage.clear(); });
    await first.goto('about:blank');
    await first.setViewportSize(size);
    await usual.clearCookies();
    free = first;
  };
  world.visit = async (options, address = weir.address) => {
    const context = options ? await open(options) : usual ??= await open({});
    const page = !options && free || await context.newPage();
    if (page === free) free = undefined;
    page.setDefaultTimeout(Number(process.env.PATIENCE ?? 60000));
    await page.goto(address || weir.url);
    if (address) await page.getByRole('textbox', { name: /^(Your question|你的问题)$/ }).waitFor();
    return page;
  };
  async function open({ files = process.env.PAGE_FILES, ...options }) {
    const context = await browser.newContext({ locale: 'en-GB', viewport: size, reducedMotion: 'reduce', ...options });
    context.on('weberror', (e) => wrong.push(String(e.error())));
    context.on('console', (m) => { if (m.type() === 'error' && !/Failed to load resource/.test(m.text())) wrong.push(m.text()); });
    context.on('request', (r) => { if (!r.url().startsWith(weir.url) && !r.url().startsWith('blob:')) wrong.push(`asked ${r.url()}`); });
    if (files) await fromDisk(context, weir.url, files);
    return context;
  }
  world.close = async () => {
    await browser.close();
    await weir.stop('SIGTERM');
    model.close();
    await rm(weir.dir, { recursive: true });
    assert.deepEqual(wrong, [], 'errors of pages, and requests to others');
  };
  return world;
}

// fromDisk serves the page's files as they lie in a folder, with the daemon's
// headers: a change shows without a build.
export async function fromDisk(context, url, folder) {
  await context.route(/\/(\w+\.(js|css|html|svg))?(#.*)?$/, async (route) => {
    const name = new URL(route.request().url()).pathname.slice(1) || 'index.html';
    try {
      const response = await route.fetch({ url: `${url}index.html` });
      const type = { js: 'text/javascript', css: 'text/css', html: 'text/html', svg: 'image/svg+xml' }[name.split('.').pop()];
      await route.fulfill({ status: 200, headers: { ...response.headers(), 'content-type': type }, body: await readFile(join(folder, name)) });
    } catch { await route.abort(); }
  });
}

// gallery is the folder of the page that has the gallery of its components.
export const gallery = join(root, 'build', 'page');

// violations are what axe finds in the page as it is now, in one line each: by all rules, or
// by those of colours alone, which are most of its work: of texts that look the same on the
// same ground and over the same others, also in different views of a page, these look at one
// that nothing covers.
// Nothing is loaded before: only a rule about video and audio needs that, which the page has none of.
export async function violations(page, all = true) {
  if (!await page.evaluate(() => Boolean(globalThis.axe))) await page.evaluate(axe);
  return page.evaluate(async (all) => {
    const colours = ['color-contrast', 'link-in-text-block'], options = { resultTypes: ['violations'], selectors: false, preload: false, iframes: false };
    const grounds = new Map(), seen = globalThis.seen ??= new Set();
    const ground = (n) => {
      if (n && !grounds.has(n)) {
        const s = getComputedStyle(n);
        grounds.set(n, [s.color, s.backgroundColor, s.backgroundImage, s.opacity, s.filter, s.position, n.matches(':disabled, [aria-disabled=true], [inert]'), ground(n.parentElement)].join());
      }
      return grounds.get(n);
    };
    const isNew = (n) => {
      const field = n.matches('input, select, textarea'), text = field ? n.value : [...n.childNodes].map((c) => (c.nodeType === Node.TEXT_NODE ? c.data : '')).join('').trim();
      if (!(text || field) || !n.checkVisibility({ visibilityProperty: true })) return false;
      const s = getComputedStyle(n), r = n.getBoundingClientRect(), tiny = r.width < 3 || r.height < 3;
      const at = document.elementsFromPoint(r.left + r.width / 2, r.top + r.height / 2);
      const over = at.filter((x) => !x.contains(n) && !n.contains(x)).map((x) => getComputedStyle(x).background);
      const face = [over, n.localName, n.type, n.className, text.length > 1, n.control?.disabled, s.fontSize, s.fontWeight, s.textDecoration, s.textShadow, s.border, tiny, ground(n)].join();
      if (seen.has(face)) return false;
      if (tiny || n.contains(at[0])) seen.add(face);
      return true;
    };
    const include = [...document.body.querySelectorAll('*')].filter(isNew);
    const found = include.length ? [await globalThis.axe.run({ include }, { ...options, runOnly: colours })] : [];
    if (all) found.push(await globalThis.axe.run(document, { ...options, rules: Object.fromEntries(colours.map((id) => [id, { enabled: false }])) }));
    return found.flatMap((f) => f.violations).map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')}`);
  }, all);
}

const axe = await readFile(require.resolve('axe-core/axe.min.js'), 'utf8');

// ask types a question and sends it.
export async function ask(page, question) {
  await page.getByRole('textbox', { name: /^(Your question|你的问题)$/ }).fill(question);
  await page.getByRole('button', { name: /^(Send|发送)$/ }).click();
}

// log is the conversation as people see it.
export const log = (page) => page.getByRole('region', { name: /^(Conversation|会话内容)$/ });

// same asserts that an answer is drawn as before, and shows where it is not.
export function same(now, before, what) {
  const at = before.findIndex((x, i) => x !== now[i]);
  assert.deepEqual(now.slice(at).slice(0, 3), before.slice(at).slice(0, 3), `${what}, after ${before.slice(Math.max(0, at - 30), at).join("")}`);
  assert.equal(now.length, before.length, what);
}

// drawn are the answers of a conversation as they are drawn: every part with its class, its
// place and what it is called, also those that show no text. Only the numbers of messages are
// left out, which an answer has when it is stored, and spaces at the end of a paragraph.
// parts are parts of answers: of one that was cut off, its calls.
export const drawn = (page, parts = '.theirs') => log(page).locator(parts).evaluateAll((all) => all.flatMap((n) => n.outerHTML.replace(/ data-m="\d*"| +(?=<\/p>)/g, '').split(/(?=<)/)));

// view opens a view by its name in the rail.
export const view = (page, name) => page.getByRole('navigation', { name: /^(Views|视图)$/ }).getByRole('link', { name }).click();

// calls are the calls of a tool in the conversation.
export const calls = (page, tool) => log(page).getByRole('region', { name: `Tool call ${tool}` });

// copy has a button copy, and waits until it says so, which it does for two seconds alone.
export async function copy(page, button, act = () => button.click()) {
  const node = await button.elementHandle(); // its name changes
  await Promise.all([page.waitForFunction((n) => n.textContent === 'Copied', node), act()]);
}

// ended waits until the model has answered.
export const ended = (page) => page.getByRole('button', { name: /^(Stop|停止)$/ }).waitFor({ state: 'hidden' });

// bubble is a question in the conversation.
export const bubble = (page, text) => log(page).getByRole('article', { name: 'You' }).filter({ hasText: text });
