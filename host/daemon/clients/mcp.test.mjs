// Clients of the Model Context Protocol from npm, against the daemon over HTTP
// and against `weir mcp` on standard streams: the TypeScript SDK as it was until
// 2025 (sdk) and since (client).
import assert from 'node:assert/strict';
import { test, describe, before, after } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as newer from '@modelcontextprotocol/client';

const url = new URL(process.env.WEIR_URL + '/mcp');
const headers = { Authorization: 'Bearer ' + process.env.WEIR_TOKEN };
const info = { name: 'test', version: '1' };

const ways = {
  'http': async () => {
    const c = new Client(info);
    await c.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return c;
  },
  'stdio': async () => {
    const c = new Client(info);
    await c.connect(new StdioClientTransport({ command: process.env.WEIR_BIN, args: JSON.parse(process.env.WEIR_ARGS), env: process.env, stderr: 'inherit' }));
    return c;
  },
  'http, the newer client': async () => {
    const c = new newer.Client(info);
    await c.connect(new newer.StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return c;
  },
};

for (const [name, connect] of Object.entries(ways)) {
  describe(name, () => {
    let c;
    before(async () => { c = await connect(); });
    after(() => c.close());

    test('the tools are listed with their limits', async () => {
      const { tools } = await c.listTools();
      const long = tools.find(t => t.name === 'long');
      assert.equal(long._meta['anthropic/maxResultSizeChars'], 2000);
      assert.equal(long.annotations.readOnlyHint, true);
      assert.ok(tools.some(t => t.name === 'load_tool_history'));
      assert.match(c.getInstructions(), /load_tool_history/);
    });

    test('a call, a failure, an image', async () => {
      assert.deepEqual((await c.callTool({ name: 'echo', arguments: { text: '你好' } })).content, [{ type: 'text', text: '你好' }]);
      const failed = await c.callTool({ name: 'echo', arguments: {} });
      assert.equal(failed.isError, true);
      assert.equal(failed._meta['weir/error'].code, 'bad_args');
      const { content } = await c.callTool({ name: 'test_image_content', arguments: {} });
      assert.equal(content.find(x => x.type === 'image').mimeType, 'image/png');
    });

    test('a long result is one text, read as a resource and loaded', async () => {
      const { content, _meta } = await c.callTool({ name: 'long', arguments: { lines: 200 } });
      assert.ok(content.length === 1 && content[0].text.length <= 2000);
      const link = { uri: 'weir://archive/' + _meta['weir/archive'] };
      assert.equal((await c.readResource({ uri: link.uri })).contents[0].text.length, 11400);
      const { resources } = await c.listResources();
      assert.ok(resources.some(r => r.uri === link.uri));
      const load = await c.callTool({ name: 'load_tool_history', arguments: { uuid: link.uri.split('/').pop(), lines: '3-3' } });
      assert.match(load.content[0].text, /9c/);
    });

    test('many at once', async () => {
      const all = await Promise.all(Array.from({ length: 20 }, (_, i) => c.callTool({ name: 'echo', arguments: { text: 'no ' + i } })));
      all.forEach((r, i) => assert.equal(r.content[0].text, 'no ' + i));
    });
  });
}

test('progress, and a call that is ended', async () => {
  const c = await ways.http();
  const seen = [];
  await c.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, { onprogress: p => seen.push(p.progress) });
  assert.deepEqual(seen, [0, 50, 100]);
  const stop = new AbortController();
  const call = c.callTool({ name: 'wait', arguments: { millis: 50000 } }, undefined, { signal: stop.signal, onprogress: () => stop.abort('enough') });
  await assert.rejects(call);
  await c.close();
});
