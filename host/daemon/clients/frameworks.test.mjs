// Five agent frameworks, first the programs of docs/frameworks.md as they stand there, in front of the demo model; only
// the address is another.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { after, before, describe, test } from 'node:test';
import { createMCPClient } from '@ai-sdk/mcp';
import { createOpenAI } from '@ai-sdk/openai';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { ChatOpenAI } from '@langchain/openai';
import { OpenAI as LlamaOpenAI } from '@llamaindex/openai';
import { mcp } from '@llamaindex/tools';
import { agent as llamaAgent } from '@llamaindex/workflow';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { MCPClient } from '@mastra/mcp';
import { Agent, MCPServerStreamableHttp, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled } from '@openai/agents';
import { generateText, isStepCount, Output, streamText } from 'ai';
import { createAgent } from 'langchain';
import OpenAI from 'openai';
import { z } from 'zod';

const page = readFileSync(new URL('../../../docs/frameworks.md', import.meta.url), 'utf8');
const chapters = page.split('\n## ').map((c) => [c.split('\n', 1)[0], c.match(/```js\n(.*?)```/s)?.[1]]).filter(([, program]) => program);

test('the page has a program of each framework', () => assert.equal(chapters.length, 5));

for (const [name, program] of chapters) {
  test(name + ': weir as its model, and as its MCP server', async () => {
    const file = new URL(`node_modules/page-${name.replace(/\W+/g, '-')}.mjs`, import.meta.url);
    writeFileSync(file, program.replace('http://127.0.0.1:8420', process.env.WEIR_DEMO));
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [file.pathname]);
      assert.equal(stdout.match(/calculator returned:\n[^(]*17 \* 23 = 391/g)?.length, 2, stdout);
    } finally {
      rmSync(file);
    }
  });
}

test("each program's versions are those that are tried", () => {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
  const named = [...page.matchAll(/(@?[a-z][a-z/-]*) (\d+\.\d+\.\d+)/g)];
  assert.ok(named.length >= 15, String(named.length));
  for (const [, pkg, version] of named) assert.equal(dependencies[pkg], version, pkg);
});

// What each framework makes of an answer in pieces, of an object, and of a cut result that
// weir's MCP server gave to its agent. The scripted model says what its tools returned.
const url = process.env.WEIR_URL, apiKey = process.env.WEIR_TOKEN, baseURL = url + '/v1';
const at = { url: url + '/mcp', headers: { Authorization: 'Bearer ' + apiKey } };
const person = z.object({ name: z.string(), age: z.number() });
const user = (content) => [{ role: 'user', content }];

setDefaultOpenAIClient(new OpenAI({ baseURL, apiKey }));
setOpenAIAPI('chat_completions');
setTracingDisabled(true);

const frameworks = {
  'LangChain.js': async () => {
    const model = new ChatOpenAI({ model: 'weir', apiKey, configuration: { baseURL } });
    const weir = new MultiServerMCPClient({ weir: { transport: 'http', ...at } });
    const tools = await weir.getTools();
    return {
      streamed: async (q) => { let s = ''; for await (const c of await model.stream(q)) s += c.content; return s; },
      object: (q) => model.withStructuredOutput(person).invoke(q),
      agent: async (q) => (await createAgent({ model, tools }).invoke({ messages: user(q) })).messages.at(-1).content,
      close: () => weir.close(),
    };
  },
  'OpenAI Agents SDK': async () => {
    const weir = new MCPServerStreamableHttp({ name: 'weir', url: at.url, requestInit: { headers: at.headers } });
    await weir.connect();
    const of = (x) => new Agent({ name: 'A', model: 'weir', ...x });
    return {
      streamed: async (q) => { const r = await run(of(), q, { stream: true }); let s = ''; for await (const c of r.toTextStream()) s += c; return s; },
      object: async (q) => (await run(of({ outputType: person }), q)).finalOutput,
      agent: async (q) => (await run(of({ mcpServers: [weir] }), q)).finalOutput,
      close: () => weir.close(),
    };
  },
  'Mastra': async () => {
    const weir = new MCPClient({ servers: { weir: { url: new URL(at.url), requestInit: { headers: at.headers } } } });
    // Mastra puts the server's name in front of each tool; the script calls them by their own.
    const tools = Object.fromEntries(Object.entries(await weir.listTools()).map(([name, t]) => [name.replace('weir_', ''), t]));
    const of = (x) => new MastraAgent({ id: 'a', name: 'a', instructions: 'Be brief.', model: { id: 'weir/weir', url: baseURL, apiKey }, ...x });
    return {
      streamed: async (q) => { let s = ''; for await (const c of (await of().stream(q)).textStream) s += c; return s; },
      object: async (q) => (await of().generate(q, { structuredOutput: { schema: person } })).object,
      agent: async (q) => (await of({ tools }).generate(q)).text,
      close: () => weir.disconnect(),
    };
  },
  'AI SDK': async () => {
    const model = createOpenAI({ baseURL, apiKey }).chat('weir');
    const weir = await createMCPClient({ transport: { type: 'http', ...at } });
    const tools = await weir.tools();
    return {
      streamed: async (q) => { let s = ''; for await (const c of streamText({ model, prompt: q }).textStream) s += c; return s; },
      object: async (q) => { const r = streamText({ model, prompt: q, output: Output.object({ schema: person }) }); await r.consumeStream(); return r.output; },
      agent: async (q) => (await generateText({ model, tools, stopWhen: isStepCount(4), prompt: q })).text,
      close: () => weir.close(),
    };
  },
  'LlamaIndex.TS': async () => {
    const llm = new LlamaOpenAI({ model: 'weir', apiKey, baseURL });
    const weir = mcp({ url: at.url, requestInit: { headers: at.headers } });
    const tools = await weir.tools();
    return {
      streamed: async (q) => { let s = ''; for await (const c of await llm.chat({ messages: user(q), stream: true })) s += c.delta; return s; },
      object: async (q) => JSON.parse((await llm.chat({ messages: user(q), responseFormat: person })).message.content),
      agent: async (q) => (await llamaAgent({ llm, tools }).run(q)).data.result,
      close: () => weir.cleanup(),
    };
  },
};

for (const [name, open] of Object.entries(frameworks)) {
  describe(name, () => {
    let f;
    before(async () => { f = await open(); });
    after(() => f.close());
    test('an answer in pieces is the answer of the turn', async () => {
      assert.equal(await f.streamed('Hi'), 'Hello from the far side of the weir.');
      assert.equal(await f.streamed('calculate'), 'The tools say: 6*7 = 42');
    });
    test('an object, also with a sentence before a call', async () => {
      assert.deepEqual(await f.object('a person'), { name: 'Ada', age: 36 });
      assert.deepEqual(await f.object('look up a person'), { name: 'Ada', age: 36 });
    });
    test("an agent reads weir's results, cut ones as text with their notice", async () => {
      assert.match(await f.agent('calculate'), /6\*7 = 42/);
      const long = await f.agent('a long text');
      assert.match(long, /line 1: /);
      assert.match(long, /load_tool_history/);
      assert.doesNotMatch(long, /resource_link/);
    });
  });
}
