// What people do in the page, in a real browser, by roles and names.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { ask, bubble, calls, copy, drawn, ended, log, pending, same, startWorld, view } from './world.mjs';

let world, weir, model;
before(async () => { world = await startWorld('[agents.words]\nmodel = "script"\nmode = "prompt"\n'); ({ weir, model } = world); });
after(() => world?.close());
beforeEach(async () => { model.reset(); await weir.start(); });
afterEach(() => world.leave());

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
  await log(page).getByText(/ · ([2-9]|\d{2,}) s$/).waitFor();
  await page.reload();
  await log(page).getByText('The first half').waitFor();
  assert.match(await log(page).locator('.pulse').innerText(), / · ([2-9]|\d{2,}) s$/, 'the clock goes on from the beginning');
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

test('an answer goes on while a phone sleeps, and is there when it wakes', async () => {
  const rest = pending();
  model.says = () => ['It begins', rest.promise];
  const page = await world.visit({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 800 } });
  await ask(page, 'Do you sleep?');
  await log(page).getByText('It begins').waitFor();
  const phone = await page.context().newCDPSession(page);
  await page.context().setOffline(true);
  await phone.send('Page.setWebLifecycleState', { state: 'frozen' });
  rest.keep(' and goes on.');
  while ((await weir.api('api/pulse')).answering.length) await new Promise((done) => setTimeout(done, 50));
  await page.context().setOffline(false);
  await phone.send('Page.setWebLifecycleState', { state: 'active' });
  await log(page).getByText('It begins and goes on.').waitFor();
  await log(page).locator('.sums').waitFor();
  const live = await drawn(page);
  await page.reload();
  await log(page).locator('.sums').waitFor();
  same(await drawn(page), live);
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
  await log(page).getByText('cancelled').waitFor();
  const live = await drawn(page);
  await page.reload();
  await log(page).getByText('cancelled').waitFor();
  same(await drawn(page), live);
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
  model.says = () => ['One **half**', ' of `it`. An', rest.promise];
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

test('a question that is asked while its conversation is being opened comes after the others', async () => {
  const page = await world.visit(), begun = pending(), answered = pending();
  await ask(page, 'Who was the first?');
  await log(page).getByText('It is done.').waitFor();
  await ended(page);
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.route(/\/api\/conversations\/[^/?]+$/, async (route) => {
    const response = await route.fetch();
    begun.keep();
    await answered.promise;
    await route.fulfill({ response });
  });
  await page.getByRole('button', { name: /^Who was the first/ }).click();
  await begun.promise;
  model.says = () => ['It was another.'];
  await ask(page, 'Who was the second?');
  answered.keep();
  await log(page).getByText('It was another.').waitFor();
  await ended(page);
  assert.deepEqual(await log(page).getByRole('article', { name: 'You' }).allInnerTexts(), ['Who was the first?', 'Who was the second?']);
});

test('what could not be asked for is asked again until the daemon answers', async () => {
  const page = await world.visit();
  await ask(page, 'Will you come back?');
  await log(page).getByText('It is done.').waitFor();
  await ended(page);
  const talk = new URL(page.url()).hash, main = page.getByRole('main');
  for (const [hash, shown] of [
    ['#/ask', page.getByRole('link', { name: /^Plugins/ })], // only the operator has it
    ['#/ask', page.getByRole('button', { name: /^Will you come back/ })],
    [talk, bubble(page, 'Will you come back?')],
    ['#/tools/calculator', main.getByRole('heading', { name: 'calculator' })],
    ['#/plugins/calculator', main.getByRole('heading', { name: /^calculator / })],
    ['#/results', main.getByText('Nothing is archived yet', { exact: false }).or(main.locator('.results li').first())],
    ['#/account', main.getByRole('table').first()],
  ]) {
    await page.goto(weir.url + hash);
    await page.route('**/api/**', (route) => route.abort());
    await page.reload();
    await page.getByRole('alert').filter({ hasText: 'The daemon does not answer.' }).first().waitFor();
    await page.unroute('**/api/**');
    await shown.waitFor();
  }
});

test('the begin of an answer takes the focus from nobody', async () => {
  const page = await world.visit(), begins = pending(), search = page.getByRole('searchbox', { name: 'Search conversations' });
  await page.route(/\/api\/chat$/, async (route) => {
    await begins.promise;
    await route.fallback();
  });
  await ask(page, 'Where does the egret stand?');
  await search.click();
  await page.keyboard.type('egr');
  begins.keep();
  await page.waitForURL(/#\/ask\/./);
  await ended(page);
  await page.keyboard.type('et');
  assert.deepEqual([await search.inputValue(), await page.getByRole('textbox', { name: 'Your question' }).inputValue()], ['egret', '']);
});

test('a question that is being written stays in its tab, whatever another one asks', async () => {
  const page = await world.visit(), other = await page.context().newPage(), box = (tab) => tab.getByRole('textbox', { name: 'Your question' });
  await box(page).fill('What of the');
  await other.goto(weir.url);
  assert.equal(await box(other).inputValue(), 'What of the', 'a new tab goes on with it');
  await ask(other, 'Something else?');
  await ended(other);
  await page.reload();
  assert.equal(await box(page).inputValue(), 'What of the');
  await other.reload();
  await log(other).getByText('It is done.').waitFor();
  assert.equal(await box(other).inputValue(), '');
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
  await page.emulateMedia({ forcedColors: 'active' });
  const paint = (selector) => page.locator(selector).first().evaluate((n) => getComputedStyle(n).backgroundColor);
  assert.notEqual(await paint('.call .map .through'), await paint('.call .map'), 'the map shows in the colours that a person has forced');
  assert.equal(await paint('.legend .p-results'), await paint('.stack .p-results'), 'and so does what the model sees');
  await page.emulateMedia({ forcedColors: 'none' });
});

test('calls of an answer whose daemon was killed are drawn as they were live', async () => {
  const rest = pending();
  let rounds = 0;
  model.calls = () => [['long_text', { lines: 400 }], ['calculator', { expression: '6*7' }]];
  model.says = () => [`Piece ${++rounds}.`, rest.promise];
  const page = await world.visit();
  await ask(page, 'What was there before it was killed?');
  await log(page).getByText('Piece 1.').waitFor();
  const cards = () => drawn(page, 'section.call'), read = async () => {
    await calls(page, 'long_text').getByText('What the model read').click();
    return calls(page, 'long_text').locator('pre.read').filter({ hasText: /\d{3}/ }).innerText();
  };
  const live = await cards(), text = await read();
  assert.match(live.join(''), /class="through".*6\*7/s);
  await weir.stop();
  rest.keep('');
  await weir.start();
  await log(page).getByText('The daemon was restarted').waitFor();
  await page.reload();
  await calls(page, 'long_text').waitFor();
  same(await cards(), live);
  assert.equal(await read(), text);
  await log(page).getByText('The daemon stopped before the answer was complete').waitFor();
});

test('a failed call that is opened again says why, as it did live', async () => {
  model.calls = (question) => (/wrong/.test(question) ? [['calculator', { expression: '1/0' }], ['calculator', { sum: 1 }], ['no_such_tool', {}], ['long_text', { lines: 7 }]] : []);
  const page = await world.visit();
  await ask(page, 'Do it all wrong');
  await log(page).getByRole('button', { name: 'Do not allow' }).click();
  await log(page).getByText('It is done.').waitFor();
  await ended(page);
  const cards = () => log(page).locator('section.call').evaluateAll((all) => all.map((n) => n.innerText.replace(/\s+/g, ' ')));
  const all = () => log(page).locator('.theirs').evaluateAll((list) => list.map((n) => `${n.innerText.replace(/\s+/g, ' ')} ${[...n.querySelectorAll('[lang]')].map((x) => x.lang)}`));
  const live = await cards(), answer = await all(), before = await drawn(page);
  assert.match(answer[0], /It is done\..* en$/, answer[0]);
  for (const [i, why] of ['Division by zero', '"expression" is missing', 'There is no tool named', 'do not repeat it'].entries()) assert.ok(live[i].includes(why), live[i]);
  await page.reload();
  await log(page).getByText('It is done.').waitFor();
  assert.deepEqual(await all(), answer);
  same(await drawn(page), before);
});

test('a call in words that cannot be read is told when it is opened again, as it was live', async () => {
  model.says = (last) => [/badly/.test(last.content) ? 'I try. <tool_call>{oops</tool_call>' : 'It is done.'];
  const page = await world.visit();
  await page.getByRole('combobox', { name: 'Profile' }).selectOption('words');
  await ask(page, 'Call badly');
  await log(page).getByText('It is done.').waitFor();
  await ended(page);
  const all = () => log(page).locator('.theirs').evaluateAll((list) => list.map((n) => n.innerText.replace(/\s+/g, ' ')));
  const answer = await all(), before = await drawn(page);
  assert.match(answer[0], /I try\. A tool call of the model could not be used: .* It is done\./, answer[0]);
  await page.reload();
  await log(page).getByText('It is done.').waitFor();
  assert.deepEqual(await all(), answer);
  same(await drawn(page), before);
});

test('a turn that a model ended by an error says the same when it is opened again', async () => {
  const page = await world.visit(), told = () => drawn(page);
  await ask(page, 'Please refuse');
  await ended(page);
  await log(page).getByText('no luck today').waitFor();
  await log(page).locator('.sums').waitFor();
  const live = await told();
  await page.reload();
  await log(page).locator('.sums').waitFor();
  same(await told(), live);
  await page.getByRole('button', { name: '中文' }).first().click();
  await log(page).getByText('no luck today').waitFor();
  await log(page).getByRole('button', { name: '重新提问' }).first().click();
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

// Where the browser gives the page no locks, the tab that logs in is still not logged out.
for (const locks of [true, false]) test(`a log-in that takes the place of a session logs no tab out, ${locks ? 'with' : 'without'} locks`, async () => {
  const page = await world.visit({}), tabs = [page], begun = pending(), answered = pending();
  if (locks) tabs.push(await page.context().newPage());
  else await page.addInitScript(() => { Object.defineProperty(navigator, 'locks', { value: undefined }); });
  const opened = (tab) => tab.getByRole('textbox', { name: 'Your question' }).waitFor();
  for (const tab of tabs) { await tab.goto(weir.url); await opened(tab); }
  await page.route(/\/api\/session$/, async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    const response = await route.fetch();
    begun.keep(); // the daemon has ended the session that both tabs know
    await answered.promise;
    await route.fulfill({ response });
  });
  const refused = tabs.map((tab) => tab.waitForResponse((res) => res.status() === 401));
  await page.goto(weir.address);
  await begun.promise;
  for (const tab of tabs) await tab.getByRole('link', { name: 'Tools' }).click();
  await Promise.all(refused);
  answered.keep();
  for (const tab of tabs) {
    await tab.getByRole('main').getByRole('link', { name: /^calculator/ }).waitFor();
    await tab.goto(`${weir.url}#/ask`);
    await opened(tab);
  }
});

test('a log-in waits for the end of the log-out before it', async () => {
  const page = await world.visit(), ends = pending(), order = [];
  await page.route(/\/api\/session$/, async (route) => {
    const method = route.request().method();
    if (method === 'DELETE') await ends.promise;
    if (method !== 'GET') order.push(method);
    return route.fallback();
  });
  await page.getByRole('link', { name: 'Account: Operator' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('textbox', { name: 'Token' }).fill(weir.token);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  ends.keep();
  await page.getByRole('heading', { name: 'Operator' }).waitFor();
  assert.deepEqual(order, ['DELETE', 'POST'], 'the answer to a log-out takes the cookie away');
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
  await copy(page, answer.getByRole('button', { name: 'Copy', exact: true }));
  assert.equal(await copied(), 'x := **p');
  await ended(page);
  await copy(page, answer.getByRole('button', { name: 'Copy the answer' }));
  const text = await copied();
  assert.ok(text.startsWith('## Which tests fail') && text.includes('| `a|b` | 3 s |'), text);
});

test('a conversation of a program with its own loop says who asked', async () => {
  const messages = [], ask = async (content) => {
    messages.push({ role: 'user', content });
    await fetch(`${weir.url}v1/chat/completions`, {
      method: 'POST', headers: { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json', 'User-Agent': 'opencode/1.18' }, body: JSON.stringify({ model: 'script', stream: true, messages }),
    }).then((res) => res.text());
    messages.push({ role: 'assistant', content: 'It is done.' });
  };
  await ask('Which birds nest here?');
  await ask('And in winter?');
  const page = await world.visit();
  await page.getByRole('button', { name: /^About “Which birds nest here/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Asked through').waitFor();
  await dialog.getByText('opencode').waitFor();
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
