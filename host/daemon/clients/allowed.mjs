// What differs behind weir, and why: the list of docs/mcp.md, "What comes through of other
// servers", as the tests hold it. An entry that covers no difference any more fails, too.
const gone = (direct, weir) => weir === undefined;
const added = direct => direct === undefined;

const same = ['everything', 'http', 'remote']; // one server in three ways

export const allowed = [
  // What weir adds.
  { at: 'tools/*/_meta', if: (direct, weir) => added(direct) && Object.keys(weir).join() === 'anthropic/maxResultSizeChars', sometimes: true, why: 'the limit in force' },
  { at: 'tools/*/_meta/anthropic~1maxResultSizeChars', if: added, sometimes: true, why: 'the limit in force' },
  { at: 'calls/*/result/_meta', if: (direct, weir) => added(direct) && Object.keys(weir).every(k => k === 'weir/archive' || k === 'weir/error'), sometimes: true, why: 'the uuid of the whole; code and hint of an error' },
  { at: 'calls/a long file/cut', of: ['filesystem'], why: 'a result over the limit is cut, and the whole is in the archive' },
  { at: 'calls/*/error', of: ['notion'], if: gone, why: 'an error of the protocol is one that the model reads' },
  { at: 'calls/*/result', of: ['notion'], if: (direct, weir) => added(direct) && weir.isError, why: 'an error of the protocol is one that the model reads' },
  { at: 'calls/*/received/0/progress', sometimes: true, if: (direct, weir) => weir, why: 'weir always asks for progress: a call that reports some has more time' },
  { at: 'prefix', of: ['sequential-thinking', 'tavily-mcp', 'desktop-commander', 'chrome-devtools'], if: (direct, weir) => weir === direct.replaceAll('-', '_'), why: 'the name of a server has _ for -' },

  // What weir does not offer.
  { at: 'tools/get-roots-list', of: same, if: gone, why: 'weir has no roots' },
  { at: 'tools/trigger-elicitation-request', of: same, if: gone, why: 'a server cannot ask a person' },
  { at: 'tools/trigger-sampling-request', of: same, if: gone, why: 'a server cannot ask a model' },
  { at: 'tools/simulate-research-query', of: same, if: gone, why: 'a tool that runs only as a task cannot be called' },
  { at: 'calls/a tool of tasks alone/**', of: same, why: 'a tool that runs only as a task cannot be called' },
  { at: 'prompts/*', of: same, if: gone, why: 'prompts of a server are not passed on' },
  { at: 'resources/*', of: [...same, 'memory', 'desktop-commander'], if: gone, why: 'resources of a server are not passed on' },
  { at: 'instructions', of: [...same, 'context7', 'firecrawl'], why: 'instructions of a server are in describe_tool, not in every prompt' },

  // Arguments are checked before the server is asked.
  { at: 'calls/a missing argument/**', of: same, why: 'weir itself refuses arguments that do not fit' },
  { at: 'calls/a wrong argument/**', of: same, why: 'weir itself refuses arguments that do not fit' },
  { at: 'calls/arguments of another type/**', of: ['sequential-thinking'], why: 'weir itself refuses arguments that do not fit' },
  { at: 'calls/an unknown tool/*', of: same, why: 'weir itself refuses a tool that the server does not have' },
];
