// What people do in the page, in a real browser, by roles and names.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, beforeEach, test } from 'node:test';
import { ask, log, pending, startWorld } from './world.mjs';

let world, weir, model;
before(async () => { world = await startWorld(); ({ weir, model } = world); });
after(() => world?.close());
beforeEach(async () => { model.reset(); await weir.start(); });

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
  for (const [name, has] of [['Markdown', '# '], ['JSON', '{'], ['JSON Lines', '{"']]) {
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name, exact: true }).click();
    const text = await readFile(await (await saved).path(), 'utf8');
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
    return [await card.locator('.note').innerText(), await card.locator('.numbers').innerText(), await card.locator('pre').nth(1).innerText(), await log(page).locator('article > .note').last().innerText()];
  };
  const live = await told();
  assert.match(live[0], /left out by the tool's own limit of 8,000 characters/);
  await page.reload();
  await card.waitFor();
  const again = await told();
  assert.equal(again[0], `${live[0]} Folded into a placeholder; the whole is in the archive.`);
  assert.deepEqual(again.slice(1), live.slice(1));
});
