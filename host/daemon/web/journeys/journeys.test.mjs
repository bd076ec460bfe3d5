// What people do in the page, in a real browser, by roles and names.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { ask, calls, ended, log, pending, startWorld, view, violations } from './world.mjs';

let world, weir, model;
before(async () => { world = await startWorld('[scripts]\noffer = "always"'); ({ weir, model } = world); });
after(() => world?.close());
beforeEach(async () => { model.reset(); await weir.start(); });
afterEach(() => world.leave());

const bubble = (page, text) => log(page).getByRole('article', { name: 'You' }).filter({ hasText: text });

test('a new tab is logged in, and log-out holds for all', async () => {
  const page = await world.visit();
  assert.ok(!JSON.stringify(await page.evaluate(() => ({ ...localStorage, ...sessionStorage }))).includes(weir.token), 'the token is not remembered');
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.expires > Date.now() / 1000 + 60 * 24 * 3600], [true, 'Strict', true]);
  const other = await page.context().newPage();
  await other.goto(weir.url);
  await other.getByRole('textbox', { name: 'Your question' }).waitFor();
  const key = await page.evaluate(() => localStorage.getItem('weir.session'));
  const opens = async () => (await fetch(`${weir.url}api/session`, { headers: { 'X-Weir-Session': key, Cookie: `${cookie.name}=${cookie.value}` } })).status;
  assert.equal(await opens(), 200);
  await page.getByRole('link', { name: 'Account: Operator' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  await other.getByRole('heading', { name: 'Log in' }).waitFor();
  assert.equal(await opens(), 401, 'a copy of the session opens nothing after the log-out');
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

test('only Stop ends an answer, also for who opens it again', async () => {
  const rest = pending();
  model.says = () => ['It begins', rest.promise];
  const page = await world.visit();
  await ask(page, 'Will it end?');
  await log(page).getByText('It begins').waitFor();
  await page.keyboard.press('Escape');
  await page.reload();
  await log(page).getByText('It begins').waitFor();
  assert.equal((await weir.api('api/pulse')).answering.length, 1, 'it goes on');
  await page.getByRole('button', { name: 'Stop' }).click();
  await ended(page);
  assert.deepEqual((await weir.api('api/pulse')).answering, []);
  const told = () => log(page).locator('.theirs').innerText();
  await log(page).getByText('cancelled').waitFor();
  const live = await told();
  await page.reload();
  await log(page).getByText('cancelled').waitFor();
  assert.equal(await told(), live);
  rest.keep('');
});

test('Enter sends, but not while an input method composes', async () => {
  const page = await world.visit(), box = page.getByRole('textbox', { name: 'Your question' });
  await box.fill('你好');
  await box.evaluate((n) => { for (const how of [{ isComposing: true }, { keyCode: 229 }]) n.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...how })); });
  assert.equal(await box.inputValue(), '你好');
  await box.press('Shift+Enter');
  assert.equal(await box.inputValue(), '你好\n');
  await box.press('Enter');
  await bubble(page, '你好').waitFor();
  await ended(page);
});

