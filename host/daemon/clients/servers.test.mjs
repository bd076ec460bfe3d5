// Servers of the Model Context Protocol from npm, unmodified, directly and behind `weir mcp`:
// nothing that they say is lost but what allowed.mjs names. `make test-servers` tries more.
import { judge } from './judged.mjs';
import { everything, filesystem } from './servers.mjs';

judge(everything, filesystem);
