// Each component in the states that it can be in, for whoever changes it and for tests.
import type { ComponentChildren } from "preact";
import { useSignal } from "@preact/signals";
import type { Approval, ModelStep, ModelTested, Trace } from "../api";
import { ApprovalBox } from "../ask/Approval";
import { CallCard } from "../ask/CallCard";
import { type CallState, type Result, Turn } from "../ask/turn";
import { Steps } from "../models/TestModel";
import { Button } from "../parts/Button";
import { CutMap } from "../parts/CutMap";
import { Choice, Field, Tick } from "../parts/Field";
import { Foreign } from "../parts/Foreign";
import { Blocks, Markdown } from "../parts/Markdown";
import { Legend, Stack } from "../parts/Parts";
import { ProblemBox } from "../parts/Problem";
import { Table } from "../parts/Table";
import { Card } from "../scripts/Card";
import { Diff } from "../settings/Save";
import { Timeline } from "../traces/Timeline";

const gaps = [{ first: 30, last: 180, lines: 151, chars: 9000 }, { first: 183, last: 360, lines: 178, chars: 11000 }];

const result: Result = {
  ok: true, produced: 26000, shown: 6000, lines: 400, linesShown: 71, gaps, layer: "agent", limit: 6000, unit: "characters", uuid: "01a2", files: [], loaded: false, unkept: false,
  summarized: false, summaryModel: "", ms: 412, kept: [181], text: "line 1", then: async () => ({ text: "line 1", kept: [{ line: 181, by: "panic", text: "panic: closed", times: 1 }] }),
};

const whole: Result = { ...result, produced: 64, shown: 64, lines: 1, linesShown: 1, gaps: [], layer: "", limit: 0, uuid: "", kept: [], ms: 1 };

const approval: Approval = {
  id: "a", conversation_id: "c", call_id: "1", tool: "http_request", arguments: '{\n  "url": "api.example"\n}', why: "POST api.example", always: "http_request, api.example",
  asked_at: "2026-01-01T00:00:00Z", expires_at: "2026-01-01T00:05:00Z",
};

const card: Approval = {
  ...approval, id: "b", tool: "write_file", left_out: 20, script: "return 1", calls: [
    { number: 2, tool: "write_file", arguments: '{"path": "a.txt", "text": "@result:01a2"}', from: { text: "lines 3–40 of read_file(notes.txt)" } },
    { number: 4, tool: "write_file", arguments: '{\n  "path": "b.t\n[…]\n"}', left_out: 20 },
  ],
};

const states: [string, CallState][] = [
  ["running", { status: "running" }], ["progress", { status: "running", progress: { done: 3, total: 12, message: "page 3" } }], ["waits", { status: "waits", approval: { approval, answer: "", left: 0 } }],
  ["whole", { status: "done", result: whole }], ["cut", { status: "done", result }], ["folded", { status: "done", result, folded: true }], ["loaded", { status: "done", result: { ...result, loaded: true } }],
  ["not archived", { status: "done", result: { ...result, uuid: "", unkept: true } }], ["summarised", { status: "done", result: { ...result, layer: "", summarized: true, summaryModel: "small" } }],
  ["failed", { status: "failed", result: { ...whole, ok: false, produced: 0, error: { message: "file not found", hint: "check the path" } } }], ["unfinished", { status: "unfinished" }],
];

const sample = "## Heading\n\nSome *emphasis*, `code` and [a link](mailto:ann@example.com).\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n\n- one\n- two\n\n> quoted\n\n```go\nx := 1\n```\n";

const call = { id: "1", arguments: { n: 1 }, ok: true, elapsed_ms: 700, produced: 26000, shown: 12000, line: "", layer: "agent", limit: 12000, kept_uuid: "01a2" };

// trace has every kind of row.
const trace = {
  elapsed_ms: 5000, rounds: [
    { round: 1, at_ms: 0, first_ms: 400, elapsed_ms: 900, folded_chars: 9000, malformed: [{ tool: "calc", reason: "bad_json", format: "tags", note: "write JSON" }, { tool: "", reason: "no_name", format: "tags", note: "" }],
      calls: [{ ...call, tool: "run_script", waited_ms: 1200, calls: [{ tool: "grep", elapsed_ms: 10, produced: 500, uuid: "01a2" }, { tool: "fetch", code: "denied", elapsed_ms: 1, produced: 0 }] }, { ...call, tool: "load", loaded_uuid: "01a2", layer: undefined }, { ...call, tool: "broken", ok: false, error: "failed" }] },
    { round: 2, at_ms: 3000, first_ms: 0, elapsed_ms: 1500, error: "model_down" },
  ],
} as unknown as Trace;

