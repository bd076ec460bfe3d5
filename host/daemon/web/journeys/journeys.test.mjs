// What people do in the page, in a real browser, by roles and names.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { ask, colours, gallery, log, pending, startWorld, violations } from './world.mjs';

let world, weir, model;
before(async () => { world = await startWorld(); ({ weir, model } = world); });
after(() => world?.close());
beforeEach(async () => { model.reset(); await weir.start(); });
afterEach(() => world.leave());

const bubble = (page, text) => log(page).getByRole('article', { name: 'You' }).filter({ hasText: text });

test('a new tab is logged in, and log-out holds for all', async () => {
  const page = await world.visit();
  const other = await page.context().newPage();
  await other.goto(weir.url);
  await other.getByRole('textbox', { name: 'Your question' }).waitFor();
  await page.getByRole('link', { name: 'Account: Operator' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  await other.getByRole('heading', { name: 'Log in' }).waitFor();
});

test('a reload joins the running answer', async () => {
  const rest = pending();
  model.says = () => ['The first half', rest.promise];
  const page = await world.visit();
  await ask(page, 'What comes then?');
  await log(page).getByText('The first half').waitFor();
  await log(page).getByText(/^The model is answering · \d+ s$/).waitFor();
  await page.reload();
  await log(page).getByText('The first half').waitFor();
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByRole('button', { name: /^What comes/ }).click();
  await log(page).getByText('The first half').waitFor();
  assert.equal(await bubble(page, 'What comes').count(), 1);
  rest.keep(' and the second.');
  await log(page).getByText('The first half and the second.').waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  await page.reload();
  await log(page).getByText('The first half and the second.').waitFor();
  assert.equal(await bubble(page, 'What comes').count(), 1);
});

test('Back leads to what was open before, and titles say what is open', async () => {
  const page = await world.visit();
  for (const question of ['Which was first?', 'Which was second?']) {
    await page.getByRole('button', { name: 'New conversation' }).click();
    await ask(page, question);
    await log(page).getByText('It is done.').waitFor();
  }
  await page.getByRole('button', { name: /^Which was first/ }).click();
  await bubble(page, 'first').waitFor();
  assert.match(await page.title(), /^Which was first\? – weir$/);
  await page.goBack();
  await bubble(page, 'second').waitFor();
  assert.match(await page.title(), /^Which was second\? – weir$/);
  await page.goForward();
  await bubble(page, 'first').waitFor();
});

test('a daemon that is away is told as such, and what is shown stays', async () => {
  const page = await world.visit();
  await ask(page, 'Is anyone here?');
  await log(page).getByText('It is done.').waitFor();
  const rest = pending();
  model.says = () => ['I begin', rest.promise];
  await ask(page, 'Who goes on?');
  await log(page).getByText('I begin').waitFor();
  await weir.stop();
  await page.getByRole('alert').filter({ hasText: 'The daemon does not answer.' }).waitFor();
  await page.getByRole('searchbox').fill('anyone');
  await page.getByRole('status').filter({ hasText: 'The daemon does not answer.' }).waitFor();
  await page.getByRole('searchbox').fill('');
  await page.getByRole('status').filter({ hasText: 'The daemon' }).waitFor({ state: 'hidden' });
  assert.equal(await page.getByText('No conversations yet.').count(), 0);
  assert.ok(await page.getByRole('button', { name: /^Is anyone here/ }).count());
  await weir.start();
  rest.keep('');
  await page.getByRole('alert').filter({ hasText: 'The daemon does not answer.' }).waitFor({ state: 'hidden' });
  await log(page).getByText('The daemon was restarted').waitFor();
  await log(page).getByRole('button', { name: 'Ask again' }).last().click();
  assert.equal(await page.getByRole('textbox', { name: 'Your question' }).inputValue(), 'Who goes on?');
});

test('a question that could not be asked comes back into the box', async () => {
  const page = await world.visit();
  await weir.stop();
  await ask(page, 'Can you hear me?');
  await log(page).getByText('The daemon does not answer.').waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Your question' }).inputValue(), 'Can you hear me?');
  await weir.start();
});

test('a conversation is exported in each form', async () => {
  const page = await world.visit();
  model.calls = () => [['calculator', { expression: '6*7' }]];
  await ask(page, 'What is six times seven?');
  await log(page).getByText('It is done.').waitFor();
  await page.getByRole('button', { name: /^About “What is six/ }).click();
  for (const [name, end, has] of [['Markdown', 'md', '# '], ['JSON', 'json', '{'], ['JSON Lines', 'jsonl', '{"']]) {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name, exact: true }).click();
    const saved = await download, text = await readFile(await saved.path(), 'utf8');
    assert.equal(saved.suggestedFilename(), `What is six times seven.${end}`);
    assert.ok(text.startsWith(has) && text.includes('6*7'), `${name}: ${text.slice(0, 200)}`);
  }
});

