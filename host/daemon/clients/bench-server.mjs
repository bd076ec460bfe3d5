// The tool of `make bench-mcp` as a plain handler of the npm SDK's server:
// `stdio`, or `http PORT`, which answers with JSON.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { z } from 'zod';

function make() {
  const s = new McpServer({ name: 'bench', version: '1' });
  s.registerTool('echo', { description: 'Gives a text back', inputSchema: { text: z.string() } }, async ({ text }) => ({ content: [{ type: 'text', text }] }));
  return s;
}

// A session each, as the SDK's own example for JSON answers has it.
const sessions = new Map();
async function answer(req, res, body) {
  let transport = sessions.get(req.headers['mcp-session-id']);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, enableJsonResponse: true, onsessioninitialized: id => sessions.set(id, transport) });
    await make().connect(transport);
  }
  await transport.handleRequest(req, res, body);
}

const [how, port] = process.argv.slice(2);
if (how === 'stdio') {
  await make().connect(new StdioServerTransport());
} else if (how === 'express') { // as that example serves it
  const app = createMcpExpressApp();
  app.post('/mcp', (req, res) => answer(req, res, req.body));
  app.listen(Number(port), '127.0.0.1');
} else {
  http.createServer(async (req, res) => {
    const parts = [];
    for await (const part of req) parts.push(part);
    await answer(req, res, JSON.parse(Buffer.concat(parts)));
  }).listen(Number(port), '127.0.0.1');
}
