// Servers of the Model Context Protocol from npm, and the calls by which they are judged.
// None of them reaches a network: judged.mjs starts them with offline.mjs.
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

// bin returns the program of a package.
function bin(pkg, name, folder = 'servers') {
  const dir = join(here, folder, 'node_modules', pkg);
  const { bin } = JSON.parse(readFileSync(join(dir, 'package.json')));
  return join(dir, bin[name]);
}

// files puts files into a folder, with a time that does not differ from run to run.
function files(dir, texts) {
  const time = new Date('2026-01-02T03:04:05Z');
  mkdirSync(join(dir, 'sub'));
  for (const [name, text] of Object.entries(texts)) {
    writeFileSync(join(dir, name), text);
    utimesSync(join(dir, name), time, time);
  }
}

const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const lines = n => Array.from({ length: n }, (_, i) => `line ${i + 1}: ${'weir '.repeat(i % 9)}`).join('\n') + '\n';
const texts = { 'a.txt': 'one\ntwo\nthree\n', 'b.json': '{"b": 1, "a": [1, 2]}\n', 'long.txt': lines(8000), 'dot.png': png, 'sub/c.md': '# C\n\n你好 👋🏽\n' };

// call returns a call to be judged; its label is the tool's name unless options say another.
const call = (tool, args, options) => ({ label: tool, tool, args, ...options });

