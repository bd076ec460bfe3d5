// Plugins, calls that wait for a person, and what is hostile.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { ask, bubble, calls, drawn, ended, log, pending, same, startWorld, view, violations } from './world.mjs';

let world, weir, model;
before(async () => { world = await startWorld('[scripts]\noffer = "always"'); ({ weir, model } = world); });
after(() => world?.close());
beforeEach(() => model.reset());
afterEach(() => world.leave());

// offered puts a version of a plugin of someone else into its folder, and returns what waits.
async function offered(name, version) {
  await weir.stranger(name, ['one.example'], version);
  let waiting;
  for (let i = 0; i < 1200 && waiting?.version !== version; i++) {
    await new Promise((done) => setTimeout(done, 50)); // the folder is read
    ({ waiting } = await weir.api(`api/plugins/${name}`).catch(() => ({})));
  }
  return waiting;
}

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
  await dialog.getByText(/lines · at most 30 s and 128\s?MiB of memory$/).waitFor();
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
    const waiting = await offered('keeper', version);
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
    const waiting = await offered('barred', version);
    if (version === '0.1.0') await weir.api('api/plugins/barred/approve', { method: 'POST', body: JSON.stringify({ digest: waiting.digest }) }); // without its grant
  }
  const page = await world.visit(), article = await review(page, 'barred');
  await article.getByText('one.example ("reads its pages") and is not granted it').waitFor();
  await article.getByText('It has changed since it was approved.').waitFor();
  assert.equal(await article.getByText('Version 0.1.0 serves until').count(), 0);
});

test('which lines of a script change is shown before it is approved', async () => {
  const dir = join(weir.dir, 'strangers', 'scripted');
  await mkdir(dir);
  await writeFile(join(dir, 'plugin.toml'), 'schema = 1\nname = "scripted"\nscript = "main.js"\n[[tool]]\nname = "scripted"\ndescription = "d"\n[tool.params]\ntype = "object"\n');
  await writeFile(join(dir, 'main.js'), '// first\nexport const scripted = () => "x";\n');
  const page = await world.visit();
  await view(page, /^Plugins/);
  await page.getByRole('link', { name: /^scripted .*ready/ }).click();
  await writeFile(join(dir, 'main.js'), '// first\nexport const scripted = () => "\u202e<b>y";\n');
  await page.getByRole('article').getByText('Script main.js').waitFor();
  assert.equal(await page.locator('.diff').innerText(), '-export const scripted = () => "x";\n+export const scripted = () => "⟨U+202E⟩<b>y";\n');
});

