// Stands before a server of the Model Context Protocol, and records what that is sent:
// node recorder.mjs LOG ARGUMENTS-OF-NODE…
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync } from 'node:fs';

const [log, ...args] = process.argv.slice(2);
const server = spawn(process.execPath, args, { stdio: ['pipe', 'inherit', 'inherit'] });
process.stdin.on('data', data => {
  if (existsSync(log)) {
    appendFileSync(log, data);
  }
  server.stdin.write(data);
});
process.stdin.on('end', () => server.stdin.end());
server.stdin.on('error', () => {}); // it has ended
process.on('SIGTERM', () => server.kill('SIGTERM'));
server.on('exit', code => process.exit(code ?? 1));