test('what is said aloud are whole sentences', async () => {
  const rest = pending();
  model.says = () => ['One half', ' of it. An', rest.promise];
  const page = await world.visit(), said = page.locator('[aria-live=polite] p');
  await ask(page, 'Speak!');
  await said.getByText('One half of it.', { exact: true }).waitFor();
  await log(page).getByText('One half of it. An').waitFor();
  rest.keep('other half.');
  await said.getByText('Another half.', { exact: true }).waitFor();
  assert.deepEqual(await said.allInnerTexts(), ['One half of it.', 'Another half.']);
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
  await view(page, 'Settings');
  await page.waitForFunction(() => document.title === 'Limits – Settings – weir');
  await page.getByRole('button', { name: '中文' }).first().click();
  await page.waitForFunction(() => document.title === '限制 – 设置 – weir');
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
  const page = await world.visit(), listed = page.getByRole('button', { name: /^About “/ });
  await ask(page, 'Are you there?');
  await ended(page);
  await listed.first().waitFor();
  await weir.stop();
  const failed = page.waitForEvent('requestfailed', (r) => r.url().endsWith('/api/conversations'));
  await ask(page, 'Can you hear me?');
  await log(page).getByText('The daemon does not answer.').last().waitFor();
  await failed;
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.ok(await listed.count() > 0, 'what could not be asked for is not shown as empty');
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

test('a plugin is taken back, disabled, enabled and removed', async () => {
  const page = await world.visit(), now = async () => (await weir.api('api/plugins/keeper')).plugin;
  for (const version of ['0.1.0', '0.2.0']) {
    await weir.stranger('keeper', ['one.example'], version);
    let waiting;
    for (let i = 0; i < 100 && waiting?.version !== version; i++) {
      await new Promise((done) => setTimeout(done, 50)); // the folder is read
      ({ waiting } = await weir.api('api/plugins/keeper').catch(() => ({})));
    }
    const grants = waiting.asks.filter((a) => !a.granted).map(({ kind, what }) => ({ kind, what }));
    await weir.api('api/plugins/keeper/approve', { method: 'POST', body: JSON.stringify({ digest: waiting.digest, grants }) });
  }
  assert.equal((await now()).version, '0.2.0');
  const article = await review(page, 'keeper');
  await article.getByRole('listitem').filter({ hasText: /^0\.1\.0/ }).getByRole('button', { name: 'Go back to this' }).click();
  await article.getByText('This version serves until the next approval.').waitFor();
  assert.equal((await now()).version, '0.1.0');
  await article.getByRole('button', { name: 'Disable' }).click();
  await article.getByText(/^Disabled:/).waitFor();
  assert.equal((await now()).state, 'disabled');
  await article.getByRole('button', { name: 'Enable' }).click();
  await article.getByText('Enabled.').waitFor();
  assert.equal((await now()).state, 'ready');
  await article.getByRole('button', { name: 'Remove…' }).click();
  await article.getByRole('button', { name: 'Keep it' }).click();
  await article.getByRole('button', { name: 'Remove…' }).click();
  await article.getByRole('button', { name: 'Yes, remove it' }).click();
  await article.getByText('keeper was removed.').waitFor();
  await assert.rejects(readFile(`${weir.dir}/strangers/keeper/plugin.toml`), 'its files are deleted, as the question says');
  await page.getByRole('navigation', { name: 'Plugins' }).getByRole('link', { name: /^keeper / }).waitFor({ state: 'hidden' });
});

test('a plugin that is kept out says why, and that a change waits', async () => {
  for (const version of ['0.1.0', '0.2.0']) {
    await weir.stranger('barred', ['one.example'], version);
    let waiting;
    for (let i = 0; i < 100 && waiting?.version !== version; i++) {
      await new Promise((done) => setTimeout(done, 50)); // the folder is read
      ({ waiting } = await weir.api('api/plugins/barred').catch(() => ({})));
    }
    if (version === '0.1.0') await weir.api('api/plugins/barred/approve', { method: 'POST', body: JSON.stringify({ digest: waiting.digest }) }); // without its grant
  }
  const page = await world.visit(), article = await review(page, 'barred');
  await article.getByText('one.example ("reads its pages") and is not granted it').waitFor();
  await article.getByText('It has changed since it was approved.').waitFor();
  assert.equal(await article.getByText('Version 0.1.0 serves until').count(), 0);
});

test('the log of a plugin is opened', async () => {
  const page = await world.visit();
  const article = await review(page, 'calculator');
  await article.getByText('Log', { exact: true }).click();
  await article.getByText('The log has no line of this plugin since weir was started.').waitFor();
});

test('of the hosts that a plugin asks for some are granted', async () => {
  await weir.stranger('wanderer', ['*.example.com']);
  const page = await world.visit();
  const dialog = await review(page, 'wanderer');
  await dialog.getByRole('button', { name: 'Approve…' }).click();
  const only = dialog.getByRole('textbox', { name: 'of these only' });
  assert.equal(await only.inputValue(), '*.example.com');
  await only.fill('api.other.com');
  await dialog.getByRole('button', { name: 'Yes, let it run' }).click();
  await dialog.getByText('is not a part of').waitFor();
  await only.fill('api.example.com');
  await dialog.getByRole('button', { name: 'Yes, let it run' }).click();
  await dialog.getByText('Approved; its tools are ready.').waitFor();
  assert.match(await readFile(`${weir.dir}/tools.toml`, 'utf8'), /\[grants\.wanderer\]\s+hosts\s*= \["api\.example\.com"\]/);
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
  // The map says what the text says: the lines that are in it, on a scale of 400.
  const has = new Set([...live.read.matchAll(/^line (\d+):/gm)].map((m) => Number(m[1]))), runs = [];
  for (let n = 1; n <= 400; n++) if (has.has(n)) { if (has.has(n - 1)) runs.at(-1)[1] = n; else runs.push([n - 1, n]); }
  const percent = (style) => /left: ([\d.]+)%; width: ([\d.]+)%/.exec(style).slice(1).map(Number);
  assert.deepEqual(live.spans.map(percent).map(([from, wide]) => [Math.round(from * 4), Math.round((from + wide) * 4)]), runs, 'the beginning, a kept line and the end');
  assert.deepEqual(runs.length, 3);
  assert.equal(await map.locator('.kept').evaluate((n) => n.style.left), '50%');
  await page.reload();
  await card.waitFor();
  const again = await told();
  for (const key of Object.keys(live)) assert.deepEqual(again[key], live[key], key);
});

test('a failed call that is opened again says why, as it did live', async () => {
  model.calls = (question) => (/wrong/.test(question) ? [['calculator', { expression: '1/0' }], ['calculator', { sum: 1 }], ['no_such_tool', {}], ['long_text', { lines: 7 }]] : []);
  model.says = (last) => [last.role === 'tool' ? 'I try. <tool_call>{oops</tool_call>' : 'It is done.'];
  const page = await world.visit();
  await ask(page, 'Do it all wrong');
  await log(page).getByRole('button', { name: 'Do not allow' }).click();
  await log(page).getByText('It is done.').waitFor();
  await ended(page);
  const cards = () => log(page).locator('section.call').evaluateAll((all) => all.map((n) => n.innerText.replace(/\s+/g, ' ')));
  const all = () => log(page).locator('.theirs').evaluateAll((list) => list.map((n) => `${n.innerText.replace(/\s+/g, ' ')} ${[...n.querySelectorAll('[lang]')].map((x) => x.lang)}`));
  const live = await cards(), answer = await all();
  assert.match(answer[0], /I try\. A tool call of the model could not be used: .* It is done\..* en,en$/, answer[0]);
  for (const [i, why] of ['Division by zero', '"expression" is missing', 'There is no tool named', 'do not repeat it'].entries()) assert.ok(live[i].includes(why), live[i]);
  await page.reload();
  await log(page).getByText('It is done.').waitFor();
  assert.deepEqual(await all(), answer);
});

test('a call that is opened again says who allowed it or did not, as it did live', async () => {
  model.calls = (question) => [7, 8, 9].filter((n) => question.includes(n)).map((lines) => ['long_text', { lines }]);
  const page = await world.visit(), cards = () => log(page).locator('section.call').allInnerTexts();
  for (const [question, answer] of [['Make 7, 8 and 9', 'Allow once'], ['Not 7', 'Do not allow'], ['Always 7', 'Always in this conversation'], ['And 7', '']]) {
    await ask(page, question);
    if (answer) await log(page).getByRole('button', { name: answer }).click();
    await bubble(page, question).waitFor();
    await ended(page);
  }
  await page.getByRole('button', { name: 'New conversation' }).click();
  model.calls = () => [['long_text', { lines: 7 }]];
  await ask(page, 'Do not answer');
  await log(page).getByRole('button', { name: 'Allow once' }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await ended(page);
  const stopped = await cards();
  assert.match(stopped[0], /The question ended before an answer; it did not run\./);
  await page.goBack();
  await bubble(page, 'And 7').waitFor();
  const live = await cards();
  for (const [i, says] of ['You allowed it.', 'Rule 2 of the approvals does not allow it.', 'Rule 3 of the approvals allows it.', 'You did not allow it.', 'You allowed it for this conversation.', 'You had allowed it for this conversation.'].entries()) assert.ok(live[i].includes(says), `${i}: ${live[i]}`);
  await page.reload();
  await bubble(page, 'And 7').waitFor();
  await log(page).locator('section.call').nth(5).waitFor();
  assert.deepEqual(await cards(), live);
  await page.getByRole('button', { name: /^Do not answer/ }).click();
  await bubble(page, 'Do not answer').waitFor();
  assert.deepEqual(await cards(), stopped);
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
  await page.goto(`${weir.url}#token=wrong`);
  await page.reload();
  await question.waitFor(); // a wrong token or code ends no session
  const again = await world.visit({}, '');
  await again.goto(address);
  await again.getByRole('alert').filter({ hasText: 'The code is wrong, was used, or is older than a minute' }).waitFor();
});

// read opens the whole of a call in the reader.
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

// harmless asserts that no text became markup.
async function harmless(page) {
  assert.equal(await page.evaluate(() => globalThis.hit), undefined);
  const made = 'script:not([src="app.js"]), img:not([src="icon.svg"]), iframe, svg:not(.icon), object, embed, [onerror], [onload], a[href^="javascript:"]';
  assert.deepEqual(await page.locator(made).evaluateAll((list) => list.map((n) => n.outerHTML)), []);
}

test('progress, output, failure and version of a hostile tool become no markup', async () => {
  const dir = `${weir.dir}/own/evil`, all = JSON.stringify(attacks.join(' '));
  await mkdir(dir);
  await writeFile(`${dir}/plugin.toml`, `schema = 1\nname = "evil"\nversion = "0.1.0"\nscript = "main.js"\ndescription = ${all}\n[[tool]]\nname = "evil"\ndescription = ${all}\nformat = "mcp"\n[tool.output]\nmax_chars = 2000\n[tool.params]\ntype = "object"\n[tool.params.properties.fail]\ntype = "boolean"\n[tool.params.properties.wait]\ntype = "boolean"\n`);
  await writeFile(`${dir}/main.js`, `export function evil(args, c) {\n  if (args.fail) throw c.fail("failed", ${all}, ${all});\n  c.progress(1, 2, ${all});\n  while (args.wait);\n  return (${all} + "\\n").repeat(100);\n}\n`);
  await weir.stranger('odd', ['evil.example'], '<script>globalThis.hit=1</script>');
  while (!(await weir.api('api/tools')).tools.some((x) => x.spec.name === 'evil')) // its files may count as being written at first
    await weir.api('api/plugins/reload', { method: 'POST' });
  model.calls = (question) => (/hostile/.test(question) ? [['evil', {}], ['evil', { fail: true }]] : /waits/.test(question) ? [['evil', { wait: true }]] : []);
  const page = await world.visit();
  await ask(page, 'Call what waits');
  await calls(page, 'evil').locator('.state').filter({ hasText: '<script>' }).waitFor(); // its progress
  await harmless(page);
  await page.getByRole('button', { name: 'Stop' }).click();
  await ended(page);
  await page.getByRole('button', { name: 'New conversation' }).click();
  await ask(page, 'Call the hostile tool');
  const card = calls(page, 'evil');
  await ended(page);
  await card.last().locator('.error').getByText('<script>').first().waitFor();
  await card.first().getByText('What the model read').click();
  await card.first().locator('pre.read').filter({ hasText: '<script>' }).waitFor();
  await card.first().getByRole('link', { name: /^Open the whole/ }).click();
  await page.getByRole('region', { name: 'Archived text' }).getByText('<script>').first().waitFor();
  await harmless(page);
  await page.evaluate(() => { location.hash = '#/tools/evil'; });
  await page.getByRole('heading', { name: 'evil', level: 1 }).waitFor();
  await harmless(page);
  await view(page, /^Plugins/);
  await page.getByRole('navigation', { name: 'Plugins' }).getByText('<script>').first().waitFor();
  await harmless(page);
});

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
  await harmless(page);
  assert.equal(await log(page).locator('svg, img').count(), 0);
  assert.equal(await page.getByRole('link', { name: 'image: picture' }).getAttribute('rel'), 'noopener noreferrer');
});

test('Markdown of an answer is rendered', async () => {
  model.says = () => ['## Which tests fail\n\nTwo *of* **three**, see [the log](https://ci.example/log) or https://ci.example/all.\n\n| test | time |\n|:--|--:|\n', '| `a|b` | 3 s |\n\n1. first\n   - inner\n2. second\n\n> quoted\n\n```go\nx := **p\n```\n'];
  const page = await world.visit({ permissions: ['clipboard-read', 'clipboard-write'] });
  await ask(page, 'Which tests fail?');
  const answer = log(page).getByRole('article', { name: 'Answer' });
  await answer.getByText('x := **p').waitFor();
  await answer.getByRole('heading', { name: 'Which tests fail', level: 3 }).waitFor();
  assert.equal(await answer.getByRole('columnheader').count(), 2);
  assert.equal(await answer.locator('li li').innerText(), 'inner');
  assert.equal(await answer.locator('blockquote').innerText(), 'quoted');
  assert.equal(await answer.getByRole('link', { name: 'the log' }).evaluate((a) => a.parentNode.textContent), 'the log (ci.example)');
  assert.equal(await answer.getByRole('link', { name: 'https://ci.example/all' }).getAttribute('href'), 'https://ci.example/all');
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await answer.getByRole('button', { name: 'Copy', exact: true }).click();
  await answer.getByRole('button', { name: 'Copied' }).waitFor();
  assert.equal(await copied(), 'x := **p');
  await ended(page);
  await answer.getByRole('button', { name: 'Copy the answer' }).click();
  await log(page).locator('.sums').getByRole('button', { name: 'Copied' }).waitFor();
  const text = await copied();
  assert.ok(text.startsWith('## Which tests fail') && text.includes('| `a|b` | 3 s |'), text);
});

test('a call that needs a person waits for one', async () => {
  model.calls = (question) => (/seven/.test(question) ? [['long_text', { lines: 7 }]] : []);
  const page = await world.visit();
  await page.evaluate(() => new MutationObserver(() => {
    const button = document.querySelector('.approval button');
    if (button) globalThis.drawn ??= performance.now();
    if (button && !button.disabled) globalThis.armed ??= performance.now();
  }).observe(document.body, { subtree: true, childList: true, attributes: true }));
  await ask(page, 'Make seven lines');
  const wait = log(page).getByRole('group', { name: 'long_text asks for your approval' });
  await wait.getByText('"lines": 7').waitFor();
  await log(page).getByText(/^Waiting for you · \d+ s$/).waitFor();
  await wait.getByRole('button', { name: 'Allow once' }).click();
  await log(page).getByText('You allowed it.').waitFor();
  assert.ok(await page.evaluate(() => globalThis.armed - globalThis.drawn) > 600, 'a click that was meant for what was there before allows nothing');
  await log(page).getByText('It is done.').waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  await ask(page, 'Make seven lines again');
  await wait.getByRole('button', { name: 'Do not allow' }).click();
  await log(page).getByText('You did not allow it.').waitFor();
});

test('some calls of a script are allowed on its card, and the others denied', async () => {
  const code = 'const all = await Promise.allSettled([1, 2, 3].map((n) => tools.long_text({ lines: 7 }))); return all.map((r) => r.reason?.code ?? r.value.lines).join();';
  model.calls = (question) => (/Three/.test(question) ? [['run_script', { code }]] : []);
  model.says = (last) => [`It says: ${/7,denied,7|denied,7,denied/.exec(last.content)}`];
  const page = await world.visit();
  await ask(page, 'Three times, please');
  const card = log(page).getByRole('group', { name: 'Calls that wait for your answer: 3' });
  const ticks = card.getByRole('checkbox', { name: /^Allow \d+: long_text$/ });
  await ticks.nth(2).waitFor();
  assert.deepEqual([await ticks.count(), await ticks.evaluateAll((all) => all.every((n) => n.checked))], [3, true]);
  await card.getByText('Promise.allSettled').waitFor({ state: 'hidden' });
  await card.getByText('Source').click();
  await card.getByText('Promise.allSettled').waitFor();
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 720 });
    assert.deepEqual(await violations(page), [], `${width} wide`);
  }
  await ticks.nth(1).uncheck();
  await card.getByRole('button', { name: 'Allow, later ones too', disabled: true }).waitFor();
  await card.getByRole('button', { name: 'Allow those with a tick: 2 of 3' }).click();
  await log(page).getByText('It says: 7,denied,7').waitFor();
  await log(page).getByText('You allowed some of its calls and denied the others.').waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  await page.reload();
  await log(page).getByText('You allowed some of its calls and denied the others.').waitFor();

  // The same in the inbox, of a turn that was asked elsewhere.
  await view(page, 'Results');
  const asked = fetch(`${weir.url}api/chat`, { method: 'POST', headers: { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ message: 'Three from a program', approvals: true }) }).then((r) => r.text());
  const inbox = page.getByRole('region', { name: 'Calls that wait for you' }).getByRole('group', { name: 'Calls that wait for your answer: 3' });
  for (const n of [0, 1, 2]) await inbox.getByRole('checkbox').nth(n).uncheck();
  await inbox.getByRole('button', { name: 'Allow those with a tick: 0 of 3', disabled: true }).waitFor();
  await inbox.getByRole('checkbox').nth(1).check();
  await inbox.getByRole('button', { name: 'Allow those with a tick: 1 of 3' }).click();
  assert.match(await asked, /It says: denied,7,denied/);
  await inbox.waitFor({ state: 'hidden' });
});

