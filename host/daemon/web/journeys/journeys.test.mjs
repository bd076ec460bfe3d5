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
