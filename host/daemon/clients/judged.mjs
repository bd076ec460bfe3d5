// A server of the Model Context Protocol, asked directly and behind weir: what a client
// sees of it, and what it sees of a client, by the same requests.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

import { allowed } from './allowed.mjs';
import { differences, faults } from './compare.mjs';

const offline = new URL('offline.mjs', import.meta.url).href;
const recorder = fileURLToPath(new URL('recorder.mjs', import.meta.url));

/** Declares a test for each server: what differs behind weir is what allowed.mjs names. */
export function judge(...servers) {
  for (const server of servers) {
    test(server.name + ' is the same behind weir', async t => {
      const dir = mkdtempSync(join(tmpdir(), 'judge-'));
      t.after(() => rmSync(dir, { recursive: true, force: true }));
      const found = faults(server.name, differences(await both(server, join(dir, 'd'))), allowed);
      assert.equal(found.length, 0, found.join('\n'));
    });
  }
}

/**
 * Asks the server directly and behind weir, each time in a fresh `dir`, and returns both outcomes.
 * `server` has name, args (of node; left out: it is reached over HTTP), env, remote (arguments of node for a
 * server that listens at PORT), setup(dir) and calls; see servers.mjs.
 */
export async function both(server, dir) {
  const seen = {};
  for (const way of ['direct', 'weir']) {
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(join(dir, 'work'), { recursive: true });
    mkdirSync(join(dir, 'home'));
    server.setup?.(join(dir, 'work'));
    seen[way] = await observe(server, dir, way === 'weir');
  }
  return seen;
}

async function observe(server, dir, behind) {
  const work = join(dir, 'work'), log = join(dir, 'received');
  writeFileSync(log, '');
  const env = { PATH: process.env.PATH, HOME: join(dir, 'home'), NODE_OPTIONS: '--import ' + offline, ...server.env?.(work) };
  const remote = server.remote && await serve(server.remote, env, work);
  const entry = server.args
    ? { command: process.execPath, args: [recorder, log, ...server.args(work, remote?.url)], env, cwd: work }
    : { url: remote.url };
  const client = new Client({ name: 'judge', version: '1' }, { capabilities: { roots: {}, sampling: {}, elicitation: {} } });
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file://' + work, name: 'work' }] }));
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({ model: 'none', role: 'assistant', content: { type: 'text', text: 'sampled' } }));
  const transport = entry.url && !behind ? new StreamableHTTPClientTransport(new URL(entry.url))
    : new StdioClientTransport({ ...(behind ? weir(server.name, entry, dir) : entry), stderr: 'pipe' });
  let stderr = '';
  transport.stderr?.on('data', d => stderr += d);
  try {
    await client.connect(transport);
    const { onmessage } = transport;
    transport.onmessage = m => { // the client drops what comes just before a result
      if (m.method === 'notifications/progress') {
        const { progressToken, ...rest } = m.params;
        client.progress?.push(rest);
      }
      onmessage(m);
    };
    return await ask(server, client, work, server.args && log, behind);
  } catch (err) {
    throw new Error(`${server.name}, ${behind ? 'behind weir' : 'directly'}: ${err.stack}\n${stderr}`);
  } finally {
    await client.close();
    remote?.stop();
  }
}

// serve starts a server that listens at the port of the variable PORT, and waits until it answers.
async function serve(args, env, cwd) {
  const free = createServer();
  await new Promise(done => free.listen(0, '127.0.0.1', done));
  const { port } = free.address(), url = `http://127.0.0.1:${port}/mcp`;
  await new Promise(done => free.close(done));
  const child = spawn(process.execPath, args(), { env: { ...env, PORT: port }, cwd, stdio: 'ignore' });
  for (let tries = 0; ; tries++) {
    try {
      await fetch(url);
      return { url, stop: () => child.kill('SIGKILL') };
    } catch (err) {
      if (tries === 1000 || child.exitCode !== null) {
        throw err;
      }
      await sleep(10);
    }
  }
}

