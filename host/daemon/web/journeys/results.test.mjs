// What people do with results and tools, by roles and names.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { ask, calls, copy, drawn, ended, log, pending, same, startWorld, view } from './world.mjs';

let world, weir, model;
before(async () => { world = await startWorld('[agents.brief]\nmax_tool_result_length = 2000\n[limits]\nceiling_chars = 11000\n[tools.by_operator]\nmax_chars = 3000\nkeep = ["^line 77:", "9:$"]'); ({ weir, model } = world); });
after(() => world?.close());
beforeEach(() => model.reset());
afterEach(() => world.leave());

async function read(page, tool = 'long_text') {
  await calls(page, tool).getByRole('link', { name: /^Open the whole/ }).first().click();
  await page.getByRole('region', { name: 'Archived text' }).getByText('line 1:').first().waitFor();
  return { lines: page.getByRole('region', { name: 'Archived text' }), side: page.getByRole('complementary', { name: 'Limit, load back' }) };
}

// plugin puts a plugin of scripts into the folder that is trusted, and waits for one of its tools.
async function plugin(name, tools, source, tool) {
  const dir = `${weir.dir}/own/${name}`;
  await mkdir(dir);
  await writeFile(`${dir}/plugin.toml`, `schema = 1\nname = "${name}"\nversion = "0.1.0"\nscript = "main.js"\n${tools}`);
  await writeFile(`${dir}/main.js`, source);
  while (!(await weir.api('api/tools')).tools.some((x) => x.spec.name === tool)) await weir.api('api/plugins/reload', { method: 'POST' });
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
  await page.waitForFunction((n) => n.value === '20-21', await lines.elementHandle()); // it follows the selection after the next frame
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
  await ended(page); // the texts are loaded before the model is asked
  const shown = number(await cards.nth(2).locator('.figures').innerText());
  assert.ok(shown <= told && shown > 0.98 * told, `${told} characters were told to fit, ${shown} were shown`);
  const sent = JSON.stringify(model.asked[0].slice(-4));
  for (const text of ['line 20:', 'line 21:', '7777:line 7777:']) assert.ok(sent.includes(text), text);
  assert.equal(await chips.count(), 0);
});

