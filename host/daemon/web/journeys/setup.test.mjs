// What people set up in the page: clients, models, limits; and how turns went.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { ask, copy, log, pending, startWorld, view, violations } from './world.mjs';

let world, weir, model;
const token = 'weir_ann_0123456789abcdef0123456789abcdef';
before(async () => { world = await startWorld(`[models.script.price]\nprompt = 2\ncompletion = 8\n[users.ann]\ntoken_sha256 = "${createHash('sha256').update(token).digest('hex')}"`); ({ weir, model } = world); });
after(() => world?.close());
beforeEach(() => model.reset());
afterEach(() => world.leave());

// fine asserts that axe finds nothing on a wide and a narrow screen, and that nothing is wider.
async function fine(page) {
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 720 });
    assert.deepEqual(await violations(page), [], `${width} wide`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && [...document.querySelectorAll('main *')].every((n) => !n.checkVisibility() || n.closest('pre, .wide-table, .lane, .unseen, .rows') || n.getBoundingClientRect().right <= innerWidth + 1)), `wider than ${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

test('a client is set up by copying, and the token shows on demand alone', async () => {
  const page = await world.visit({ permissions: ['clipboard-read', 'clipboard-write'] });
  await view(page, 'Clients');
  const tools = page.getByRole('region', { name: 'Programs that use the tools' }), questions = page.getByRole('region', { name: 'Programs that ask a model' });
  await tools.getByRole('button', { name: 'Cursor' }).click();
  await tools.getByText(`${weir.dir}/.cursor/mcp.json`).waitFor();
  await copy(page, tools.getByRole('button', { name: 'Copy the entry' }));
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  const { mcpServers } = JSON.parse(await copied());
  assert.match(mcpServers.weir.command, /\/bin\/weir$/);
  assert.ok(mcpServers.weir.args.includes(`${weir.dir}/tools.toml`), String(mcpServers.weir.args));
  await tools.getByRole('combobox', { name: 'How it reaches weir' }).selectOption('http');
  await questions.getByRole('button', { name: 'curl' }).click();
  assert.ok(!(await page.content()).includes(weir.token));
  await tools.getByRole('button', { name: 'Show the token' }).click();
  await questions.getByText(`Bearer ${weir.token}`).waitFor();
  await tools.getByRole('button', { name: 'Copied' }).waitFor({ state: 'hidden' });
  await copy(page, tools.getByRole('button', { name: 'Copy the entry' }));
  const { weir: entry } = JSON.parse(await copied()).mcpServers;
  assert.deepEqual([entry.url, entry.headers.Authorization], [`${weir.url}mcp`, `Bearer ${weir.token}`]);
  await tools.getByRole('button', { name: 'Hide the token' }).click();
  await questions.getByText('Bearer TOKEN').waitFor();
  assert.ok(!(await page.content()).includes(weir.token));
});

test('a connected client is shown until it leaves', async () => {
  const headers = { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const clientInfo = { name: 'cursor\u202e <b>', version: '0.49' };
  const res = await fetch(`${weir.url}mcp`, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } }) });
  assert.ok(res.ok);
  await res.text();
  const page = await world.visit();
  await view(page, 'Clients');
  const row = page.getByRole('table').getByRole('row', { name: /cursor\\u202e <b> 0\.49 Operator HTTP/ });
  await row.waitFor();
  await fetch(`${weir.url}mcp`, { method: 'DELETE', headers: { ...headers, 'Mcp-Session-Id': res.headers.get('mcp-session-id'), 'MCP-Protocol-Version': '2025-06-18' } });
  await row.waitFor({ state: 'hidden' });
  await page.getByText(/^No program has an open session\./).waitFor();
});

// patch writes settings.
async function patch(changes) {
  const etag = (await fetch(`${weir.url}api/settings`, { headers: { Authorization: `Bearer ${weir.token}` } })).headers.get('etag');
  const res = await fetch(`${weir.url}api/settings`, { method: 'PATCH', headers: { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json', 'If-Match': etag }, body: JSON.stringify({ changes }) });
  assert.ok(res.ok, await res.text());
}

test('a first visit offers questions, a model that was found, and clients', async () => {
  await patch([{ key: ['agent', 'model'], value: 'demo' }]);
  const page = await world.visit();
  await page.getByRole('button', { name: /^What is/ }).first().waitFor();
  assert.equal(await page.locator('.welcome > ul').getByRole('button').count(), 3, 'questions');
  const bring = page.getByRole('region', { name: 'Bring a model' }), ollama = bring.getByRole('form', { name: 'Ollama' });
  await ollama.getByRole('combobox', { name: 'Which model of Ollama' }).selectOption('script');
  await ollama.getByRole('button', { name: 'Use it' }).click();
  await bring.getByText('ollama answers from now on.').waitFor();
  const steps = bring.getByRole('list', { name: 'Steps of the test' }).getByRole('listitem');
  await steps.filter({ hasText: 'The server says what it is: works' }).waitFor();
  await steps.filter({ hasText: 'It answers a question: works' }).waitFor();
  await steps.filter({ hasText: 'It calls a tool in its text' }).waitFor();
  await bring.getByText(/^ollama can(not)? be used/).waitFor();
  await fine(page);
  const toml = await readFile(`${weir.dir}/tools.toml`, 'utf8');
  assert.match(toml, /\[models\.ollama\][^[]+provider = "ollama"/);
  assert.match(toml, /\[agent\]\s+model = "ollama"/);
  assert.ok((await weir.api('api/models')).models.some((m) => m.name === 'ollama' && m.default));
  await page.getByRole('region', { name: 'Connect a client' }).getByRole('link', { name: 'Show how' }).click();
  await page.getByRole('heading', { name: 'Clients', level: 1 }).waitFor();
  await patch([{ key: ['agent', 'model'], value: 'script' }]);
});

test('a trace shows requests, calls, waits, loads and what became placeholders', async () => {
  model.calls = (question) => (/traced/.test(question) ? [['calculator', { expression: '6*7' }], ['long_text', { lines: 400 }], ['no_such_tool', {}], ['long_text', { lines: 7 }]] : []);
  model.usage = { prompt_tokens: 1000, completion_tokens: 100 };
  const page = await world.visit();
  await ask(page, 'Make a traced text');
  await log(page).getByRole('button', { name: 'Allow once' }).click();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  await view(page, 'Traces');
  await page.getByRole('link', { name: /^Make a traced text/ }).click();
  await page.getByRole('heading', { name: 'Make a traced text', level: 1 }).waitFor();
  await page.waitForFunction(() => document.title === 'Make a traced text – Traces – weir');
  await page.getByText('2,000 tokens in, 200 out').waitFor();
  await page.getByText('0.0056 USD', { exact: true }).waitFor();
  const time = page.getByRole('region', { name: /^Time/ }).getByRole('listitem');
  await time.filter({ hasText: /^round 1 · model.*first piece/ }).waitFor();
  await time.filter({ hasText: /^calculator “6\*7”/ }).waitFor();
  await time.filter({ hasText: /^long_text lines 7.*waited [\d,.]+ m?s for a person/ }).waitFor();
  await time.filter({ hasText: /^long_text lines 400.*26,\d+ → 1\d,\d+ characters, by the agent's limit of 12,000/ }).waitFor();
  await time.filter({ hasText: /^no_such_tool.*failed: unknown_tool/ }).or(time.filter({ hasText: 'there is no such tool' })).first().waitFor();
  await time.filter({ hasText: /^Results became placeholders: [\d,]+ characters fewer/ }).waitFor();
  await page.getByText('What each request held').waitFor();
  const [asked, ran] = await Promise.all([/^round 1/, /^calculator/].map((name) => time.filter({ hasText: name }).locator('.lane i').last().evaluate((n) => ({ from: parseFloat(n.style.left), to: parseFloat(n.style.left) + parseFloat(n.style.width) }))));
  assert.ok(asked.to > 0 && ran.from >= asked.to - 0.01 && ran.to <= 100.5, `a call begins after its request: ${JSON.stringify([asked, ran])}`);
  await fine(page);
  await time.getByRole('link', { name: 'Open the result of long_text' }).first().click();
  await page.getByRole('region', { name: 'Archived text' }).waitFor();
  await view(page, 'Traces');
  await page.getByRole('region', { name: 'By day and tool' }).getByRole('row', { name: /long_text/ }).waitFor();
});

test('a user sees what is theirs, and none of the operator', async () => {
  const page = await world.visit({}, `${weir.url}#token=${token}`);
  const rail = page.getByRole('navigation', { name: 'Views' });
  await rail.getByRole('link', { name: 'Account: ann' }).waitFor();
  assert.deepEqual((await rail.getByRole('link').allInnerTexts()).filter((text) => /Plugins|Clients|Settings/.test(text)), []);
  await page.evaluate(() => { location.hash = '#/settings'; });
  await page.getByRole('heading', { name: 'There is no such page.' }).waitFor();
});