// view opens a view by its name in the rail.
const view = (page, name) => page.getByRole('navigation', { name: /^(Views|视图)$/ }).getByRole('link', { name }).click();

// review opens what a plugin is and asks for.
async function review(page, name) {
  await view(page, /^Plugins/);
  await page.getByRole('navigation', { name: 'Plugins' }).getByRole('link', { name: new RegExp(`^${name} `) }).click();
  return page.getByRole('article', { name });
}

test('approving a plugin grants what it asks for', async () => {
  await weir.stranger('reader', ['one.example']);
  const page = await world.visit();
  const dialog = await review(page, 'reader');
  await dialog.getByRole('button', { name: 'Approve…' }).click();
  await dialog.getByRole('checkbox', { name: /one\.example/ }).check();
  await dialog.getByRole('button', { name: 'Yes, let it run' }).click();
  await dialog.getByText('Approved; its tools are ready.').waitFor();
  assert.match(await readFile(`${weir.dir}/tools.toml`, 'utf8'), /\[grants\.reader\]\s+hosts\s*= \["one\.example"\]/);
  assert.ok((await weir.api('api/tools')).tools.some((x) => x.spec.name === 'reader'));
});

test('an approval stops what serves only after a question', async () => {
  await weir.stranger('reader', ['one.example', 'two.example'], '0.2.0');
  const page = await world.visit();
  const ready = async () => (await weir.api('api/plugins/reader')).plugin.state;
  const dialog = await review(page, 'reader');
  await dialog.getByText('Version 0.1.0 serves until you approve this one.').waitFor();
  await dialog.getByRole('button', { name: 'Approve…' }).click();
  await dialog.getByRole('checkbox', { name: /two\.example/ }).uncheck();
  await dialog.getByRole('button', { name: 'Yes, let it run' }).click();
  await dialog.getByText('its tools would stop').waitFor();
  assert.equal(await ready(), 'ready');
  await dialog.getByRole('button', { name: 'Stay with version 0.1.0' }).click();
  await dialog.getByRole('button', { name: 'Approve…' }).click();
  await dialog.getByRole('button', { name: 'Yes, let it run' }).click();
  await dialog.getByText('Approved; its tools are ready.').waitFor();
  const now = await weir.api('api/plugins/reader');
  assert.deepEqual([now.plugin.state, now.plugin.version], ['ready', '0.2.0']);
});

// calls are the cards of a tool's calls.
const calls = (page, tool) => log(page).getByRole('region', { name: `Tool call ${tool}` });
const ended = (page) => page.getByRole('button', { name: /^(Stop|停止)$/ }).waitFor({ state: 'hidden' });