test('what powers mean together is said where both are asked for', async () => {
  const dir = join(weir.dir, 'strangers', 'courier'), page = await world.visit();
  const offer = (paths) => writeFile(join(dir, 'plugin.toml'), `schema = 1\nname = "courier"\nscript = "main.js"\n[permissions]\nhosts = [{ host = "one.example", reason = "sends" }]\n${paths}[[tool]]\nname = "courier"\ndescription = "d"\n[tool.params]\ntype = "object"\n[config.units]\ntype = "string"\ndefault = "metric"\ndescription = "of lengths"\n`);
  await mkdir(dir);
  await writeFile(join(dir, 'main.js'), 'export const courier = () => "x";\n');
  await offer('');
  await weir.api('api/plugins/reload', { method: 'POST' });
  const article = await review(page, 'courier');
  await article.getByText('send to and receive from').first().waitFor();
  assert.equal(await article.getByText('Together: what it reads here, it could send to these hosts.').count(), 0);
  assert.equal(await article.getByRole('listitem').filter({ hasText: 'Setting units' }).locator('ins').innerText(), 'string, default metric: of lengths');
  await offer('paths = [{ guest = "/docs", mode = "ro", reason = "reads" }]\n');
  await article.getByText('Together: what it reads here, it could send to these hosts.').waitFor();
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

test('a version that comes while a person answers is not approved with the answer', async () => {
  await weir.stranger('changer', ['one.example']);
  const page = await world.visit(), article = await review(page, 'changer'), begun = pending(), answered = pending();
  await article.getByRole('button', { name: 'Approve…' }).waitFor();
  const { waiting } = await weir.api('api/plugins/changer');
  await page.route('**/api/plugins/changer', async (route) => {
    const response = await route.fetch();
    begun.keep();
    await answered.promise;
    await route.fulfill({ response });
  });
  await weir.stranger('changer', ['one.example'], '0.2.0');
  await begun.promise;
  await article.getByRole('button', { name: 'Approve…' }).click();
  const newer = page.waitForResponse('**/api/plugins/changer'), sent = page.waitForRequest('**/api/plugins/changer/approve');
  answered.keep();
  await (await newer).finished();
  await page.evaluate(() => new Promise(requestAnimationFrame));
  await article.getByRole('button', { name: 'Yes, let it run' }).click();
  assert.equal((await sent).postDataJSON().digest, waiting.digest, 'a yes is to what was shown');
});

test('a call that is opened again says who allowed it or did not, as it did live', async () => {
  model.calls = (question) => [7, 8, 9].filter((n) => question.includes(n)).map((lines) => ['long_text', { lines }]);
  const page = await world.visit();
  const cards = async () => {
    const texts = [];
    for (const card of await log(page).locator('section.call').all()) {
      await card.scrollIntoViewIfNeeded(); // what was never in view has no text yet
      texts.push(await card.innerText());
    }
    return texts;
  };
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
  const stopped = await cards(), stoppedDrawn = await drawn(page);
  assert.match(stopped[0], /The question ended before an answer; it did not run\./);
  await page.goBack();
  await bubble(page, 'And 7').waitFor();
  const live = await cards(), liveDrawn = await drawn(page);
  for (const [i, says] of ['You allowed it.', 'Rule 2 of the approvals does not allow it.', 'Rule 3 of the approvals allows it.', 'You did not allow it.', 'You allowed it for this conversation.', 'You had allowed it for this conversation.'].entries()) assert.ok(live[i].includes(says), `${i}: ${live[i]}`);
  await page.reload();
  await bubble(page, 'And 7').waitFor();
  await log(page).locator('section.call').nth(5).waitFor();
  assert.deepEqual(await cards(), live);
  same(await drawn(page), liveDrawn);
  await page.getByRole('button', { name: /^Do not answer/ }).click();
  await bubble(page, 'Do not answer').waitFor();
  assert.deepEqual(await cards(), stopped);
  same(await drawn(page), stoppedDrawn);
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

test('what waits is shown though the first request for it failed, and after a log-in', async () => {
  await weir.stranger('later', ['one.example']);
  const page = await world.visit(), plugins = page.getByRole('link', { name: /^Plugins \d/ });
  await plugins.waitFor();
  await page.getByRole('link', { name: 'Account: Operator' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('textbox', { name: 'Token' }).fill(weir.token);
  await page.getByRole('button', { name: 'Continue' }).click();
  await plugins.waitFor();
  await page.route('**/api/approvals', (route) => route.abort(), { times: 1 });
  const failed = page.waitForEvent('requestfailed', (r) => r.url().endsWith('/api/approvals'));
  model.calls = (question) => (/seven/.test(question) ? [['long_text', { lines: 7 }]] : []);
  const asked = fetch(`${weir.url}api/chat`, { method: 'POST', headers: { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ message: 'seven from a program', approvals: true }) }).then((r) => r.text());
  await failed;
  await page.getByRole('region', { name: 'Calls that wait for you' }).getByRole('button', { name: 'Allow once' }).click();
  assert.match(await asked, /It is done\./);
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

test('a call that moves when another one is answered or comes is not allowed by the same click', async () => {
  model.calls = (question) => (/seven/.test(question) ? [['long_text', { lines: 7 }]] : []);
  const page = await world.visit(), inbox = page.getByRole('region', { name: 'Calls that wait for you' });
  await view(page, 'Results');
  const asks = (who) => fetch(`${weir.url}api/chat`, { method: 'POST', headers: { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ message: `seven of ${who}`, approvals: true }) }).then((r) => r.text());
  const allow = inbox.getByRole('button', { name: 'Allow once', disabled: false }), asked = [asks('one')];
  await allow.waitFor();
  await page.evaluate(() => {
    const first = document.querySelector('.approval');
    let last = 1;
    globalThis.moved = []; // when boxes came or went, and when all buttons were alive after it
    new MutationObserver(() => {
      const all = [...document.querySelectorAll('.approval')];
      if (all.length === 2 && first.querySelector('button').disabled) globalThis.paused = true;
      if (all.length !== last) globalThis.moved.push({ n: all.length, at: performance.now() });
      last = all.length;
      if (last && all.every((a) => !a.querySelector('button').disabled)) globalThis.moved.at(-1).alive ??= performance.now();
    }).observe(document.body, { childList: true, subtree: true, attributes: true });
  });
  asked.push(asks('two'));
  await allow.nth(1).waitFor();
  assert.ok(await page.evaluate(() => globalThis.paused), 'the first one, while the second is new');
  await allow.first().click();
  await page.waitForFunction(() => globalThis.moved.at(-1).n === 1 && globalThis.moved.at(-1).alive);
  const { at, alive } = await page.evaluate(() => globalThis.moved.at(-1));
  assert.ok(alive - at > 600, `${alive} after ${at}`);
  await allow.click();
  for (const text of await Promise.all(asked)) assert.match(text, /It is done\./);
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
  const live = await drawn(page);
  await page.reload();
  await log(page).getByText('You allowed some of its calls and denied the others.').waitFor();
  await log(page).locator('.sums').waitFor();
  same(await drawn(page), live);

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
  const page = await world.visit(), asked = pending();
  await page.route('**/api/approvals/*', async (route) => { // the second card comes before the answer to the first is confirmed
    const response = await route.fetch();
    await asked.promise;
    await route.fulfill({ response });
  });
  await ask(page, 'Ask me twice');
  await log(page).getByRole('group', { name: 'Calls that wait for your answer: 1' }).getByRole('button', { name: 'Allow all' }).click();
  const second = log(page).getByRole('group', { name: 'Calls that wait for your answer: 2' });
  await second.waitFor();
  asked.keep();
  await page.unroute('**/api/approvals/*', { behavior: 'wait' });
  await second.getByRole('checkbox').first().uncheck();
  await second.getByRole('button', { name: 'Allow those with a tick: 1 of 2' }).click();
  await log(page).getByText('It says: denied,7').waitFor();
});
