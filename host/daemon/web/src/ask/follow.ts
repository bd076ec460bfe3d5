// Reads the stream of an answer into its turn.
import type { Problem as Told } from "../api";
import { Problem } from "../core/daemon";
import { num, seconds } from "../core/format";
import { cutShort, hear, say, tell } from "../core/speech";
import type { All, Stream } from "../core/stream.js";
import { t } from "../core/words";
import { loads } from "../results/loads";
import type { Conversation } from "./state";
import { type Call, ofEvent, set, settle, sumsOf, type Turn } from "./turn";

// At has what a handler works on.
interface At { c: Conversation; turn: Turn; began: (id: string) => void }

type Handlers = { [K in keyof All]: (at: At, d: All[K]) => void };

const reconnectLate = 300; // milliseconds after which a lost connection is said

const handlers: Partial<Handlers> & Pick<Handlers, "chat.start" | "chat.end"> = {
  "chat.start"({ c, turn, began }, d) {
    c.start.value = d;
    turn.number = d.turn;
    turn.speaks(d.locale);
    loads.clear(c.id);
    began(d.conversation_id);
    turn.wait(() => t("wait_model"), Date.parse(d.began_at));
  },
  "message.delta"({ turn }, d) { turn.wait(() => t("wait_rest")); turn.write("text", d.text); hear(d.text); },
  "reasoning.delta"({ turn }, d) { turn.wait(() => t("wait_thought")); turn.write("thought", d.text); },
  "tool_call.start"({ turn }, d) {
    turn.begin(d.id, d.tool, d.arguments);
    turn.wait(() => t("wait_tool", { tool: d.tool }));
  },
  "tool_call.result"({ turn }, d) {
    settle(turn.call(d.id) || turn.begin(d.id, d.tool), ofEvent(d));
    waitNext(turn);
    tell(`${d.tool}: ${d.error ? d.error.message : d.shown < d.produced ? t("through", { shown: num(d.shown), produced: num(d.produced) }) : t("wholeOf", { n: num(d.produced) })}`);
  },
  "tool_call.progress"({ turn }, d) {
    const call = turn.call(d.id);
    if (call?.state.value.status === "running") set(call, { progress: { done: d.done, total: d.total || 0, message: d.message || "" } });
  },
  "tool_call.truncated"() {}, // the result has it
  "tool_call.archived"({ turn }, d) {
    const call = turn.call(d.id), result = call?.state.value.result;
    if (call && result && !result.uuid) set(call, { result: { ...result, uuid: d.uuid } });
  },
  "tool_call.malformed"({ turn }, d) { turn.remark({ malformed: d.reason }); },
  "approval.asked"({ turn }, d) {
    const call = turn.call(d.call_id) || turn.begin(d.call_id, d.tool);
    set(call, { status: "waits", approval: { approval: d, answer: "", left: 0 } });
    turn.wait(() => t("wait_person"));
    tell(t("leave", { tool: d.tool }));
  },
  "approval.waiting"({ turn }, d) {
    const call = turn.call(d.call_id), asked = call?.state.value.approval;
    if (call && asked) set(call, { approval: { ...asked, left: d.seconds_left } });
  },
  "approval.answered"({ turn }, d) {
    const call = turn.call(d.call_id);
    if (call) answered(call, d.only?.length ? "some" : d.answer);
    waitNext(turn);
  },
  "model.repeated"({ turn }, d) { turn.wait(() => t("repeated", { message: d.message, seconds: seconds(d.wait_ms) })); },
  "model.probing"({ turn }, d) { turn.wait(() => t("probing", { model: d.model })); },
  "model.switched"({ c, turn }, d) {
    if (c.start.value) c.start.value = { ...c.start.value, model: d.to, mode: d.mode, simulated: d.simulated, window: d.window, limit: d.limit, why: d.why };
    turn.remark({ failing: d.from, answering: d.to });
    turn.wait(() => t("wait_model"));
  },
  "model.passed"() {}, // the trace has it
  "mode.switched"({ turn }, d) { turn.remark(d); },
  "context.folded"({ c }, d) {
    for (const r of d.results || []) {
      const call = c.turns.value.find((x) => x.number === r.turn)?.call(r.call_id), result = call?.state.value.result;
      if (result) set(call, { folded: true, result: { ...result, text: r.text } });
    }
  },
  "context.recalled"({ turn }, d) {
    if (d.uuids?.length) turn.remark({ recalled: d.uuids.length, loaded: d.loaded });
  },
  "plan"({ turn }, d) { turn.remark({ plan: d.steps }); },
  "budget"({ c }, d) { c.budget.value = d; },
  "error"({ turn }, d) { turn.add({ kind: "problem", problem: d, again: true }); },
  "chat.missed"({ turn }, d) {
    // The whole text takes the place of its pieces: what came between them is gone.
    turn.parts.value = turn.parts.value.filter((p) => p.kind !== "text");
    if (d.events) { // none are missed when another daemon goes on with the answer
      turn.note(() => t("missed", { n: num(d.events) }));
      cutShort(t("missed", { n: num(d.events) }));
    }
    if (d.text) turn.write("text", d.text);
  },
  "chat.end"({ c, turn }, d) {
    for (const r of d.results || []) { // results that were missed
      const call = turn.call(r.id) || turn.begin(r.id, r.tool);
      if (!call.state.value.result) settle(call, ofEvent(r));
    }
    if (d.unsaved) turn.note(() => t("unsaved"));
    turn.sources.value = d.sources || [];
    turn.sums.value = sumsOf(d, d.model || c.start.value?.model || "");
  },
  "stream.lost"({ turn }) {
    lostSince = Date.now();
    setTimeout(() => { if (lostSince && Date.now() - lostSince >= reconnectLate) { turn.lost.value = true; tell(t("reconnecting")); } }, reconnectLate);
  },
  "stream.back"({ turn }) { lostSince = 0; turn.lost.value = false; },
};