test('who logs in after somebody else sees nothing of theirs', async () => {
  const page = await world.visit({});
  await ask(page, 'What is mine?');
  await log(page).getByText('It is done.').waitFor();
  await page.waitForURL(/#\/ask\/./);
  await page.getByRole('textbox', { name: 'Your question' }).fill('And what');
  await page.getByRole('link', { name: 'Account: Operator' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('textbox', { name: 'Token' }).fill(token);
  const anew = page.waitForEvent('domcontentloaded'), shown = [];
  await page.exposeFunction('shows', (text) => shown.push(text));
  await page.evaluate(() => new MutationObserver(() => { if (document.querySelector('.shell')) shows(document.body.innerText); }).observe(document.body, { childList: true, subtree: true }));
  await page.getByRole('button', { name: 'Continue' }).click();
  await anew;
  assert.deepEqual(shown, [], 'the page of before, in the new session');
  await page.getByRole('link', { name: 'Account: ann' }).waitFor();
  await view(page, 'Ask');
  await page.getByText('No conversations yet.').waitFor();
  assert.equal(new URL(page.url()).hash, '#/ask');
  assert.equal(await log(page).getByText('What is mine?').count(), 0);
  assert.equal(await page.getByRole('textbox', { name: 'Your question' }).inputValue(), '');
});

test('a script waits for one answer to all of its calls, and goes on', async () => {
  const source = "const [a, b, c] = await Promise.all([tools.long_text({ lines: 7 }), tools.calculator({ expression: '6*7' }), tools.long_text({ lines: 7 })]);\nconsole.log('looked \u202e at');\nreturn `${b} after ${a.lines + c.lines} lines`;";
  const headers = { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json' };
  const run = () => fetch(`${weir.url}api/scripts`, { method: 'POST', headers, body: JSON.stringify({ source }) }).then((res) => res.json());
  const page = await world.visit();
  await view(page, 'Scripts');
  await page.getByText('There are no scripts yet.').waitFor();
  const first = run();
  await page.getByRole('link', { name: /^const \[a, b, c\].*waits for you.*calls that wait: 2/s }).click();
  const card = page.getByRole('region', { name: 'Calls that wait for your answer: 2' });
  await card.getByRole('listitem').filter({ hasText: /^long_text/ }).nth(1).waitFor();
  await page.getByText("tools.calculator({ expression: '6*7' })").waitFor();
  await fine(page);
  await card.getByRole('button', { name: 'Deny 1' }).waitFor();
  await card.getByRole('button', { name: 'Allow all' }).click();
  await page.getByRole('region', { name: 'Answer' }).getByText('42 after 14 lines').waitFor();
  await page.locator('.chips').getByText('done', { exact: true }).waitFor();
  await page.getByText('looked ⟨U+202E⟩ at', { exact: true }).waitFor();
  await fine(page);
  await first;
  const second = run();
  await page.getByRole('link', { name: 'All scripts' }).click();
  await page.getByRole('link', { name: /waits for you/ }).click();
  await page.getByRole('button', { name: 'Cancel the script' }).click();
  await page.locator('.chips').getByText('cancelled', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Cancel the script' }).waitFor({ state: 'hidden' });
  await second;
});

const settings = (page, name) => page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name }).click();
const gathered = (page) => page.getByRole('region', { name: 'Gathered changes' });
const toml = () => readFile(`${weir.dir}/tools.toml`, 'utf8');

test('a limit is changed on the ladder, as a difference of tools.toml', async () => {
  await writeFile(`${weir.dir}/tools.toml`, `${await toml()}\n# a note of mine\n`);
  const before = await toml(), page = await world.visit();
  await view(page, 'Settings');
  await settings(page, 'Limits');
  await page.getByRole('combobox', { name: 'for' }).selectOption('long_text');
  await page.getByRole('spinbutton', { name: 'operator' }).fill('5000');
  await page.getByText('the operator\'s limit decides: 5,000 characters.').waitFor();
  await page.getByRole('spinbutton', { name: 'default' }).fill('0');
  await page.getByText('the agent\'s limit decides: 4,000 characters.').waitFor();
  await page.getByRole('spinbutton', { name: 'default' }).fill('20');
  await page.getByText('the agent\'s limit decides: 1,000 characters.').waitFor();
  await page.getByRole('spinbutton', { name: 'default' }).fill('9000');
  await fine(page);
  await gathered(page).getByText('Changes: 2.').waitFor();
  await gathered(page).getByRole('button', { name: 'See the difference…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Changes of tools.toml' });
  await dialog.getByText('+max_chars = 5000').waitFor();
  assert.equal(await toml(), before, 'nothing is written before a yes');
  await writeFile(`${weir.dir}/tools.toml`, `${before}# and another\n`); // somebody else edits the file meanwhile
  await dialog.getByRole('button', { name: 'Write and put in force' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'has changed since it was read' }).waitFor();
  assert.equal(await toml(), `${before}# and another\n`);
  let go;
  const held = new Promise((resolve) => { go = resolve; });
  await page.route('**/api/settings', async (route) => { if (route.request().method() === 'PATCH') await held; await route.continue(); });
  await dialog.getByRole('button', { name: 'See the difference again' }).click();
  assert.equal(await dialog.getByRole('button', { name: 'Write and put in force' }).count(), 0, 'nothing is written before the new difference is there');
  go();
  await dialog.getByText('+max_tool_result_length = 9000').waitFor();
  await page.unroute('**/api/settings');
  await dialog.getByRole('button', { name: 'Write and put in force' }).click();
  await dialog.getByText('Written, and in force.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).first().click();
  await gathered(page).waitFor({ state: 'hidden' });
  const after = await toml();
  for (const text of ['# a note of mine', '# and another', 'max_chars = 5000', 'max_tool_result_length = 9000']) assert.ok(after.includes(text), `${text} in ${after}`);
  const { tools } = await weir.api('api/tools');
  assert.equal(tools.find((x) => x.spec.name === 'long_text').effective.max_chars, 5000);
  await writeFile(`${weir.dir}/tools.toml`, before);
  await weir.api('api/reload', { method: 'POST' });
});

test('the difference on the screen is that of the changes that were asked for last', async () => {
  const page = await world.visit(), begun = pending(), late = pending(), see = gathered(page).getByRole('button', { name: 'See the difference…' }), dialog = page.getByRole('dialog', { name: 'Changes of tools.toml' });
  await view(page, 'Settings');
  await page.getByRole('combobox', { name: 'for' }).selectOption('long_text');
  const limit = page.getByRole('spinbutton', { name: 'operator' });
  await limit.fill('5000');
  await page.route('**/api/settings', async (route) => {
    if (!route.request().postData()?.includes('5000')) return route.fallback();
    begun.keep();
    await late.promise;
    await route.fallback();
  });
  await see.click();
  await begun.promise;
  await dialog.getByRole('button', { name: 'Close' }).click();
  await limit.fill('6000');
  await see.click();
  await dialog.getByText('+max_chars = 6000').waitFor();
  const answered = page.waitForResponse((res) => Boolean(res.request().postData()?.includes('5000')));
  late.keep();
  await (await answered).finished();
  await page.evaluate(() => new Promise(requestAnimationFrame));
  await dialog.getByText('+max_chars = 6000').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await gathered(page).getByRole('button', { name: 'Discard' }).click();
});

test('a file that the page cannot edit shows the lines to copy', async () => {
  const before = await toml(), page = await world.visit();
  await writeFile(`${weir.dir}/tools.toml`, `${before}\n[tools]\ncalculator = { max_lines = 10 }\n`);
  await weir.api('api/reload', { method: 'POST' });
  await view(page, 'Settings');
  await settings(page, 'Limits');
  await page.getByRole('combobox', { name: 'for' }).selectOption('calculator');
  await page.getByRole('spinbutton', { name: 'operator' }).fill('700');
  await gathered(page).getByRole('button', { name: 'See the difference…' }).click();
  await page.getByRole('dialog').getByText('[tools.calculator] max_chars = 700').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Copy the lines' }).waitFor();
  await writeFile(`${weir.dir}/tools.toml`, before);
  await weir.api('api/reload', { method: 'POST' });
});

test('models are tested, retention is tried, and powers are shown as commands', async () => {
  const page = await world.visit();
  await view(page, 'Settings');
  await settings(page, 'Models');
  await page.getByRole('article', { name: 'script' }).getByRole('button', { name: 'Test script' }).click();
  await page.getByRole('list', { name: 'Steps of the test' }).getByRole('listitem').filter({ hasText: 'It answers a question: works' }).waitFor();
  await fine(page);
  await settings(page, 'Agent profiles');
  await page.getByRole('region', { name: 'default' }).getByText(/Recommended for its window: 8,000 to 16,000/).waitFor();
  await page.getByText('What is recommended by the kind of tool').click();
  await page.getByRole('row', { name: /^web search 10,000 to 50,000 4,000 to 8,000/ }).waitFor();
  await settings(page, 'Approvals');
  await page.getByRole('row', { name: /^long_text .*lines.* ask/ }).waitFor();
  const network = page.getByRole('combobox', { name: 'approvals.network' });
  assert.deepEqual(await network.getByRole('option').allInnerTexts(), ['as by default', 'auto', 'ask', 'allow', 'deny']);
  await network.selectOption('deny');
  await gathered(page).getByRole('button', { name: 'See the difference…' }).click();
  await page.getByRole('dialog').getByText('+network = "deny"').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click();
  await gathered(page).getByRole('button', { name: 'Discard' }).click();
  assert.equal(await network.inputValue(), 'auto');
  await fine(page);
  await settings(page, 'Archive');
  await page.getByRole('button', { name: 'See what would be removed' }).click();
  await page.getByText(/^Would be removed: 0 results/).waitFor();
  await fine(page);
  await settings(page, 'Users and quotas');
  await page.getByRole('textbox', { name: 'User' }).fill('local');
  await page.getByRole('button', { name: 'Look' }).click();
  await page.getByText(/^local: conversations \d+, results \d+/).waitFor();
  await page.getByRole('button', { name: 'Delete it…' }).click();
  await page.getByRole('button', { name: 'Yes, delete it' }).click();
  await page.getByRole('alert').filter({ hasText: "the operator's own" }).waitFor();
  await weir.api('api/results', { method: 'POST', body: JSON.stringify({ tool_name: 'hers', result: 'a line\n'.repeat(2000) }) }, token);
  await page.getByRole('textbox', { name: 'User' }).fill('ann');
  await page.getByRole('button', { name: 'Look' }).click();
  await page.getByText(/^ann: conversations \d+, results 1 /).waitFor();
  await page.getByRole('button', { name: 'Delete it…' }).click();
  await page.getByRole('button', { name: 'Yes, delete it' }).click();
  await page.getByRole('alert').filter({ hasText: 'weir user remove ann' }).waitFor();
  const ann = page.getByRole('region', { name: 'ann', exact: true });
  await ann.getByText('Its settings').click();
  await ann.getByRole('spinbutton', { name: 'users.ann.quota.tokens_per_day' }).fill('5000');
  await ann.getByRole('spinbutton', { name: 'users.ann.quota.tokens_per_day' }).press('Tab');
  await gathered(page).getByRole('button', { name: 'See the difference…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Write and put in force' }).click();
  await page.getByRole('dialog').getByText('Written, and in force.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click();
  assert.equal((await weir.api('api/usage', {}, token)).quotas.find((q) => q.name === 'tokens_per_day')?.limit, 5000);
  await fine(page);
  await writeFile(`${weir.dir}/tools.toml`, (await toml()).replaceAll(/\[users\.ann[^[]*/g, '')); // as the command does
  await weir.api('api/reload', { method: 'POST' });
  await page.getByRole('button', { name: 'Look' }).click();
  await page.getByRole('button', { name: 'Delete it…' }).click();
  await page.getByRole('button', { name: 'Yes, delete it' }).click();
  await page.getByText(/^Deleted of ann: .*results 1 /).waitFor();
  await weir.stranger('wanderer', ['one.example']);
  await settings(page, 'Health');
  await page.getByText(/^Faults: \d+, warnings: [1-9]\d* \(.+\)$/).waitFor();
  await page.getByRole('listitem').filter({ hasText: /^warning plugins wanderer/ }).getByRole('link', { name: 'Plugins' }).waitFor();
  assert.deepEqual(await page.locator('.health b').allInnerTexts().then((all) => all.indexOf('ok') > all.lastIndexOf('warning')), true, 'what is wrong comes first');
  await fine(page);
  await settings(page, 'This page');
  const light = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await light();
  await page.getByRole('combobox', { name: 'Theme' }).selectOption('dark');
  assert.notEqual(await light(), before);
  await page.reload();
  await page.getByRole('combobox', { name: 'Theme' }).waitFor();
  assert.notEqual(await light(), before);
  await page.getByRole('combobox', { name: 'Theme' }).selectOption('system');
  assert.equal(await light(), before);
  await settings(page, 'Only on the machine');
  await page.getByRole('region', { name: 'Rules of approvals' }).getByRole('button', { name: 'Copy the lines' }).waitFor();
  await fine(page);
});

// slow is a module that takes more than a second to compile: a function of 60,000 ifs.
function slow() {
  const sized = (bytes) => { const size = []; for (let n = bytes.length; ; n >>= 7) { if (n < 128) return Buffer.from([...size, n, ...bytes]); size.push(n % 128 + 128); } };
  const ifs = new Array(60000).fill([0x20, 0, 4, 0x40, 0x20, 0, 0x41, 1, 0x6a, 0x21, 0, 0x0b]).flat(); // if local: local += 1
  return Buffer.concat([Buffer.from('\0asm\x01\0\0\0\x01\x05\x01\x60\0\x01\x7f\x03\x02\x01\0\x07\x07\x01\x03run\0\0\x0a'), sized([1, ...sized([1, 1, 0x7f, ...ifs, 0x41, 0, 0x0b])])]);
}

test('a plugin in quarantine says why, and is tried again', async () => {
  const dir = `${weir.dir}/own/heavy`;
  await weir.stop('SIGTERM');
  await writeFile(`${weir.dir}/tools.toml`, `${await readFile(`${weir.dir}/tools.toml`, 'utf8')}\n[sandbox]\ncompile_cpu = "1s"\n`);
  await mkdir(dir);
  await writeFile(`${dir}/plugin.toml`, 'schema = 1\nname = "heavy"\nversion = "1.0.0"\n[[tool]]\nname = "heavy"\nexport = "run"\ndescription = "never runs"\n[tool.params]\ntype = "object"\n');
  await writeFile(`${dir}/heavy.wasm`, slow());
  await weir.start();
  const headers = { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json' };
  await fetch(`${weir.url}api/tools/heavy/call`, { method: 'POST', headers, body: '{"arguments":{}}' });
  const page = await world.visit();
  await view(page, /^Plugins/);
  await page.getByRole('navigation', { name: 'Plugins' }).getByRole('link', { name: /^heavy .*quarantined/ }).click();
  const article = page.getByRole('article', { name: 'heavy' });
  await article.getByText(/compiling it (needs more than 1s of CPU time|took too long)/).first().waitFor(); // as the machine is idle or busy
  await article.getByRole('button', { name: 'Try again' }).click();
  await article.getByText('It will be tried again at its next call.').waitFor();
  await article.getByRole('button', { name: 'Try again' }).waitFor({ state: 'hidden' });
});
