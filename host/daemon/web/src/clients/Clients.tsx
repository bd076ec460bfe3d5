// How other programs reach weir: what to copy into their files, and who is connected.
import { useSignal } from "@preact/signals";
import type { MCPClients, MCPConfig, MCPConfigs, ModelList } from "../api";
import { getJSON, told } from "../core/daemon";
import { shortly } from "../core/format";
import { family, lang, t } from "../core/words";
import { nameOf } from "../account/Account";
import { Button } from "../parts/Button";
import { Copy } from "../parts/Copy";
import { Choice } from "../parts/Field";
import { Foreign } from "../parts/Foreign";
import { ProblemBox } from "../parts/Problem";
import { Table } from "../parts/Table";
import { useAsked, useEvery } from "../parts/use";
import { examples } from "./openai";

// The names by which people know the clients.
const names: Record<string, string> = { "claude-desktop": "Claude Desktop", "claude-code": "Claude Code", cursor: "Cursor", vscode: "VS Code", zed: "Zed" };
const often = 5000; // milliseconds between two looks at who is connected
const hidden = "TOKEN";

export function Clients() {
  const open = useSignal(false);
  const { data, problem } = useAsked(() => getJSON<MCPConfigs>(open.value ? "api/mcp/config?token=true" : "api/mcp/config"), [open.value, lang.value]);
  const token = /Bearer ([^"\s]+)/.exec(JSON.stringify(data?.clients || []))?.[1] || hidden;
  const secret = (
    <p class="row note">
      <span>{t(open.value ? "tokenShown" : "tokenHidden")}</span>
      <Button aria-pressed={open.value} onClick={() => { open.value = !open.value; }}>{t(open.value ? "hideToken" : "showToken")}</Button>
    </p>
  );
  return (
    <main class="page clients">
      <h1>{t("view_clients")}</h1>
      <p class="note">{t("clientsHelp")}</p>
      {problem && problem.code !== "unreachable" && <ProblemBox alert message={told(problem)} />}
      {data && <Tools clients={data.clients || []} secret={secret} />}
      {data && <Questions token={token} secret={secret} />}
      <Connected />
    </main>
  );
}

// Tools is the set-up of programs that speak MCP.
function Tools({ clients, secret }: { clients: MCPConfig[]; secret: preact.ComponentChild }) {
  const name = useSignal(clients[0]?.client || ""), way = useSignal("stdio");
  const c = clients.find((x) => x.client === name.value) || clients[0];
  if (!c) return null;
  const http = Boolean(c.http), by = http ? way.value : "stdio", entry = JSON.stringify(by === "http" ? c.http : c.stdio, null, 2);
  return (
    <section aria-labelledby="for-tools">
      <h2 id="for-tools">{t("clientsMCP")}</h2>
      <p class="note">{t("clientsMCPHelp")}</p>
      <Tabs label={t("col_program")} all={clients.map((x) => [x.client, names[x.client] || x.client])} value={c.client} set={(v) => { name.value = v; }} />
      <div class="set-up">
        {http && <Choice label={t("clientWay")} value={by} onChange={(e) => { way.value = e.currentTarget.value; }} options={["stdio", "http"].map((w) => ({ value: w, text: family(`way_${w}`) }))} />}
        {c.file && <p>{t("clientFile")} <code>{c.file}</code></p>}
        <Block text={entry} label={t("copyEntry")} />
        {by === "http" && secret}
        {by === "stdio" && <><p class="note">{t("clientThere")}</p><Block text={c.command} label={t("copyCommand")} /></>}
        {c.after && <p class="note"><Foreign text={t("clientAfter", { what: c.after })} /></p>}
      </div>
    </section>
  );
}

// Questions is the set-up of programs that speak OpenAI's protocol.
function Questions({ token, secret }: { token: string; secret: preact.ComponentChild }) {
  const name = useSignal("python"), models = useAsked(() => getJSON<ModelList>("v1/models"), []).data?.data || [];
  const base = `${location.origin}/v1`, one = examples.find((x) => x.name === name.value)!;
  return (
    <section aria-labelledby="for-questions">
      <h2 id="for-questions">{t("clientsOpenAI")}</h2>
      <p class="note">{t("clientsOpenAIHelp")}</p>
      <Tabs label={t("col_program")} all={examples.map((x) => [x.name, x.title || t("shell")])} value={name.value} set={(v) => { name.value = v; }} />
      <div class="set-up">
        <Block text={one.text(base, token, lang.value)} label={t("copyCode")} />
        {secret}
        {models.length > 0 && <p>{t("modelOf")}: {models.map((m) => <><code key={m.id}>{m.id}</code> </>)}</p>}
        <p class="note">{t("modelOfHelp")}</p>
      </div>
    </section>
  );
}

function Connected() {
  const { data, again } = useAsked(() => getJSON<MCPClients>("api/mcp/clients"), []);
  useEvery(often, again);
  const all = data?.clients || [];
  return (
    <section aria-labelledby="connected">
      <h2 id="connected">{t("connected")}</h2>
      {data && !all.length && <p class="note">{t("connectedNone")}</p>}
      {all.length > 0 && (
        <Table label={t("connected")} head={["program", "user", "way", "since", "last"].map((k) => family(`col_${k}`))}
          rows={all.map((c) => [<><Foreign text={c.name || t("clientNameless")} /> <small><Foreign text={c.version} /></small></>, nameOf(c.principal), c.transport === "stdio" ? "weir mcp" : "HTTP", shortly(c.began_at), shortly(c.last_at)])} />
      )}
    </section>
  );
}

// Tabs chooses one of a few by buttons side by side.
export function Tabs({ label, all, value, set }: { label: string; all: [string, string][]; value: string; set: (v: string) => void }) {
  return <div class="row tabs" role="group" aria-label={label}>{all.map(([v, text]) => <Button key={v} aria-pressed={v === value} onClick={() => set(v)}>{text}</Button>)}</div>;
}

// Block is a text to copy.
export function Block({ text, label }: { text: string; label: string }) {
  return <div class="block"><pre tabIndex={0}>{text}</pre><Copy of={() => text} label={label} /></div>;
}