let lostSince = 0;

// waitNext says what is waited for after a call: another one that runs, or the model.
function waitNext(turn: Turn): void {
  const runs = turn.calls().find((call) => call.state.value.status === "running");
  turn.wait(runs ? () => t("wait_tool", { tool: runs.tool }) : () => t("wait_model"));
}

// answered says on a call what a person answered. The call may ask again by then: id is
// what was answered, empty for whatever is asked.
export function answered(call: Call, answer: string, id = ""): void {
  const { approval, status } = call.state.value;
  if (!approval || approval.answer || id && id !== approval.approval.id) return;
  set(call, { approval: { ...approval, answer }, status: status === "waits" ? "running" : status });
}

// follow reads an answer to its end, and returns whether it began. began is called with
// the id of its conversation.
export async function follow(c: Conversation, turn: Turn, stream: Stream, body: object | null, began: (id: string) => void): Promise<boolean> {
  let begun = false, ended = false;
  turn.waits.value = { say: () => t("wait_connecting"), since: Date.now() };
  const fail = (problem: Told | Problem | (() => string)) => turn.add({ kind: "problem", problem, again: true });
  try {
    for await (const [name, data] of stream.read(body)) {
      if (name === "chat.start") begun = true;
      if (name === "chat.end") ended = true;
      (handlers[name] as ((at: At, d: unknown) => void) | undefined)?.({ c, turn, began }, data);
    }
    if (!ended) fail(() => t("broken"));
  } catch (err) {
    if ((err as Error).name === "AbortError") turn.note(() => t("stopped"));
    else if ((err as Problem).code === "no_stream" || (err as Problem).code === "no_turn") fail(() => t("restarted"));
    else fail(err instanceof Problem ? err : () => t("broken"));
  }
  turn.waits.value = null;
  turn.lost.value = false;
  lostSince = 0;
  for (const call of turn.calls()) {
    answered(call, "gone");
    if (["running", "waits"].includes(call.state.value.status)) set(call, { status: "unfinished" });
  }
  say();
  return begun;
}
