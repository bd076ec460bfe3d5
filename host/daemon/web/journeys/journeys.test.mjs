// What people do in the page, in a real browser, by roles and names.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { ask, log, pending, startWorld, violations } from './world.mjs';

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
  await page.getByRole('button', { name: 'Account: Operator' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
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
  await log(page).getByRole('button', { name: 'Ask again' }).click();
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

// review opens what a plugin is and asks for.
async function review(page, name) {
  const tools = page.getByRole('button', { name: 'Tools', exact: true });
  if ((await tools.getAttribute('aria-expanded')) !== 'true') await tools.click();
  await page.getByRole('listitem').filter({ has: page.getByText(name, { exact: true }) }).getByRole('button', { name: 'Look' }).click();
  return page.getByRole('dialog');
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

test('a conversation that is opened again shows what the model read then', async () => {
  model.calls = (question) => (/long/.test(question) ? [['long_text', { lines: 400 }]] : []);
  const page = await world.visit();
  await ask(page, 'Make something long');
  await log(page).getByText('It is done.').waitFor();
  const card = log(page).getByRole('region', { name: 'Tool call long_text' });
  // told is what a person can read of a call and of the sums below it.
  const told = async () => {
    await card.getByText('What the model read').click();
    await card.locator('pre').nth(1).filter({ hasText: /\d{3}/ }).waitFor();
    await card.getByText('Lines shown for a pattern: 1').click();
    const kept = card.getByRole('listitem');
    await kept.waitFor();
    return [(await card.locator('.note').allInnerTexts()).join(' '), await kept.innerText(), await card.locator('.numbers').innerText(), await card.locator('pre').nth(1).innerText(), await log(page).locator('article > .note').last().innerText()];
  };
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  const live = await told();
  assert.match(live[0], /^Left out by the agent's limit of 12,000 characters: [\d,]+ characters, lines: \d+\. From now on the model reads a placeholder/);
  assert.match(live[1], /^line 201, \^line 201:: line 201: /);
  await page.reload();
  await card.waitFor();
  assert.deepEqual(await told(), live);
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

test('lines and matches are loaded back, and what fits is told before', async () => {
  model.calls = (question) => (/long/.test(question) ? [['long_text', { lines: 20000 }]] : []);
  const page = await world.visit();
  await ask(page, 'Make something long');
  await log(page).getByText('It is done.').waitFor();
  const reader = page.getByRole('dialog');
  const open = () => log(page).getByRole('button', { name: /^Open the whole/ }).first().click();
  await open();
  await reader.getByText(/^the first [\d,]+ of [\d,]+ characters fit$/).waitFor();
  await reader.getByRole('textbox', { name: 'Lines' }).fill('ten to twenty');
  await reader.getByRole('button', { name: 'Show', exact: true }).click();
  await reader.getByText('Write lines as 100-160, 100- or 100.').waitFor();
  assert.ok(await reader.getByRole('button', { name: /^Load/ }).isDisabled());
  await reader.getByRole('textbox', { name: 'Lines' }).fill('100-101');
  await reader.getByRole('button', { name: 'Show', exact: true }).click();
  await reader.getByText(/^all [\d,]+ characters fit$/).waitFor();
  await reader.getByRole('button', { name: 'Load these lines with the next question' }).click();
  await open();
  await reader.getByRole('textbox', { name: 'Search' }).fill('line 7777:');
  await reader.getByRole('button', { name: 'Show', exact: true }).click();
  await reader.getByText('Matching lines: 1.').waitFor();
  await reader.getByRole('button', { name: 'Load these matches with the next question' }).click();
  await open();
  await reader.getByRole('button', { name: 'Load the whole with the next question' }).click();
  await page.setViewportSize({ width: 320, height: 720 });
  const chips = page.getByRole('list', { name: 'Loaded back with the next question' }).getByRole('listitem');
  await chips.filter({ hasText: 'long_text, lines 100-101' }).getByText(/^all [\d,]+ characters fit$/).waitFor();
  const whole = chips.filter({ hasText: 'long_text, the whole' });
  await whole.getByText(/^the first [\d,]+ of [\d,]+ characters fit$/).waitFor();
  const number = (text) => Number(/[\d,]+/.exec(text)[0].replaceAll(',', ''));
  const told = number((await whole.innerText()).split('first')[1]);
  model.asked.length = 0;
  await ask(page, 'What is in lines 100 and 101?');
  const cards = log(page).getByRole('region', { name: 'Tool call load_tool_history' });
  await cards.nth(2).getByText('loaded from the archive').waitFor();
  const shown = number((await cards.nth(2).locator('.numbers span').nth(1).innerText()));
  assert.ok(shown <= told && shown > 0.98 * told, `${told} characters were told to fit, ${shown} were shown`);
  const read = JSON.stringify(model.asked[0].slice(-4));
  for (const text of ['line 100:', 'line 101:', '7777:line 7777:']) assert.ok(read.includes(text), text);
  assert.equal(await chips.count(), 0);
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
  const dialog = await review(page, 'sneaky');
  await dialog.getByText('<script>').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('searchbox', { name: 'Search conversations' }).fill('onerror');
  await page.getByRole('status').filter({ hasText: /^Found: \d/ }).waitFor();
  await page.reload();
  await log(page).getByText('image: picture').waitFor();
  assert.equal(await page.evaluate(() => globalThis.hit), undefined);
  const made = 'script:not([src="app.js"]), img:not([src="icon.svg"]), iframe, svg, object, embed, [onerror], [onload], a[href^="javascript:"]';
  assert.deepEqual(await page.locator(made).evaluateAll((list) => list.map((n) => n.outerHTML)), []);
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

// prepare asks for what there is to see in a conversation.
async function prepare(page, question, answer) {
  model.calls = (asked) => (asked.includes(question) ? [['long_text', { lines: 400 }], ['calculator', { expression: '6*7' }]] : []);
  model.says = () => [`### ${answer}\n\n| 1 | 2 |\n|---|---|\n| \`a\` | [log](https://ci.example/) |\n\n- ${answer}\n\n\`\`\`\nx\n\`\`\`\n`];
  await ask(page, question);
  await log(page).getByRole('table').waitFor();
  await page.getByRole('button', { name: /^(Stop|停止)$/ }).waitFor({ state: 'hidden' });
}

// views opens all that the page can show, one after another, and calls look with each.
async function views(page, look, [about, tools, at, account, whole, approve, close, chats]) {
  const dialog = page.getByRole('dialog');
  const opened = async (name, button) => {
    await button.click();
    await dialog.waitFor();
    await dialog.getByText(/…$/).filter({ hasText: /^(Loading…|加载中…)$/ }).waitFor({ state: 'hidden' });
    await look(name);
  };
  const shut = () => dialog.getByRole('button', { name: close }).click();
  await look('conversation');
  await opened('reader', log(page).getByRole('button', { name: whole }).first());
  await shut();
  await opened('account', page.getByRole('button', { name: account }));
  await shut();
  const narrow = page.getByRole('button', { name: chats, exact: true });
  if (await narrow.isVisible()) await narrow.click();
  await look('conversations');
  await opened('about', page.getByRole('button', { name: about }).first());
  await shut();
  if (await narrow.isVisible()) await page.keyboard.press('Escape');
  await page.getByRole('button', { name: tools, exact: true }).click();
  const row = page.getByRole('listitem').filter({ has: page.getByText('sneaky', { exact: true }) });
  await row.waitFor();
  await look('tools');
  await opened('plugin', row.getByRole('button', { name: at }));
  await dialog.getByRole('button', { name: approve }).click();
  await look('approval');
  await shut();
  await page.keyboard.press('Escape');
}

test('every view is accessible and as wide as the screen', async () => {
  await weir.stranger('sneaky', ['evil.example']);
  const page = await world.visit();
  await prepare(page, 'Make everything there is', 'Everything');
  const stranger = await world.visit({}, '');
  const found = [], names = [/^About “/, 'Tools', 'Look', /^Account:/, /^Open the whole/, 'Approve…', 'Close', 'Conversations'];
  for (const width of [1280, 320]) {
    for (const colorScheme of ['light', 'dark']) {
      const look = async (name, seen = page) => {
        const wide = await seen.evaluate(() => [...document.querySelectorAll('body, header *, .app, dialog[open], #login *')].filter((n) => n.getBoundingClientRect().right > innerWidth + 1).map((n) => n.id || n.nodeName));
        for (const what of [...(await violations(seen)), ...wide.map((n) => `too wide: ${n}`)]) found.push(`${name}, ${width}, ${colorScheme}: ${what}`);
        if (process.env.SHOTS) await seen.screenshot({ path: `${process.env.SHOTS}/en-${width}-${colorScheme}-${name}.png` });
      };
      for (const each of [page, stranger]) {
        await each.setViewportSize({ width, height: 720 });
        await each.emulateMedia({ colorScheme });
      }
      await look('login', stranger);
      await views(page, look, names);
    }
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
      while (walk.nextNode()) if (walk.currentNode.parentElement.checkVisibility() && !walk.currentNode.parentElement.closest('pre, code, q, [lang="en"], #chat-list .open')) out.push(walk.currentNode.data);
      return out;
    });
    const command = / weir [a-z]+ [a-z]+ \S+$/; // stays as one types it
    found.push(...texts.filter((s) => /[A-Za-z]+(?:[ ,;:'’-]+[A-Za-z]+){3,}/.test(s.replace(command, ''))).map((s) => `${name}: ${s}`));
    for (const [width, colorScheme] of process.env.SHOTS ? [[320, 'dark'], [1280, 'light']] : []) {
      await page.setViewportSize({ width, height: 720 });
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${process.env.SHOTS}/zh-${width}-${colorScheme}-${name}.png` });
    }
  };
  await views(page, look, [/^“.*重命名/, '工具', '查看', /^账户：/, /^打开完整内容/, '批准…', '关闭', '会话']);
  assert.deepEqual(found, []);
});
