// The protocol's own conformance suite against the daemon.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execFile } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';

// The scenarios that a server of tools and archives can be held to. The others
// want prompts, sampling, completions, or resources of the suite's own.
const scenarios = [
  'server-initialize', 'ping', 'logging-set-level', 'tools-list', 'tools-call-simple-text', 'tools-call-image', 'tools-call-audio',
  'tools-call-embedded-resource', 'tools-call-mixed-content', 'tools-call-error', 'tools-call-with-progress',
  'server-sse-multiple-streams', 'resources-list', 'dns-rebinding-protection',
];

test('conformance', async t => {
  const url = new URL(process.env.WEIR_URL);
  // The suite knows no token: this adds it, and passes the rest on as it came.
  const proxy = http.createServer((req, res) => {
    const headers = { ...req.headers, authorization: 'Bearer ' + process.env.WEIR_TOKEN };
    const to = http.request({ host: url.hostname, port: url.port, path: req.url, method: req.method, headers }, from => {
      res.writeHead(from.statusCode, from.headers);
      from.pipe(res);
    });
    to.on('error', () => res.destroy());
    res.on('close', () => to.destroy());
    req.pipe(to);
  });
  await new Promise(done => proxy.listen(0, '127.0.0.1', done));
  t.after(() => { proxy.closeAllConnections(); proxy.close(); });
  const cli = path.resolve('node_modules/@modelcontextprotocol/conformance/dist/index.js');
  const at = `http://127.0.0.1:${proxy.address().port}/mcp`;
  const out = await new Promise(done => execFile(process.execPath, [cli, 'server', '--url', at], { maxBuffer: 1 << 24 }, (_, stdout, stderr) => done(stdout + stderr)));
  for (const name of scenarios) {
    await t.test(name, () => assert.match(out, new RegExp(`✓ ${name}: [1-9]\\d* passed, 0 failed`), out));
  }
});