test('a second card of a script shows its own calls', async () => {
  const code = 'await tools.long_text({ lines: 7 }); const all = await Promise.allSettled([1, 2].map((n) => tools.long_text({ lines: 7 }))); return all.map((r) => r.reason?.code ?? r.value.lines).join();';
  model.calls = (question) => (/twice/.test(question) ? [['run_script', { code }]] : []);
  model.says = (last) => [`It says: ${/denied,7/.exec(last.content)}`];
  const page = await world.visit();
  await ask(page, 'Ask me twice');
  await log(page).getByRole('group', { name: 'Calls that wait for your answer: 1' }).getByRole('button', { name: 'Allow all' }).click();
  const second = log(page).getByRole('group', { name: 'Calls that wait for your answer: 2' });
  await second.getByRole('checkbox').first().uncheck();
  await second.getByRole('button', { name: 'Allow those with a tick: 1 of 2' }).click();
  await log(page).getByText('It says: denied,7').waitFor();
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
  await page.getByRole('button', { name: 'New conversation' }).click();
  const asked = [];
  page.on('request', (r) => asked.push(r.url()));
  await page.getByRole('button', { name: /^One\?/ }).click();
  await answers.nth(2).waitFor();
  await page.waitForLoadState('networkidle');
  const of = asked.filter((url) => !url.endsWith('/api/pulse'));
  assert.ok(of.length <= 6, `a conversation is opened with ${of.length} requests: ${of.join(' ')}`);
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
