// What people set up in the page: clients, models, limits; and how turns went.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { ask, log, startWorld } from './world.mjs';

let world, weir, model;
before(async () => { world = await startWorld(); ({ weir, model } = world); });
after(() => world?.close());
beforeEach(() => model.reset());
afterEach(() => world.leave());

// view opens a view by its name in the rail.
const view = (page, name) => page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click();

test('a client is set up by copying, and the token shows on demand alone', async () => {
  const page = await world.visit({ permissions: ['clipboard-read', 'clipboard-write'] });
  await view(page, 'Clients');
  const tools = page.getByRole('region', { name: 'Programs that use the tools' }), questions = page.getByRole('region', { name: 'Programs that ask a model' });
  await tools.getByRole('button', { name: 'Cursor' }).click();
  await tools.getByText(`${weir.dir}/.cursor/mcp.json`).waitFor();
  await tools.getByRole('button', { name: 'Copy the entry' }).click();
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  const { mcpServers } = JSON.parse(await copied());
  assert.match(mcpServers.weir.command, /\/bin\/weir$/);
  assert.ok(mcpServers.weir.args.includes(`${weir.dir}/tools.toml`), String(mcpServers.weir.args));
  await tools.getByRole('combobox', { name: 'How it reaches weir' }).selectOption('http');
  await questions.getByRole('button', { name: 'curl' }).click();
  assert.ok(!(await page.content()).includes(weir.token));
  await tools.getByRole('button', { name: 'Show the token' }).click();
  await questions.getByText(`Bearer ${weir.token}`).waitFor();
  await tools.getByRole('button', { name: 'Copied' }).waitFor({ state: 'hidden' });
  await tools.getByRole('button', { name: 'Copy the entry' }).click();
  await tools.getByRole('button', { name: 'Copied' }).waitFor();
  const { weir: entry } = JSON.parse(await copied()).mcpServers;
  assert.deepEqual([entry.url, entry.headers.Authorization], [`${weir.url}mcp`, `Bearer ${weir.token}`]);
  await tools.getByRole('button', { name: 'Hide the token' }).click();
  await questions.getByText('Bearer TOKEN').waitFor();
  assert.ok(!(await page.content()).includes(weir.token));
});

test('a connected client is shown until it leaves', async () => {
  const headers = { Authorization: `Bearer ${weir.token}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const clientInfo = { name: 'cursor\u202e <b>', version: '0.49' };
  const res = await fetch(`${weir.url}mcp`, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } }) });
  assert.ok(res.ok);
  await res.text();
  const page = await world.visit();
  await view(page, 'Clients');
  const row = page.getByRole('table').getByRole('row', { name: /cursor\\u202e <b> 0\.49 Operator HTTP/ });
  await row.waitFor();
  await fetch(`${weir.url}mcp`, { method: 'DELETE', headers: { ...headers, 'Mcp-Session-Id': res.headers.get('mcp-session-id'), 'MCP-Protocol-Version': '2025-06-18' } });
  await row.waitFor({ state: 'hidden' });
  await page.getByText(/^No program has an open session\./).waitFor();
});
