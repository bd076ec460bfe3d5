// What people do in the page, in a real browser, by roles and names.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, beforeEach, test } from 'node:test';
import { ask, log, pending, startWorld } from './world.mjs';

let world, weir, model;
before(async () => { world = await startWorld(); ({ weir, model } = world); });
after(() => world?.close());
beforeEach(() => model.reset());

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
