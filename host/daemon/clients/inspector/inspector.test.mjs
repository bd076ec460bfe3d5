// The MCP Inspector's CLI mode, against the daemon over HTTP and against `weir
// mcp` on standard streams: what its people type to look into a server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { test } from 'node:test';

const bin = new URL('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url).pathname;
const ways = {
  'http': [process.env.WEIR_URL + '/mcp', '--transport', 'http', '--header', 'Authorization: Bearer ' + process.env.WEIR_TOKEN],
  'stdio': [process.env.WEIR_BIN, ...JSON.parse(process.env.WEIR_ARGS)],
};

async function inspect(server, ...args) {
  const { stdout } = await promisify(execFile)(process.execPath, [bin, '--cli', ...server, ...args]);
  return JSON.parse(stdout);
}

for (const [name, server] of Object.entries(ways)) {
  test(name + ': the tools are listed with their limits', async () => {
    const { tools } = await inspect(server, '--method', 'tools/list');
    assert.equal(tools.find(t => t.name === 'long')._meta['anthropic/maxResultSizeChars'], 2000);
    assert.ok(tools.some(t => t.name === 'load_tool_history'));
  });
  test(name + ': a call is answered', async () => {
    const { content } = await inspect(server, '--method', 'tools/call', '--tool-name', 'calculator', '--tool-arg', 'expression=6*7');
    assert.match(content[0].text, /42/);
  });
  test(name + ': a long result is cut, and the whole is a resource', async () => {
    const { content, _meta } = await inspect(server, '--method', 'tools/call', '--tool-name', 'long_text');
    assert.match(content[0].text, /left out by the tool's limit/);
    const { contents } = await inspect(server, '--method', 'resources/read', '--uri', 'weir://archive/' + _meta['weir/archive']);
    assert.match(contents[0].text, /line 400: /);
  });
}