test('a conversation that is opened again shows what the model read then', async () => {
  model.calls = (question) => (/long/.test(question) ? [['long_text', { lines: 400 }], ['calculator', { expression: '6*7' }]] : []);
  const page = await world.visit();
  await ask(page, 'Make something long');
  await log(page).getByText('It is done.').waitFor();
  await ended(page);
  const card = calls(page, 'long_text'), whole = calls(page, 'calculator'), map = card.getByRole('img').first();
  // told is what a person can read of the calls and of the sums below them.
  const told = async () => {
    await card.getByText('What the model read').click();
    await card.locator('pre.read').filter({ hasText: /\d{3}/ }).waitFor();
    await card.getByText('Lines shown for a pattern: 1').click();
    await card.getByRole('listitem').waitFor();
    return {
      figures: await card.locator('.figures').innerText(), badge: await card.locator('header').innerText(), kept: await card.getByRole('listitem').innerText(), read: await card.locator('pre.read').innerText(),
      map: await map.getAttribute('aria-label'), spans: await map.locator('.through').evaluateAll((all) => all.map((n) => n.getAttribute('style'))),
      whole: await whole.innerText(), sums: await log(page).locator('.sums > span').last().innerText(),
    };
  };
  const live = await told();
  assert.match(live.figures, /^[\d,]+ of 26,[\d,]+ characters let through Left out by the agent's limit of 12,000 characters: [\d,]+ characters, lines: \d+\. change…$/);
  assert.match(live.kept, /^line 201, \^line 201:: line 201: /);
  assert.match(live.badge, /folded now/);
  assert.match(live.whole, /calculator\s+“6\*7”\s+[\d,]+ characters, whole/);
  assert.equal(live.spans.length, 3, 'the beginning, a kept line and the end');
  await page.reload();
  await card.waitFor();
  const again = await told();
  for (const key of Object.keys(live)) assert.deepEqual(again[key], live[key], key);
});

test('a first visit asks for the token, and says when it is wrong', async () => {
  const page = await world.visit({}, '');
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  const token = page.getByRole('textbox', { name: 'Token' });
  await token.fill('not-the-token');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('alert').filter({ hasText: 'The daemon does not accept this token.' }).waitFor();
  await token.fill(weir.token);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('textbox', { name: 'Your question' }).waitFor();
  assert.equal(new URL(page.url()).hash, '');
});

test('a code logs in once, and the browser stays logged in', async () => {
  const { code } = await weir.api('api/session/code', { method: 'POST' });
  const address = `${weir.url}#code=${code}`;
  const page = await world.visit({}, address);
  const question = page.getByRole('textbox', { name: 'Your question' });
  await question.waitFor();
  assert.equal(new URL(page.url()).hash, '');
  await page.reload();
  await question.waitFor();
  assert.equal(await page.evaluate(() => document.cookie), '');
  const again = await world.visit({}, '');
  await again.goto(address);
  await again.getByRole('alert').filter({ hasText: 'The code is wrong, was used, or is older than a minute' }).waitFor();
});

// read opens the whole of a call in the reader.
async function read(page, tool = 'long_text') {
  await calls(page, tool).getByRole('link', { name: /^Open the whole/ }).first().click();
  await page.getByRole('region', { name: 'Archived text' }).getByText('line 1:').first().waitFor();
  return { lines: page.getByRole('region', { name: 'Archived text' }), side: page.getByRole('complementary', { name: 'Limit, load back' }) };
}

test('lines and matches are loaded back, and what fits is told before', async () => {
  model.calls = (question) => (/long/.test(question) ? [['long_text', { lines: 20000 }]] : []);
  const page = await world.visit();
  await ask(page, 'Make something long');
  await log(page).getByText('It is done.').waitFor();
  await ended(page);
  const { side } = await read(page), lines = side.getByRole('textbox', { name: 'Lines', exact: true });
  await side.getByText(/^the first [\d,]+ of [\d,]+ characters fit$/).waitFor();
  await lines.fill('ten to twenty');
  await side.getByText('Write lines as 100-160, 100- or 100.').waitFor();
  assert.ok(await side.getByRole('button', { name: /^Load/ }).isDisabled());
  await page.getByRole('button', { name: 'Select line 20', exact: true }).click();
  await page.getByRole('button', { name: 'Select line 21', exact: true }).click({ modifiers: ['Shift'] });
  assert.equal(await lines.inputValue(), '20-21');
  await side.getByText(/^all [\d,]+ characters fit$/).waitFor();
  await side.getByRole('button', { name: 'Load these lines with the next question' }).click();
  await read(page);
  await page.getByRole('searchbox', { name: 'Find in this result' }).fill('line 7777:');
  await page.getByRole('status').filter({ hasText: /^1 of 1$/ }).waitFor();
  await side.getByRole('button', { name: 'Load these matches with the next question' }).click();
  await read(page);
  await side.getByText(/^the first [\d,]+ of [\d,]+ characters fit$/).waitFor();
  await side.getByRole('button', { name: 'Load the whole with the next question' }).click();
  await page.setViewportSize({ width: 320, height: 720 });
  const chips = page.getByRole('list', { name: 'Loaded back with the next question' }).getByRole('listitem');
  await chips.filter({ hasText: 'long_text, lines 20-21' }).getByText(/^all [\d,]+ characters fit$/).waitFor();
  const whole = chips.filter({ hasText: 'long_text, the whole' });
  await whole.getByText(/^the first [\d,]+ of [\d,]+ characters fit$/).waitFor();
  const number = (text) => Number(/[\d,]+/.exec(text)[0].replaceAll(',', ''));
  const told = number((await whole.innerText()).split('first')[1]);
  model.asked.length = 0;
  await ask(page, 'What is in lines 20 and 21?');
  const cards = calls(page, 'load_tool_history');
  await cards.nth(2).getByText('loaded from the archive').waitFor();
  const shown = number(await cards.nth(2).locator('.figures').innerText());
  assert.ok(shown <= told && shown > 0.98 * told, `${told} characters were told to fit, ${shown} were shown`);
  const sent = JSON.stringify(model.asked[0].slice(-4));
  for (const text of ['line 20:', 'line 21:', '7777:line 7777:']) assert.ok(sent.includes(text), text);
  assert.equal(await chips.count(), 0);
});

test('the reader holds a long result with few nodes, and finds every hit in it', async () => {
  model.calls = (question) => (/long/.test(question) ? [['long_text', { lines: 20000 }]] : []);
  const page = await world.visit();
  await ask(page, 'Make something long');
  await log(page).getByText('It is done.').waitFor();
  await ended(page);
  const { lines } = await read(page), status = page.getByRole('search').getByRole('status');
  const count = () => lines.evaluate((n) => n.querySelectorAll('*').length);
  assert.ok(await count() <= 400, `${await count()} nodes`);
  await page.getByRole('searchbox', { name: 'Find in this result' }).fill('999:');
  await status.filter({ hasText: /^1 of 20$/ }).waitFor();
  await lines.locator('mark.now').waitFor();
  await lines.focus();
  await page.keyboard.press('n');
  await status.filter({ hasText: /^2 of 20$/ }).waitFor();
  await lines.getByText('line 1999:').waitFor();
  await page.keyboard.press('p');
  await page.keyboard.press('p');
  await status.filter({ hasText: /^20 of 20$/ }).waitFor();
  await lines.getByText('line 19999:').waitFor();
  assert.ok(await count() <= 400, `${await count()} nodes`);
  await page.waitForURL(/[?&]q=999%3A/);
  await page.waitForURL(/[?&]l=1997\d/); // the first line in sight, of 30
  await page.reload();
  await page.getByRole('region', { name: 'Archived text' }).getByText('line 19999:').waitFor();
  assert.equal(await page.getByRole('searchbox', { name: 'Find in this result' }).inputValue(), '999:');
  await page.getByRole('textbox', { name: 'Go to line' }).fill('12,345');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Archived text' }).getByText('line 12345:').waitFor();
});

test('another limit is tried on a result, and saved for its tool', async () => {
  model.calls = (question) => (/long/.test(question) ? [['long_text', { lines: 400 }]] : []);
  const page = await world.visit();
  await ask(page, 'Make something long');
  await log(page).getByText('It is done.').waitFor();
  await ended(page);
  await calls(page, 'long_text').getByRole('link', { name: 'change…' }).click();
  const what = page.getByRole('region', { name: 'What if the limit were…' }), map = page.getByRole('scrollbar').getByRole('img');
  const before = await page.getByRole('scrollbar').locator('.through').evaluateAll((all) => all.map((n) => n.getAttribute('style')));
  await what.getByRole('spinbutton', { name: "Agent's limit" }).fill('');
  await what.getByRole('slider').fill('3000');
  await what.getByText(/^[\d,]+ of 26,[\d,]+ characters let through/).waitFor();
  await what.getByText("the operator's limit of 3,000 characters decides").or(what.getByText('of 3,000 characters decides')).first().waitFor();
  const after = await page.getByRole('scrollbar').locator('.through').evaluateAll((all) => all.map((n) => n.getAttribute('style')));
  assert.notDeepEqual(after, before);
  assert.ok(await map.count() || true);
  await what.getByRole('button', { name: 'See the text' }).click();
  await what.locator('pre').filter({ hasText: 'line 1:' }).waitFor();
  await what.getByRole('button', { name: 'Save for long_text…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Changes of tools.toml' });
  await dialog.getByText('max_chars = 3000').waitFor();
  await dialog.getByRole('button', { name: 'Write and put in force' }).click();
  await dialog.getByText('Written, and in force.').waitFor();
  assert.match(await readFile(`${weir.dir}/tools.toml`, 'utf8'), /\[tools\.long_text\][^[]*max_chars\s*= 3000/);
  const { tools } = await weir.api('api/tools');
  assert.equal(tools.find((x) => x.spec.name === 'long_text').effective.max_chars, 3000);
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click();
  const etag = (await fetch(`${weir.url}api/settings`, { headers: { Authorization: `Bearer ${weir.token}` } })).headers.get('etag');
  await fetch(`${weir.url}api/settings`, { method: 'PATCH', headers: { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json', 'If-Match': etag }, body: JSON.stringify({ changes: [{ key: ['tools', 'long_text', 'max_chars'], value: null }] }) });
});

test('a tool is tried by a form and as JSON', async () => {
  const page = await world.visit();
  await view(page, 'Tools');
  await page.getByRole('link', { name: /^calculator/ }).click();
  const form = page.getByRole('region', { name: 'Try it' }), result = form.getByRole('article', { name: 'Its result' });
  await form.getByRole('textbox', { name: /^expression/ }).fill('6*7');
  await form.getByRole('button', { name: 'Run' }).click();
  await result.getByText('42').first().waitFor();
  await form.getByRole('button', { name: 'JSON', exact: true }).click();
  const json = form.getByRole('textbox', { name: 'Arguments as JSON' });
  assert.deepEqual(JSON.parse(await json.inputValue()), { expression: '6*7' });
  await json.fill('{"expression": ');
  await form.getByRole('alert').waitFor();
  assert.ok(await form.getByRole('button', { name: 'Run' }).isDisabled());
  await json.fill('{"expression": 5}');
  await form.getByRole('button', { name: 'Run' }).click();
  await result.getByText('failed').waitFor(); // the daemon checks arguments
  await page.getByRole('link', { name: /^long_text/ }).click();
  await form.getByRole('spinbutton', { name: /^lines/ }).fill('400');
  await form.getByRole('button', { name: 'Run' }).click();
  await result.getByText(/of 26,\d{3} characters let through/).waitFor();
  await result.getByRole('link', { name: /^Open the whole/ }).click();
  await page.getByRole('region', { name: 'Archived text' }).getByText('line 1:').first().waitFor();
});

test('archived results of programs are found, read and deleted', async () => {
  const line = (n) => `entry ${n}: ${n === 60 ? '苍鹭站在堰上\u202e' : 'nothing'}`;
  await weir.api('api/results', { method: 'POST', body: JSON.stringify({ tool_name: 'their_tool', conversation_id: 'theirs', result: Array.from({ length: 900 }, (_, i) => line(i + 1)).join('\n') }) });
  const page = await world.visit();
  await view(page, 'Results');
  await page.getByRole('link', { name: /^their_tool/ }).waitFor();
  await page.getByRole('searchbox', { name: 'Search the whole texts' }).fill('苍鹭');
  await page.getByRole('button', { name: /their_tool.*60/ }).click();
  const lines = page.getByRole('region', { name: 'Archived text' });
  await lines.getByText('苍鹭').waitFor();
  await lines.getByText('⟨U+202E⟩').waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  assert.ok((await readFile(await (await download).path(), 'utf8')).includes(line(900)));
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Yes, delete it' }).click();
  await page.getByRole('heading', { name: 'Results' }).waitFor();
  await page.getByRole('link', { name: /^their_tool/ }).waitFor({ state: 'hidden' });
});

test('a call that was asked for elsewhere waits in every view', async () => {
  const page = await world.visit();
  await view(page, 'Results');
  model.calls = (question) => (/seven/.test(question) ? [['long_text', { lines: 7 }]] : []);
  const asked = fetch(`${weir.url}api/chat`, { method: 'POST', headers: { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ message: 'seven from a program', approvals: true }) }).then((r) => r.text());
  const inbox = page.getByRole('region', { name: 'Calls that wait for you' });
  await inbox.getByText('"lines": 7').waitFor();
  assert.match(await page.title(), /^\(1\)/);
  await inbox.getByRole('button', { name: 'Allow once' }).click();
  assert.match(await asked, /It is done\./);
  await inbox.waitFor({ state: 'hidden' });
});

test('an answer shows in a second tab, and goes on when the first is closed', async () => {
  const rest = pending();
  model.says = () => ['Half of it', rest.promise];
  const page = await world.visit();
  await ask(page, 'Who else reads this?');
  await log(page).getByText('Half of it').waitFor();
  await page.waitForURL(/#\/ask\/./);
  const other = await page.context().newPage();
  await other.goto(page.url());
  await log(other).getByText('Half of it').waitFor();
  await page.close();
  rest.keep(', and the rest.');
  await log(other).getByText('Half of it, and the rest.').waitFor();
});

const attacks = ['<img src=x onerror="globalThis.hit=1">', '<script>globalThis.hit=1</script>', '<a href="javascript:globalThis.hit=1">x</a>', '[link](javascript:globalThis.hit=1)',
  '![picture](https://evil.example/p.png)', '<iframe srcdoc="<script>parent.hit=1</script>"></iframe>', '"><svg onload=globalThis.hit=1>'];

test('what a model, a tool, a plugin or a person writes becomes no markup', async () => {
  const all = attacks.join('\n\n');
  model.calls = (question) => (/onerror/.test(question) ? [['calculator', { expression: all }]] : []);
  model.says = () => [all];
  await weir.stranger('sneaky', ['evil.example'], `0.1.0`, attacks.slice(0, 4).join(' '));
  const page = await world.visit();
  await ask(page, all);
  await log(page).getByText('image: picture').waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  const article = await review(page, 'sneaky');
  await article.getByText('<script>').first().waitFor();
  await view(page, 'Ask');
  await page.getByRole('searchbox', { name: 'Search conversations' }).fill('onerror');
  await page.getByRole('status').filter({ hasText: /^Found: \d/ }).waitFor();
  await page.reload();
  await log(page).getByText('image: picture').waitFor();
  assert.equal(await page.evaluate(() => globalThis.hit), undefined);
  const made = 'script:not([src="app.js"]), img:not([src="icon.svg"]), iframe, svg:not(.icon), object, embed, [onerror], [onload], a[href^="javascript:"]';
  assert.deepEqual(await page.locator(made).evaluateAll((list) => list.map((n) => n.outerHTML)), []);
  assert.equal(await log(page).locator('svg, img').count(), 0);
  assert.equal(await page.getByRole('link', { name: 'image: picture' }).getAttribute('rel'), 'noopener noreferrer');
});

test('Markdown of an answer is rendered', async () => {
  model.says = () => ['## Which tests fail\n\nTwo *of* **three**, see [the log](https://ci.example/log) or https://ci.example/all.\n\n| test | time |\n|:--|--:|\n', '| `a|b` | 3 s |\n\n1. first\n   - inner\n2. second\n\n> quoted\n\n```go\nx := **p\n```\n'];
  const page = await world.visit();
  await ask(page, 'Which tests fail?');
  const answer = log(page).getByRole('article', { name: 'Answer' });
  await answer.getByText('x := **p').waitFor();
  await answer.getByRole('heading', { name: 'Which tests fail', level: 3 }).waitFor();
  assert.equal(await answer.getByRole('columnheader').count(), 2);
  assert.equal(await answer.locator('li li').innerText(), 'inner');
  assert.equal(await answer.locator('blockquote').innerText(), 'quoted');
  assert.equal(await answer.getByRole('link', { name: 'the log' }).evaluate((a) => a.parentNode.textContent), 'the log (ci.example)');
  assert.equal(await answer.getByRole('link', { name: 'https://ci.example/all' }).getAttribute('href'), 'https://ci.example/all');
});

test('a call that needs a person waits for one', async () => {
  model.calls = (question) => (/seven/.test(question) ? [['long_text', { lines: 7 }]] : []);
  const page = await world.visit();
  await ask(page, 'Make seven lines');
  const wait = log(page).getByRole('group', { name: 'long_text asks for your approval' });
  await wait.getByText('"lines": 7').waitFor();
  await log(page).getByText(/^Waiting for you · \d+ s$/).waitFor();
  await wait.getByRole('button', { name: 'Allow once' }).click();
  await log(page).getByText('You allowed it.').waitFor();
  await log(page).getByText('It is done.').waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  await ask(page, 'Make seven lines again');
  await wait.getByRole('button', { name: 'Do not allow' }).click();
  await log(page).getByText('You did not allow it.').waitFor();
});

test('conversations are searched, renamed and deleted', async () => {
  const page = await world.visit();
  await ask(page, 'Where does the heron stand?');
  await log(page).getByText('It is done.').waitFor();
  await page.getByRole('button', { name: /^About “Where does the heron/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Title' }).fill('Of birds');
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await dialog.getByText('Renamed.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByRole('searchbox').fill('heron');
  await page.getByRole('button', { name: /^Of birds/ }).click();
  await bubble(page, 'heron').waitFor();
  await page.getByRole('searchbox').fill('');
  await page.getByRole('button', { name: /^About “Of birds/ }).click();
  await dialog.getByRole('button', { name: 'Delete…' }).click();
  await dialog.getByRole('button', { name: 'Yes, delete it' }).click();
  await page.getByRole('status').filter({ hasText: /^Deleted\./ }).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Of birds/ }).count(), 0);
});

test('a long conversation leaves what is out of sight undrawn', async () => {
  model.says = () => [`Up.\n\n${'A long paragraph of many words. '.repeat(200)}\n\nThe end.`];
  const page = await world.visit();
  for (const question of ['One?', 'Two?', 'Three?']) {
    await ask(page, question);
    await bubble(page, question).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  }
  const answers = log(page).getByRole('article', { name: 'Answer' });
  const how = () => answers.evaluateAll((list) => list.map((n) => getComputedStyle(n).contentVisibility));
  assert.deepEqual(await how(), ['auto', 'auto', 'visible']);
  await page.reload();
  await answers.nth(2).waitFor();
  assert.deepEqual(await how(), ['auto', 'auto', 'visible']);
  await page.waitForFunction(() => { // its end is in sight
    const { scrollHeight, scrollTop, clientHeight } = document.getElementById('scroll');
    return scrollHeight > 2 * clientHeight && scrollHeight - scrollTop - clientHeight < 8;
  });
});

test('what comes is followed, until one scrolls up', async () => {
  const rest = pending(), paragraph = 'A long paragraph of many words. '.repeat(120);
  const page = await world.visit();
  const far = () => page.evaluate(() => { const b = document.getElementById('scroll'); return b.scrollHeight - b.scrollTop - b.clientHeight; });
  model.says = () => [`${paragraph}\n\n${paragraph}\n\nUp.`];
  for (const question of ['One?', 'Two?', 'Three?']) {
    await ask(page, question);
    await bubble(page, question).waitFor();
    await ended(page);
    await page.waitForFunction(() => { const b = document.getElementById('scroll'); return b.scrollHeight - b.scrollTop - b.clientHeight < 8; });
  }
  model.says = () => [`${paragraph}\n\n`, rest.promise];
  await ask(page, 'Four?');
  await log(page).getByText(/^The model is answering/).waitFor();
  await log(page).hover();
  await page.mouse.wheel(0, -600);
  await page.waitForFunction(() => { const b = document.getElementById('scroll'); return b.scrollHeight - b.scrollTop - b.clientHeight > 300; });
  rest.keep(`${paragraph}\n\nThe end.`);
  await ended(page);
  assert.ok(await far() > 300, 'one who reads above is left there');
});

test('keys are listed, and no key or click of any kind breaks the page', async () => {
  const page = await world.visit({ files: gallery });
  await log(page).focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  let seed = 7;
  const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % n; };
  const keys = ['Tab', 'Tab', 'Enter', 'Escape', 'ArrowDown', 'ArrowUp', 'n', 'p', '/', 'g', 'l', ' ', 'Shift+Tab', 'Home', 'End'];
  for (const hash of ['#/ask', '#/results', '#/tools', '#/plugins', '#/traces', '#/gallery']) {
    await page.evaluate((h) => { location.hash = h; }, hash);
    for (let i = 0; i < 60; i++) {
      if (i % 6) await page.keyboard.press(keys[random(keys.length)]);
      else await page.mouse.click(80 + random(1100), 60 + random(700));
    }
  }
  await page.goto(weir.address); // pages that had an error are found when the world ends
  await page.getByRole('textbox', { name: /^(Your question|你的问题)$/ }).waitFor(); // a click can change the language
});

// prepare asks for what there is to see in a conversation.
async function prepare(page, question, answer) {
  model.calls = (asked) => (asked.includes(question) ? [['long_text', { lines: 400 }], ['calculator', { expression: '6*7' }]] : []);
  model.says = () => [`### ${answer}\n\n| 1 | 2 |\n|---|---|\n| \`a\` | [log](https://ci.example/) |\n\n- ${answer}\n\n\`\`\`\nx\n\`\`\`\n`];
  await ask(page, question);
  await log(page).getByRole('table').waitFor();
  await page.getByRole('button', { name: /^(Stop|停止)$/ }).waitFor({ state: 'hidden' });
}

// views opens all that the page can show, one after another, and calls look with each.
async function views(page, look, w) {
  const rail = page.getByRole('navigation', { name: /^(Views|视图)$/ }), dialog = page.getByRole('dialog');
  const go = async (name) => {
    const link = rail.getByRole('link', { name });
    if (await link.isVisible()) return link.click();
    await rail.getByRole('link', { name: w.more }).click();
    await page.getByRole('main').getByRole('link', { name }).click();
  };
  const settled = () => page.getByText(/^(Loading…|加载中…)$/).first().waitFor({ state: 'hidden' });
  await go(w.ask);
  await page.getByRole('textbox', { name: /^(Your question|你的问题)$/ }).waitFor();
  await look('conversation');
  const narrow = page.getByRole('button', { name: w.chats, exact: true });
  if (await narrow.isVisible()) await narrow.click();
  await look('conversations');
  await page.getByRole('button', { name: w.about }).first().click();
  await dialog.waitFor();
  await look('about');
  await dialog.getByRole('button', { name: w.close }).click();
  if (await narrow.isVisible()) await page.keyboard.press('Escape');
  const sees = page.getByRole('button', { name: w.sees, exact: true });
  if (await sees.isVisible()) { await sees.click(); await look('sees'); await page.keyboard.press('Escape'); }
  await log(page).getByRole('link', { name: w.whole }).first().click();
  await page.getByRole('region', { name: w.text }).getByText('line 1:').first().waitFor();
  await look('reader');
  const side = page.getByRole('button', { name: w.side });
  if (await side.isVisible()) await side.click();
  await page.getByRole('slider').fill('3000');
  await page.getByText(w.through).last().waitFor();
  await look('what-if');
  await go(w.results);
  await page.getByRole('link', { name: /^long_text/ }).first().waitFor();
  await look('results');
  await go(w.plugins);
  await page.getByRole('link', { name: /^sneaky / }).waitFor();
  await look('plugins');
  await page.getByRole('link', { name: /^sneaky / }).click();
  await page.getByRole('article').getByRole('button', { name: w.approve }).click();
  await look('approval');
  for (const name of w.rest) {
    await go(name);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await settled();
    await look(String(name));
    const first = page.getByRole('main').locator('.list a, .results a').first();
    if (!String(name).match(w.deep)) continue;
    await first.click();
    await page.getByRole('main').locator('.try, .timeline, .setting, .card').first().waitFor();
    await look(`${name}-one`);
  }
  for (const part of ['limits', 'agents', 'health']) {
    await page.evaluate((hash) => { location.hash = hash; }, `#/settings/${part}`);
    await page.locator('.setting, .health li').first().waitFor();
    await look(`settings-${part}`);
  }
  await go(w.ask);
}

const english = { ask: 'Ask', results: 'Results', plugins: /^Plugins/, more: 'More', chats: 'Conversations', about: /^About “/, close: 'Close', sees: 'What the model sees', whole: /^Open the whole/, text: 'Archived text', side: 'Limit, load back', through: /characters let through$/, approve: /^(Approve|Grant)…$/, deep: /^(Tools|Traces|Settings)$/, rest: ['Tools', 'Scripts', 'Traces', 'Clients', 'Settings', /^Account/] };
const chinese = { ask: '提问', results: '结果', plugins: /^插件/, more: '更多', chats: '会话', about: /^“.*重命名/, close: '关闭', sees: '模型看到的内容', whole: /^打开完整内容/, text: '存档内容', side: '限制与加载', through: /个字符中放行了/, approve: /^(批准|授予)…$/, deep: /^(工具|记录|设置)$/, rest: ['工具', '脚本', '记录', '客户端', '设置', /^账户/] };

test('every view is accessible and as wide as the screen', async () => {
  await weir.stranger('sneaky', ['evil.example']);
  const page = await world.visit();
  await prepare(page, 'Make everything there is', 'Everything');
  const stranger = await world.visit({}, ''), parts = await world.visit({ files: gallery });
  const found = [];
  for (const [width, colorScheme, other] of [[1280, 'light', 'dark'], [320, 'dark', 'light']]) {
    const look = async (name, seen = page) => {
      const wide = await seen.evaluate(() => [document.documentElement, ...document.querySelectorAll('body, .shell, .rail, .rail *, .stage, .page > *, .talk-head *, .ask *, .find > *, dialog[open], .login *')].filter((n) => n.getBoundingClientRect().right > innerWidth + 1 || (n === document.documentElement && n.scrollWidth > innerWidth)).map((n) => n.id || `${n.nodeName}.${n.className}`));
      for (const what of [...(await violations(seen)), ...wide.map((n) => `too wide: ${n}`)]) found.push(`${name}, ${width}, ${colorScheme}: ${what}`);
      if (process.env.SHOTS) await seen.screenshot({ path: `${process.env.SHOTS}/en-${width}-${colorScheme}-${name.replace(/\W/g, '')}.png` });
      await seen.emulateMedia({ colorScheme: other });
      for (const what of await violations(seen, colours)) found.push(`${name}, ${width}, ${other}: ${what}`);
      await seen.emulateMedia({ colorScheme });
    };
    for (const each of [page, stranger, parts]) {
      await each.setViewportSize({ width, height: 720 });
      await each.emulateMedia({ colorScheme });
    }
    await look('login', stranger);
    await parts.evaluate(() => { location.hash = '#/gallery'; });
    await parts.getByRole('heading', { name: 'Components' }).waitFor();
    await look('gallery', parts);
    await views(page, look, english);
  }
  assert.deepEqual(found, []);
});

test('a Chinese page has no English sentence', async () => {
  await weir.stranger('sneaky', ['evil.example']);
  const page = await world.visit({ locale: 'zh-CN' });
  await prepare(page, '把所有东西都做出来', '全部');
  const found = [];
  const look = async (name) => {
    const texts = await page.evaluate(() => {
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), out = [];
      while (walk.nextNode()) if (walk.currentNode.parentElement.checkVisibility() && !walk.currentNode.parentElement.closest('pre, code, q, [lang="en"], .talks .open, .rows, .sum, .args, .results .first')) out.push(walk.currentNode.data);
      return out;
    });
    const command = / weir [a-z]+ [a-z]+ \S+$/; // stays as one types it
    found.push(...texts.filter((s) => /[A-Za-z]+(?:[ ,;:'’-]+[A-Za-z]+){3,}/.test(s.replace(command, ''))).map((s) => `${name}: ${s}`));
    for (const [width, colorScheme] of process.env.SHOTS ? [[320, 'dark'], [1280, 'light']] : []) {
      await page.setViewportSize({ width, height: 720 });
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${process.env.SHOTS}/zh-${width}-${colorScheme}-${name.replace(/\W/g, '')}.png` });
    }
  };
  await views(page, look, chinese);
  assert.deepEqual(found, []);
});
