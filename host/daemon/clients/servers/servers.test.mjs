// More servers from npm, directly and behind `weir mcp`: see ../servers.test.mjs.
import { judge } from '../judged.mjs';
import * as servers from '../servers.mjs';

judge(...Object.values(servers));