// weir says how `weir mcp` is started before one server.
function weir(name, entry, dir) {
  const config = join(dir, 'tools.toml'), none = join(dir, 'none'), quote = JSON.stringify;
  const table = object => Object.entries(object).map(([k, v]) => `${quote(k)} = ${quote(v)}\n`).join('');
  const { env = {}, ...rest } = entry;
  writeFileSync(config, `[mcp]
tools = "all"
[[approvals.rule]]
tool = "*"
action = "allow"
[mcpServers.${quote(name)}]
trust_hints = true
${table(rest)}[mcpServers.${quote(name)}.env]
${table(env)}`);
  mkdirSync(none);
  return {
    command: process.env.WEIR_BIN, cwd: none, args: ['mcp', '--config', config, '--data', join(dir, 'data'), '--plugins', none],
    env: { PATH: process.env.PATH, HOME: none, LANG: 'C', WEIR_CACHE: process.env.WEIR_CACHE ?? join(dir, 'cache') },
  };
}

async function ask(server, client, work, log, behind) {
  const own = ['load_tool_history', 'run_script', 'search_tool_history'];
  let listed;
  for (let tries = 0; !listed?.some(t => !own.includes(t.name)) && tries < 60; tries++) { // a busy machine starts it late
    await sleep(tries && 1000);
    listed = await all(client, 'tools/list', 'tools');
  }
  const prefix = behind ? listed.find(t => !own.includes(t.name))?.name.replace(/__.*/, '__') : '';
  const out = { prefix: behind ? prefix : server.name + '__', instructions: client.getInstructions(), tools: {}, calls: {} };
  for (const { name, ...rest } of listed) {
    if (name.startsWith(prefix)) { // what does not is weir's own
      out.tools[name.slice(prefix.length)] = rest;
    }
  }
  const offers = client.getServerCapabilities();
  out.prompts = offers.prompts ? await all(client, 'prompts/list', 'prompts') : [];
  out.resources = offers.resources ? (await all(client, 'resources/list', 'resources')).filter(r => !r.uri.startsWith('weir:')) : [];
  for (const call of server.calls ?? []) {
    const args = JSON.parse(JSON.stringify(call.args ?? {}).replaceAll('WORK', work));
    out.calls[call.label] = await one(client, { ...call, args }, prefix + call.tool, log);
  }
  return out;
}

async function all(client, method, key) {
  const out = [];
  let cursor;
  do {
    const page = await client.request({ method, params: { cursor } }, z.any());
    out.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor);
  return out;
}

// one makes a call and returns its outcome: the result or the error, the progress, the whole
// text of a result of weir's, and what the server was asked.
async function one(client, { args, progress, cancel, steady = x => x }, name, log) {
  const before = log && readFileSync(log, 'utf8').length, out = {}, stop = new AbortController();
  const options = { timeout: 120_000, signal: stop.signal, resetTimeoutOnProgress: true };
  if (progress || cancel) {
    options.onprogress = () => { if (cancel) stop.abort('enough'); };
  }
  client.progress = [];
  try {
    const result = await client.request({ method: 'tools/call', params: { name, arguments: args } }, z.any(), options);
    out.result = JSON.parse(steady(JSON.stringify(result)));
    const uuid = result._meta?.['weir/archive'];
    if (uuid) {
      const { contents } = await client.request({ method: 'resources/read', params: { uri: 'weir://archive/' + uuid } }, z.any());
      out.whole = contents[0].text;
    }
  } catch (err) {
    out.error = cancel ? 'cancelled' : { code: err.code, message: err.message };
  }
  if (progress) {
    out.progress = client.progress;
  }
  if (log) {
    out.received = await received(log, before, cancel);
  }
  return out;
}

// received returns what the server was sent since the log had so many characters, without what differs
// from one connection to the next.
async function received(log, since, cancel) {
  for (let tries = 0; ; tries++) {
    const lines = readFileSync(log, 'utf8').slice(since).split('\n').filter(Boolean).map(l => JSON.parse(l));
    const out = lines.filter(m => m.method === 'tools/call' || m.method === 'notifications/cancelled')
      .map(m => m.method === 'tools/call' ? { tool: m.params.name, arguments: m.params.arguments, progress: m.params._meta?.progressToken !== undefined } : { cancelled: true });
    if (!cancel || out.some(m => m.cancelled) || tries === 1000) {
      return out;
    }
    await sleep(10);
  }
}