const asked = [
  { number: 1, key: "1-0", tool: "http_request", plugin: "http_request", why: "POST api.example", arguments: { url: "api.example", body: "@result:01a2" }, sources: [{ argument: "body", from: "lines 3–40 of read_file(notes.txt)", uuid: "01a2" }] },
  { number: 2, key: "2-0", tool: "write_file", why: "[approvals] 1", arguments: { path: "a.txt", times: 3 } },
];

const steps = [{ name: "describe", ok: true, elapsed_ms: 12 }, { name: "question", ok: true, elapsed_ms: 812, first_token_ms: 300 }, { name: "tools", ok: false, elapsed_ms: 90, message: "no call", hint: "as text" }] as ModelStep[];
const tested = { name: "small", ok: true, native_tools: false, window: 8192, reply: "ready" } as ModelTested;

export function Gallery() {
  const ticked = useSignal(true);
  return (
    <main class="page">
      <h1 lang="en">Components</h1>
      <Part name="Button"><div class="row"><Button kind="main">main</Button><Button>quiet</Button><Button kind="danger">danger</Button><Button kind="bare">bare</Button><Button disabled>disabled</Button><Button aria-pressed>pressed</Button></div></Part>
      <Part name="Field, Tick, Choice"><div class="row"><Field label="label" value="text" help="help" /><Tick label="tick" checked={ticked.value} onChange={(e) => { ticked.value = e.currentTarget.checked; }} /><Choice label="choice" options={[{ value: "a", text: "a" }]} /></div></Part>
      <Part name="CutMap">
        <CutMap cut={{ produced: 26000, shown: 6000, lines: 400, gaps, kept: [181] }} />
        <CutMap cut={{ produced: 26000, shown: 6000, lines: 1, gaps: [{ first: 0, last: 0, lines: 0, chars: 20000 }] }} />
        <CutMap cut={{ produced: 26000, shown: 6000, lines: 400, gaps, unkept: true }} hits={[90, 91, 250]} />
        <CutMap small cut={{ produced: 100, shown: 100, lines: 3 }} />
      </Part>
      <Part name="Stack, Legend"><Stack label="window" whole={100} pieces={pieces} /><Legend pieces={pieces} /></Part>
      <Part name="ProblemBox"><ProblemBox message="What is wrong" hint="what to do"><Button>a way on</Button></ProblemBox></Part>
      <Part name="Foreign"><p><Foreign text={"hidden \u202e\u200b characters"} /> · <Foreign own text="its own words" /></p></Part>
      <Part name="Table of figures"><Table label="figures" head={["name", "n"]} numbers={[1]} rows={[["a", "1"], ["b", "22"]]} /></Part>
      <Part name="Timeline"><Timeline x={trace} /></Part>
      <Part name="Card"><Card card={asked} answer={async () => {}} /></Part>
      <Part name="Steps"><Steps steps={steps} tested={tested} /><Steps steps={steps.slice(0, 1)} tested={null} /><Steps steps={[]} tested={{ ...tested, ok: false }} /></Part>
      <Part name="Diff"><Diff text={"-max_chars = 8000\n+max_chars = 6000"} /></Part>
      <Part name="Markdown"><Markdown blocks={new Blocks().of(sample)} /></Part>
      <Part name="ApprovalBox"><ApprovalBox approval={approval} answer="" left={42} done={() => {}} /><ApprovalBox approval={card} answer="" left={0} done={() => {}} /><ApprovalBox approval={approval} answer="deny" left={0} done={() => {}} /></Part>
      {calls.map((call) => <Part key={call.id} name={`CallCard, ${call.id}`}><CallCard conversation="c" call={call} /></Part>)}
    </main>
  );
}

const pieces = [{ name: "system", n: 12, kind: "p-system" }, { name: "tools", n: 20, kind: "p-tools" }, { name: "history", n: 8, kind: "p-history" }, { name: "question", n: 4, kind: "p-question" }, { name: "results", n: 30, kind: "p-results" }, { name: "room", n: 26, kind: "p-room" }];

function callOf(name: string, state: CallState) {
  const call = new Turn("", 1).begin(name, `tool_${name.replace(/\W/g, "_")}`, { pattern: "FAIL|panic" });
  call.state.value = state;
  return call;
}

const calls = states.map(([name, state]) => callOf(name, state));

const Part = ({ name, children }: { name: string; children: ComponentChildren }) => <section aria-label={name}><h2 lang="en">{name}</h2>{children}</section>;