export const everything = {
  name: 'everything',
  args: () => [bin('@modelcontextprotocol/server-everything', 'mcp-server-everything', '.')],
  calls: [
    call('echo', { message: 'hello\nthere' }),
    call('echo', { message: 'x', extra: 1 }, { label: 'an argument that no schema names' }),
    call('echo', {}, { label: 'a missing argument' }),
    call('get-sum', { a: 1, b: 2.5 }),
    call('get-sum', { a: 'x', b: 2 }, { label: 'a wrong argument' }),
    call('get-tiny-image'),
    call('get-annotated-message', { messageType: 'error', includeImage: true }),
    call('get-annotated-message', { messageType: 'debug', includeImage: false }, { label: 'get-annotated-message alone' }),
    call('get-structured-content', { location: 'Chicago' }),
    call('get-resource-links', { count: 3 }),
    call('get-resource-reference', { resourceType: 'Text', resourceId: 1 }, { label: 'a text resource', steady: clock }),
    call('get-resource-reference', { resourceType: 'Blob', resourceId: 2 }, { label: 'a blob resource', steady: clock }),
    call('get-resource-reference', { resourceType: 'Text', resourceId: -1 }, { label: 'an error of the tool' }),
    call('gzip-file-as-resource', { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resource' }, { label: 'a gzip resource' }),
    call('gzip-file-as-resource', { name: 'b.gz', data: 'data:text/plain,hello', outputType: 'resourceLink' }, { label: 'a gzip link' }),
    call('trigger-long-running-operation', { duration: 1, steps: 4 }, { label: 'progress', progress: true }),
    call('trigger-long-running-operation', { duration: 60, steps: 600 }, { label: 'cancelled', cancel: true }),
    call('simulate-research-query', { topic: 'rivers', ambiguous: false }, { label: 'a tool of tasks alone' }),
    call('no-such-tool', {}, { label: 'an unknown tool' }),
  ],
};

// over returns a server like everything that is reached over HTTP.
const over = (name, args) => ({ ...everything, name, args, remote: () => [...everything.args(), 'streamableHttp'] });

export const http = over('http');
export const remote = over('remote', (work, url) => [bin('mcp-remote', 'mcp-remote'), url, '--allow-http']);

// clock takes the time of day out of everything's resources; a blob is base64 of it.
function clock(json) {
  const result = JSON.parse(json);
  for (const { resource } of result.content) {
    if (resource?.blob && !resource.mimeType?.includes('gzip')) {
      resource.blob = Buffer.from(Buffer.from(resource.blob, 'base64').toString().replace(/ at .*/, '')).toString('base64');
    }
  }
  return JSON.stringify(result).replace(/\d+:\d\d:\d\d [AP]M/g, 'TIME');
}

export const filesystem = {
  name: 'filesystem',
  args: work => [bin('@modelcontextprotocol/server-filesystem', 'mcp-server-filesystem', '.'), work],
  setup: work => files(work, texts),
  calls: [
    call('list_allowed_directories'),
    call('read_text_file', { path: 'a.txt' }),
    call('read_text_file', { path: 'a.txt', tail: 1 }, { label: 'the tail of a file' }),
    call('read_text_file', { path: 'sub/c.md' }, { label: 'a file of many scripts' }),
    call('read_text_file', { path: 'long.txt' }, { label: 'a long file' }),
    call('read_text_file', { path: 'none.txt' }, { label: 'no file' }),
    call('read_text_file', { path: '/etc/passwd' }, { label: 'a file outside' }),
    call('read_media_file', { path: 'dot.png' }),
    call('read_multiple_files', { paths: ['a.txt', 'none.txt', 'b.json'] }),
    call('list_directory', { path: '.' }),
    call('list_directory_with_sizes', { path: '.' }),
    call('directory_tree', { path: '.' }),
    call('search_files', { path: '.', pattern: '**/*.md' }),
    call('get_file_info', { path: 'a.txt' }, { steady: json => json.replace(/(created|accessed|modified): [^\\]*/g, '$1: TIME') }),
    call('write_file', { path: 'new.txt', content: 'x\ny\n' }),
    call('edit_file', { path: 'new.txt', edits: [{ oldText: 'x', newText: 'z' }] }),
    call('edit_file', { path: 'new.txt', edits: [{ oldText: 'not there', newText: 'z' }] }, { label: 'an edit that fits nowhere' }),
    call('create_directory', { path: 'deep/er' }),
    call('move_file', { source: 'new.txt', destination: 'deep/er/new.txt' }),
  ],
};

export const memory = {
  name: 'memory',
  args: () => [bin('@modelcontextprotocol/server-memory', 'mcp-server-memory')],
  env: work => ({ MEMORY_FILE_PATH: join(work, 'memory.jsonl') }),
  calls: [
    call('create_entities', { entities: [{ name: 'weir', entityType: 'wall', observations: ['holds a river', '水'] }, { name: 'river', entityType: 'water', observations: [] }] }),
    call('create_relations', { relations: [{ from: 'weir', to: 'river', relationType: 'holds' }] }),
    call('add_observations', { observations: [{ entityName: 'river', contents: ['flows'] }] }),
    call('add_observations', { observations: [{ entityName: 'none', contents: ['x'] }] }, { label: 'an error of the tool' }),
    call('read_graph'),
    call('search_nodes', { query: 'river' }),
    call('open_nodes', { names: ['weir'] }),
    call('delete_observations', { deletions: [{ entityName: 'river', observations: ['flows'] }] }),
    call('delete_relations', { relations: [{ from: 'weir', to: 'river', relationType: 'holds' }] }),
    call('delete_entities', { entityNames: ['weir'] }),
  ],
};

export const sequential = {
  name: 'sequential-thinking',
  args: () => [bin('@modelcontextprotocol/server-sequential-thinking', 'mcp-server-sequential-thinking')],
  calls: [
    call('sequentialthinking', { thought: 'first', nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 2 }),
    call('sequentialthinking', { thought: 'second', nextThoughtNeeded: 'false', thoughtNumber: '2', totalThoughts: 2 }, { label: 'arguments of another type' }),
  ],
};

export const notion = {
  name: 'notion',
  args: () => [bin('@notionhq/notion-mcp-server', 'notion-mcp-server')],
  env: () => ({ NOTION_TOKEN: 'ntn_none' }),
  calls: [
    call('API-get-self'),
    call('API-post-search', { query: 'x' }),
  ],
};

export const playwright = {
  name: 'playwright',
  args: () => [bin('@playwright/mcp', 'playwright-mcp'), '--headless', '--executable-path', '/none/chrome'],
  calls: [
    call('browser_tabs', { action: 'list' }),
    call('browser_navigate', { url: 'http://127.0.0.1:9/' }),
  ],
};

export const context7 = {
  name: 'context7',
  args: () => [bin('@upstash/context7-mcp', 'context7-mcp')],
  calls: [
    call('resolve-library-id', { query: 'how to route', libraryName: 'express' }),
  ],
};

export const tavily = {
  name: 'tavily-mcp',
  args: () => [bin('tavily-mcp', 'tavily-mcp')],
  env: () => ({ TAVILY_API_KEY: 'tvly-none' }),
  calls: [
    call('tavily_search', { query: 'x' }),
  ],
};

export const firecrawl = {
  name: 'firecrawl',
  args: () => [bin('firecrawl-mcp', 'firecrawl-mcp')],
  env: () => ({ FIRECRAWL_API_KEY: 'fc-none', FIRECRAWL_API_URL: 'http://127.0.0.1:9' }),
  calls: [
    call('firecrawl_scrape', { url: 'https://example.com' }),
  ],
};

export const commander = {
  name: 'desktop-commander',
  args: () => [bin('@wonderwhy-er/desktop-commander', 'desktop-commander'), '--no-onboarding'],
  setup: work => files(work, texts),
  calls: [
    call('get_config', {}, { steady: config }),
    call('read_file', { path: 'WORK/a.txt' }),
    call('read_file', { path: 'WORK/dot.png' }, { label: 'an image' }),
    call('read_file', { path: 'WORK/none.txt' }, { label: 'no file' }),
    call('list_directory', { path: 'WORK' }),
    call('write_file', { path: 'WORK/new.txt', content: 'x\ny\n', mode: 'rewrite' }),
    call('edit_block', { file_path: 'WORK/new.txt', old_string: 'x', new_string: 'z' }),
    call('start_process', { command: 'printf "one\\ntwo\\n"', timeout_ms: 5000 }, { steady: json => json.replace(/PID \d+/g, 'PID') }),
  ],
};

// config takes what differs from one start to the next out of desktop-commander's configuration.
function config(json) {
  const result = JSON.parse(json);
  for (const c of result.content) {
    c.text = c.text?.replace(/"(clientId|name|version|pid|rss|heapTotal|heapUsed|external|arrayBuffers)": .*/g, '"$1"');
  }
  const { config } = result.structuredContent;
  delete config.clientId;
  delete config.currentClient;
  delete config.systemInfo.processInfo;
  delete config.systemInfo.memory;
  return JSON.stringify(result);
}

export const devtools = {
  name: 'chrome-devtools',
  args: () => [bin('chrome-devtools-mcp', 'chrome-devtools-mcp'), '--headless', '--executablePath', '/none/chrome', '--usageStatistics', 'false'],
  calls: [
    call('list_pages'),
    call('navigate_page', { pageId: 1, url: 'http://127.0.0.1:9/' }),
  ],
};