test('an answer has its sources under it, and an address that is none of the web leads nowhere', async () => {
  const found = [
    { title: 'Dams \u202e<img src=x>', url: 'https://example.com/dams' }, { title: 'Evil', url: 'javascript:alert(1)' }, { url: 'https://example.org/water?a=1' },
  ];
  await plugin('cited', '[[tool]]\nname = "find_pages"\ndescription = "Finds pages."\n[tool.params]\ntype = "object"\n',
    `export const find_pages = () => ({ text: "See ${found.map((s) => s.url).join(' and ')} .", sources: ${JSON.stringify(found)} });\n`, 'find_pages');
  model.calls = (question) => (/dams/.test(question) ? [['find_pages', {}]] : []);
  const page = await world.visit(), list = log(page).locator('.sources');
  await ask(page, 'What about dams?');
  await list.waitFor();
  await ended(page);
  await log(page).locator('.sums').waitFor();
  const links = await list.getByRole('link').evaluateAll((all) => all.map((n) => [n.href, n.rel, n.textContent]));
  assert.deepEqual(links, [
    ['https://example.com/dams', 'noopener noreferrer', 'Dams ⟨U+202E⟩<img src=x>'], ['https://example.org/water?a=1', 'noopener noreferrer', 'https://example.org/water?a=1'],
  ]);
  assert.deepEqual((await list.getByRole('listitem').allInnerTexts()).map((x) => x.slice(0, 8)), ['[1] Dams', '[2] http']);
  assert.deepEqual(await list.locator('small').allInnerTexts(), [' (example.com)']);
  const live = await drawn(page);
  await page.reload();
  await log(page).locator('.sums').waitFor();
  same(await drawn(page), live, 'opened again');
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
  await page.waitForURL(/[?&]l=199\d\d/);
  const top = () => lines.evaluate((n) => n.scrollTop), before = await top();
  await page.reload();
  await page.getByRole('region', { name: 'Archived text' }).getByText('line 19999:').waitFor();
  let now = 0;
  for (let i = 0; i < 100 && Math.abs((now = await top()) - before) > 10; i++) await page.waitForTimeout(100);
  assert.ok(Math.abs(now - before) <= 10, `${before} became ${now}; a line has 20 pixels`);
  assert.equal(await page.getByRole('searchbox', { name: 'Find in this result' }).inputValue(), '999:');
  await page.getByRole('textbox', { name: 'Go to line' }).fill('12,345');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Archived text' }).getByText('line 12345:').waitFor();
  await page.getByRole('searchbox', { name: 'Find in this result' }).fill('000:');
  await status.filter({ hasText: /^13 of 20$/ }).waitFor(); // the next one from here
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

test('calls that are opened again are drawn as they were live, to the last mark', async () => {
  await plugin('cuts', ['by_tool', 'by_operator'].map((name) => `[[tool]]\nname = "${name}"\ndescription = "Makes lines."\n${name === 'by_tool' ? '[tool.output]\nmax_chars = 2000\nmax_lines = 60\n' : ''}[tool.params]\ntype = "object"\n`).join(''),
    'const lines = () => Array.from({ length: 500 }, (_, i) => `line ${i + 1}:`).join("\\n");\nexport const by_tool = lines, by_operator = lines;\n', 'by_operator');
  const kept = [['by_tool', {}], ['by_operator', {}], ['long_text', { lines: 400 }], ['calculator', { expression: '6*7' }], ['calculator', { expression: '1/0' }], ['long_text', { lines: 8 }], ['long_text', { lines: 9 }]];
  model.calls = (question) => (/all/.test(question) ? kept : []);
  const page = await world.visit(), cards = log(page).locator('section.call');
  await ask(page, 'Do it all');
  await log(page).getByText('It is done.').waitFor();
  await ended(page);
  await read(page);
  await page.getByRole('complementary', { name: 'Limit, load back' }).getByRole('button', { name: /^Load the whole/ }).click();
  await page.getByRole('textbox', { name: 'Your question' }).waitFor();
  await ask(page, 'What is in it?');
  await log(page).getByText('It is done.').nth(1).waitFor();
  await ended(page);
  // seen is everything twice: with the parts of a card closed and opened.
  const seen = async () => {
    const closed = await drawn(page);
    await cards.evaluateAll((all) => all.forEach((n) => n.querySelectorAll('details').forEach((d) => { d.open = true; })));
    await log(page).getByText('Loading…').first().waitFor({ state: 'hidden' });
    for (const summary of await cards.getByText(/^Lines shown for/).all()) await summary.locator('xpath=..').getByRole('listitem').first().waitFor();
    return { closed, opened: await drawn(page), beside: (await page.locator('.here-list').innerHTML()).split(/(?=<)/) };
  };
  const live = await seen();
  for (const layer of ['the tool\'s limit of', 'the operator\'s limit of 3,000', 'the ceiling of 11,000', 'loaded from the archive', 'failed']) assert.ok(live.closed.join('').includes(layer), layer);
  assert.ok(await cards.locator('i.kept').count() > 2, 'marks of kept lines');
  await page.reload();
  await log(page).getByText('It is done.').nth(1).waitFor();
  const again = await seen();
  for (const key of Object.keys(live)) same(again[key], live[key], key);
});

test('a tool is tried by a form and as JSON', async () => {
  const page = await world.visit();
  await view(page, 'Tools');
  await page.getByRole('link', { name: /^long_text/ }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('arithmetic');
  await page.getByRole('link', { name: /^long_text/ }).waitFor({ state: 'hidden' });
  await page.getByRole('link', { name: /^calculator/ }).click();
  await page.getByRole('searchbox', { name: 'Find tools by what they do' }).fill('');
  await page.getByText(/^its description: about [1-9]\d* tokens in each request, by estimate$/).waitFor();
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

test('objects in objects and lists are fields of a form', async () => {
  const fields = 'type = "object"\n[tool.params.properties.who.properties.name]\ntype = "string"\n[tool.params.properties.who.properties.home]\ntype = "object"\n[tool.params.properties.who.properties.home.properties.floor]\ntype = "integer"\n';
  await plugin('nested', `[[tool]]\nname = "nested"\ndescription = "Says what it was given."\n[tool.params]\ntype = "object"\n[tool.params.properties.tags]\ntype = "array"\nitems = { type = "string" }\n[tool.params.properties.sizes]\ntype = "array"\nitems = { type = "number" }\n[tool.params.properties.who]\n${fields}`, 'export const nested = (args) => `given ${JSON.stringify(args)}`;\n', 'nested');
  const page = await world.visit();
  await view(page, 'Tools');
  await page.getByRole('link', { name: /^nested/ }).click();
  const form = page.getByRole('region', { name: 'Try it' });
  await form.getByRole('textbox', { name: /^tags/ }).fill('red\ngreen');
  await form.getByRole('textbox', { name: /^sizes/ }).fill('1\n2.5');
  await form.getByRole('group', { name: /who/ }).getByRole('textbox', { name: /^name/ }).fill('Ann');
  await form.getByRole('group', { name: /home/ }).getByRole('spinbutton', { name: /^floor/ }).fill('3');
  await form.getByRole('button', { name: 'JSON', exact: true }).click();
  const given = { tags: ['red', 'green'], sizes: [1, 2.5], who: { name: 'Ann', home: { floor: 3 } } };
  assert.deepEqual(JSON.parse(await form.getByRole('textbox', { name: 'Arguments as JSON' }).inputValue()), given);
  await form.getByRole('button', { name: 'Run' }).click();
  const said = await form.getByRole('article', { name: 'Its result' }).getByText(/given \{/).first().innerText();
  assert.deepEqual(JSON.parse(/given (.*)/.exec(said)[1]), given);
});

test('a conversation does without tools, also after a reload', async () => {
  model.calls = (question) => (/long/.test(question) ? [['long_text', { lines: 5 }]] : []);
  const page = await world.visit();
  await page.getByRole('button', { name: 'All tools' }).click();
  const dialog = page.getByRole('dialog', { name: 'Tools of this conversation' });
  await dialog.getByRole('checkbox', { name: 'long_text' }).uncheck();
  await dialog.getByRole('button', { name: 'Close' }).click();
  const chosen = page.getByRole('button', { name: /^\d+ of \d+ tools$/ });
  await chosen.waitFor();
  await ask(page, 'Make something long');
  await ended(page);
  assert.equal(await calls(page, 'long_text').filter({ hasText: 'characters' }).count(), 0);
  await page.reload();
  await chosen.click();
  assert.equal(await dialog.getByRole('checkbox', { name: 'long_text' }).isChecked(), false);
  await dialog.getByRole('button', { name: 'All', exact: true }).click();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await ask(page, 'Make something long now');
  await calls(page, 'long_text').getByText(/characters/).first().waitFor();
  await page.getByRole('link', { name: 'New conversation' }).or(page.getByRole('button', { name: 'New conversation' })).first().click();
  await page.getByRole('button', { name: 'All tools' }).waitFor();
});

test('a model and a profile are chosen for one conversation', async () => {
  const page = await world.visit(), models = page.getByRole('combobox', { name: 'Model' }), profiles = page.getByRole('combobox', { name: 'Profile' });
  await profiles.selectOption('brief');
  model.calls = (question) => (/long/.test(question) ? [['long_text', { lines: 400 }]] : []);
  await ask(page, 'A long text, in brief');
  await ended(page);
  await calls(page, 'long_text').getByText(/the agent's limit of 2,000 characters/).waitFor();
  await page.getByRole('button', { name: 'New conversation' }).click();
  await profiles.selectOption('default');
  await models.selectOption('demo');
  await ask(page, 'What is 6*7?');
  await ended(page);
  await page.getByRole('button', { name: /^A long text, in brief/ }).click();
  await log(page).getByText('A long text, in brief').waitFor();
  assert.deepEqual([await models.inputValue(), await profiles.inputValue()], ['script', 'brief']);
  await page.goBack();
  await log(page).getByText('What is 6*7?').waitFor();
  assert.deepEqual([await models.inputValue(), await profiles.inputValue()], ['demo', 'default']);
  await page.reload();
  await log(page).getByText('What is 6*7?').waitFor();
  await models.waitFor();
  assert.deepEqual([await models.inputValue(), await profiles.inputValue()], ['demo', 'default']);
});

test('what a proxy answers is said in words, and what is shown stays', async () => {
  for (const tool_name of ['kept_tool', 'second_tool']) await weir.api('api/results', { method: 'POST', body: JSON.stringify({ tool_name, conversation_id: 'theirs', result: 'a line\n'.repeat(2000) }) });
  const page = await world.visit();
  await view(page, 'Results');
  const row = page.getByRole('link', { name: /^kept_tool/ });
  await row.waitFor();
  for (const [answer, says] of [
    [{ status: 500, contentType: 'text/html', body: '<h1>Oops</h1>' }, 'answered with HTTP 500'],
    [{ status: 429, contentType: 'text/plain', body: 'slow down' }, 'refuses so many requests'],
    [{ status: 502, contentType: 'application/json', body: 'null' }, 'answered with HTTP 502'],
    [{ status: 200, contentType: 'text/html', body: '<form>Log in</form>' }, 'The answer is not of weir.'],
  ]) {
    await page.route('**/api/archives?*', (route) => route.fulfill(answer));
    await page.getByRole('button', { name: 'kept_tool' }).click();
    await page.getByRole('alert').filter({ hasText: says }).waitFor();
    assert.equal(await row.count(), 1, says);
    await page.unroute('**/api/archives?*');
    await page.getByRole('button', { name: 'kept_tool' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  }
  await view(page, 'Ask');
  await page.route('**/api/chat', (route) => route.fulfill({ status: 429, contentType: 'text/html', body: 'slow down' }));
  await ask(page, 'Will this be lost?');
  await page.getByText('refuses so many requests').first().waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Your question' }).inputValue(), 'Will this be lost?');
});

test('one value of a JSON result is shown, whatever its texts hold', async () => {
  const attack = '<img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>';
  const { uuid } = await weir.api('api/results', { method: 'POST', body: JSON.stringify({ tool_name: 'json_tool', conversation_id: 'theirs', result: JSON.stringify({ items: [{ name: 'heron' }, { name: attack }], rest: 'y'.repeat(9000) }) }) });
  const page = await world.visit();
  await view(page, 'Results');
  await page.getByRole('searchbox', { name: 'Search the whole texts' }).fill('onerror');
  await page.getByRole('button', { name: /json_tool.*heron/s }).click();
  await page.getByRole('textbox', { name: 'JSON' }).fill('/items/0');
  const value = page.locator('.pointer-text pre');
  await value.getByText('heron').waitFor();
  assert.ok(!(await value.innerText()).includes('onerror'));
  await page.getByRole('textbox', { name: 'JSON' }).fill('/items/1/name');
  await value.getByText('<script>').waitFor();
  await page.evaluate((to) => { location.hash = to; }, `#/results/${uuid}`);
  assert.equal(await page.evaluate(() => globalThis.hit), undefined);
  assert.deepEqual(await page.locator('script:not([src="app.js"]), img:not([src="icon.svg"]), [onerror]').evaluateAll((list) => list.map((n) => n.outerHTML)), []);
});

test('the value of a pointer is that of the last one', async () => {
  const { uuid } = await weir.api('api/results', { method: 'POST', body: JSON.stringify({ tool_name: 'json_tool', conversation_id: 'theirs', result: JSON.stringify({ items: ['heron', 'eagle'], rest: 'y'.repeat(9000) }) }) });
  const page = await world.visit(), pointer = page.getByRole('textbox', { name: 'JSON' }), value = page.locator('.pointer-text pre'), begun = pending(), late = pending();
  await page.evaluate((h) => { location.hash = h; }, `#/results/${uuid}`);
  await page.route(/pointer=%2Fitems%2F0/, async (route) => {
    begun.keep();
    await late.promise;
    await route.fallback();
  });
  await pointer.fill('/items/0');
  await begun.promise;
  await pointer.fill('/items/1');
  await value.getByText('eagle').waitFor();
  const answered = page.waitForResponse(/pointer=%2Fitems%2F0/);
  late.keep();
  await (await answered).finished();
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.equal(await value.innerText(), 'eagle');
});

test('lines that did not come are asked for again, and not at once', async () => {
  const { uuid } = await weir.api('api/results', { method: 'POST', body: JSON.stringify({ tool_name: 'wide', conversation_id: 'theirs', result: `${'x'.repeat(5000)}\n${Array.from({ length: 3000 }, (_, i) => `row ${i + 2}`).join('\n')}` }) });
  const page = await world.visit(), more = page.getByRole('button', { name: /more characters$/ }), at = [], third = pending();
  await page.evaluate((h) => { location.hash = h; }, `#/results/${uuid}`);
  await more.waitFor();
  await page.route(`**/api/archives/${uuid}?**`, (route) => {
    if (/lines=2001-/.test(route.request().url()) && at.push(Date.now()) === 3) third.keep();
    return route.abort();
  });
  await more.click();
  await page.getByRole('main').getByRole('alert').filter({ hasText: 'The daemon does not answer.' }).waitFor();
  await page.getByRole('textbox', { name: 'Go to line' }).fill('2,300');
  await page.keyboard.press('Enter');
  await third.promise;
  assert.ok(at[2] - at[0] > 1000, `asked for ${at.length} times in ${at[2] - at[0]} ms`); // each after the answer to the one before
  await page.unroute(`**/api/archives/${uuid}?**`);
  await page.getByText('row 2300', { exact: true }).waitFor();
});

test('archived results of programs are found, read and deleted', async () => {
  const line = (n) => `entry ${n}: ${n === 60 ? '苍鹭站在堰上\u202e' : n === 62 ? `${'x'.repeat(5000)} its end` : 'nothing'}`;
  await weir.api('api/results', { method: 'POST', body: JSON.stringify({ tool_name: 'their_tool', conversation_id: 'theirs', result: Array.from({ length: 900 }, (_, i) => line(i + 1)).join('\n') }) });
  const page = await world.visit();
  await view(page, 'Results');
  await page.getByRole('link', { name: /^their_tool/ }).getByRole('img', { name: /^[\d,]+ of [\d,]+ characters shown to the model$/ }).waitFor();
  await page.getByRole('searchbox', { name: 'Search the whole texts' }).fill('苍鹭');
  await page.getByRole('button', { name: /their_tool.*60/ }).click();
  const lines = page.getByRole('region', { name: 'Archived text' });
  await lines.getByText('苍鹭').waitFor();
  await page.waitForFunction(() => document.title === 'their_tool – Results – weir');
  await lines.getByText('⟨U+202E⟩').waitFor();
  await lines.getByText('its end').waitFor({ state: 'detached' });
  await lines.getByRole('button', { name: /^… 4,7\d\d more characters$/ }).click();
  await lines.getByText('its end').waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  assert.ok((await readFile(await (await download).path(), 'utf8')).includes(line(900)));
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Yes, delete it' }).click();
  await page.getByRole('heading', { name: 'Results' }).waitFor();
  await page.getByRole('link', { name: /^their_tool/ }).waitFor({ state: 'hidden' });
});

// reach goes to a control as one who has no mouse does.
async function reach(page, control, ...keys) {
  let node = await control.elementHandle(); // looking it up by its role takes far longer than a key
  for (let i = 0; !await node.evaluate((n) => n === document.activeElement && !n.disabled); i++) {
    assert.ok(i < 150, `Tab does not lead to ${control}`);
    await page.keyboard.press('Tab');
    if (!await node.evaluate((n) => n.isConnected)) node = await control.elementHandle();
  }
  for (const key of keys) await page.keyboard.press(key);
}

test('the main tasks are done with the keyboard alone', async () => {
  model.calls = (question) => (/seven/.test(question) ? [['long_text', { lines: 7 }]] : /long/.test(question) ? [['long_text', { lines: 400 }]] : []);
  await weir.stranger('walker', ['one.example']);
  const page = await world.visit({ permissions: ['clipboard-read', 'clipboard-write'] }), box = page.getByRole('textbox', { name: 'Your question' });
  const type = async (control, text, ...keys) => {
    await reach(page, control, 'ControlOrMeta+a');
    await page.keyboard.type(text);
    for (const key of keys) await page.keyboard.press(key);
  };
  const go = (name) => reach(page, page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }), 'Enter');
  await type(box, 'Make seven lines', 'Enter');
  await log(page).getByRole('button', { name: 'Allow once', disabled: false }).waitFor();
  await reach(page, log(page).getByRole('button', { name: 'Allow once' }), 'Enter');
  await log(page).getByText('It is done.').waitFor();
  await ended(page);
  await type(box, 'Make something long', 'Enter');
  await log(page).getByText('It is done.').nth(1).waitFor();
  await ended(page);
  await reach(page, calls(page, 'long_text').last().getByRole('link', { name: /^Open the whole/ }).first(), 'Enter');
  await page.getByRole('region', { name: 'Archived text' }).getByText('line 1:').first().waitFor();
  await type(page.getByRole('searchbox', { name: 'Find in this result' }), 'line 222:');
  await page.getByRole('status').filter({ hasText: /^1 of 1$/ }).waitFor();
  await reach(page, page.getByRole('button', { name: 'Load these matches with the next question' }), 'Enter');
  await type(box, 'What is in it?', 'Enter');
  await calls(page, 'load_tool_history').getByText('loaded from the archive').waitFor();
  await ended(page);

  await go('Settings');
  await reach(page, page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Limits' }), 'Enter');
  const tool = page.getByRole('combobox', { name: 'for' });
  await reach(page, tool, 'Home');
  for (let i = 0; i < 50 && await tool.inputValue() !== 'long_text'; i++) await page.keyboard.press('ArrowDown'); // keys of a name count as one only if they come within a second
  await type(page.getByRole('spinbutton', { name: 'operator' }), '5000');
  await reach(page, page.getByRole('button', { name: 'See the difference…' }), 'Enter');
  await reach(page, page.getByRole('dialog').getByRole('button', { name: 'Write and put in force' }), 'Enter');
  await page.getByRole('dialog').getByText('Written, and in force.').waitFor();
  await page.keyboard.press('Escape');
  assert.match(await readFile(`${weir.dir}/tools.toml`, 'utf8'), /\[tools\.long_text\][^[]*max_chars\s*= 5000/);

  await go(/^Plugins/);
  await reach(page, page.getByRole('link', { name: /^walker / }), 'Enter');
  const article = page.getByRole('article', { name: 'walker' });
  await reach(page, article.getByRole('button', { name: 'Approve…' }), 'Enter');
  await reach(page, article.getByRole('button', { name: 'Yes, let it run' }), 'Enter');
  await article.getByText('Approved; its tools are ready.').waitFor();

  await go('Tools');
  await reach(page, page.getByRole('link', { name: /^calculator/ }), 'Enter');
  const form = page.getByRole('region', { name: 'Try it' });
  await type(form.getByRole('textbox', { name: /^expression/ }), '6*7');
  await reach(page, form.getByRole('button', { name: 'Run' }), 'Enter');
  await form.getByRole('article', { name: 'Its result' }).getByText('42').first().waitFor();

  await go('Clients');
  await reach(page, page.getByRole('button', { name: 'Cursor' }), 'Enter');
  const entry = page.getByRole('button', { name: 'Copy the entry' }).first();
  await reach(page, entry);
  await copy(page, entry, () => page.keyboard.press('Enter'));
  assert.ok(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())).mcpServers.weir);
});
