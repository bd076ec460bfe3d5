// Every view at once: keys, accessibility, widths, languages.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { ask, ended, fromDisk, gallery, log, startWorld, violations } from './world.mjs';

let world, weir, model;
before(async () => { world = await startWorld(); ({ weir, model } = world); });
after(() => world?.close());
beforeEach(() => model.reset());
afterEach(() => world.leave());

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
  await ended(page);
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
  if (await narrow.isVisible()) { await narrow.click(); await look('conversations'); }
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
  for (const part of ['agents', 'health']) { // Limits come first
    await page.evaluate((hash) => { location.hash = hash; }, `#/settings/${part}`);
    await page.locator('.setting, .health li').first().waitFor();
    await look(`settings-${part}`);
  }
  await go(w.ask);
}

// A setting that the review of a plugin shows.
const setting = '\n[config.units]\ntype = "string"\ndefault = "m"\ndescription = "m"\n';

const english = { ask: 'Ask', results: 'Results', plugins: /^Plugins/, more: 'More', chats: 'Conversations', about: /^About “/, close: 'Close', sees: 'What the model sees', whole: /^Open the whole/, text: 'Archived text', side: 'Limit, load back', through: /characters let through$/, approve: /^(Approve|Grant)…$/, deep: /^(Tools|Traces|Settings)$/, rest: ['Tools', 'Scripts', 'Traces', 'Clients', 'Settings', /^Account/] };
const chinese = { ask: '提问', results: '结果', plugins: /^插件/, more: '更多', chats: '会话', about: /^“.*重命名/, close: '关闭', sees: '模型看到的内容', whole: /^打开完整内容/, text: '存档内容', side: '限制与加载', through: /个字符中放行了/, approve: /^(批准|授予)…$/, deep: /^(工具|记录|设置)$/, rest: ['工具', '脚本', '记录', '客户端', '设置', /^账户/] };

test('every view is accessible and as wide as the screen', async () => {
  await weir.stranger('sneaky', ['evil.example'], undefined, undefined, setting);
  const page = await world.visit({}), found = [];
  await prepare(page, 'Make everything there is', 'Everything');
  // looks returns what looks at the page of some width; in the other colour scheme only at colours.
  const looks = async (width, colorScheme, other) => {
    await page.setViewportSize({ width, height: 720 });
    await page.emulateMedia({ colorScheme });
    return async (name) => {
      const wide = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll('body, .shell, .rail, .rail *, .stage, .page > *, .talk-head *, .ask *, .find > *, dialog[open], .login *')].filter((n) => n.getBoundingClientRect().right > innerWidth + 1 || (n === document.documentElement && n.scrollWidth > innerWidth)).map((n) => n.id || `${n.nodeName}.${n.className}`));
      for (const what of [...(await violations(page)), ...wide.map((n) => `too wide: ${n}`)]) found.push(`${name}, ${width}, ${colorScheme}: ${what}`);
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/en-${width}-${colorScheme}-${name.replace(/[^\p{L}\p{N}]/gu, '')}.png` });
      await page.emulateMedia({ colorScheme: other });
      for (const what of await violations(page, false)) found.push(`${name}, ${width}, ${other}: ${what}`);
      await page.emulateMedia({ colorScheme });
    };
  };
  // One page after another in the same process of the browser, which needs a second of work to warm up.
  const both = async (see) => { for (const how of [[1280, 'light', 'dark'], [320, 'dark', 'light']]) await see(await looks(...how)); };
  await both((look) => views(page, look, english));
  await page.context().clearCookies();
  await page.reload();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  await both((look) => look('login'));
  await fromDisk(page, weir.url, gallery);
  await page.goto(weir.address);
  await page.getByRole('textbox', { name: 'Your question' }).waitFor();
  await page.goto(`${weir.url}#/gallery`);
  await page.reload();
  await page.getByRole('heading', { name: 'Components' }).waitFor();
  await both((look) => look('gallery'));
  assert.deepEqual(found, []);
});

test('a Chinese page has no English sentence', async () => {
  await weir.stranger('sneaky', ['evil.example'], undefined, undefined, setting);
  const page = await world.visit({ locale: 'zh-CN' });
  await prepare(page, '把所有东西都做出来', '全部');
  const found = [];
  const look = async (name) => {
    const texts = await page.evaluate(() => {
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), out = [];
      while (walk.nextNode()) if (walk.currentNode.parentElement.checkVisibility() && !walk.currentNode.parentElement.closest('pre, code, q, [lang="en"], .talks .open, .rows, .sum, .args, .results .first')) out.push(walk.currentNode.data);
      return out;
    });
    const names = / weir [a-z]+ [a-z]+ \S+$|weir call|JSON Lines|Claude (Desktop|Code)|VS Code|\S+\/\S+|1 {2}2 \n\n a {2}log|[(（]["“].*?["”]|weir serve|(Debian clang )?version \S+|linux\/\w+/g; // names, commands, what a plugin says of itself, and a table that is said aloud
    found.push(...texts.filter((s) => /[A-Za-z]+[ ,;:'’-]+[A-Za-z]+/.test(s.replace(names, ''))).map((s) => `${name}: ${s}`));
    for (const [width, colorScheme] of process.env.SHOTS ? [[320, 'dark'], [1280, 'light']] : []) {
      await page.setViewportSize({ width, height: 720 });
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${process.env.SHOTS}/zh-${width}-${colorScheme}-${name.replace(/[^\p{L}\p{N}]/gu, '')}.png` });
    }
  };
  await views(page, look, chinese);
  assert.deepEqual(found, []);
});
