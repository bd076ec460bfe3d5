// Scripts: programs of models and people that call tools, how far each is, and the answers
// that they wait for.
import { useState } from "preact/hooks";
import type { ScriptList, ScriptRun, ScriptSummary } from "../api";
import { getJSON, send, told } from "../core/daemon";
import { json, moment, num, shown, size, took } from "../core/format";
import { route, to } from "../core/route";
import { family, t } from "../core/words";
import { Button } from "../parts/Button";
import { Foreign } from "../parts/Foreign";
import { ProblemBox } from "../parts/Problem";
import { useAsked, useEvery, useTitle } from "../parts/use";
import { Card } from "./Card";

const every = 3000; // milliseconds between two looks at what changes

export function Scripts() {
  const { parts } = route.value;
  return <main class="page">{parts[0] ? <One key={parts[0]} id={parts[0]} /> : <All />}</main>;
}

function All() {
  const { data, problem, again } = useAsked(() => getJSON<ScriptList>("api/scripts"), []);
  useEvery(every, again);
  return (
    <>
      <h1>{t("view_scripts")}</h1>
      <p class="note">{t("scriptsHelp")}</p>
      {problem && <ProblemBox alert message={told(problem)} />}
      {data && !data.scripts?.length && <p class="note">{t("noScripts")}</p>}
      <ul class="results">{(data?.scripts || []).map((s) => <li key={s.id}><Head s={s} /></li>)}</ul>
    </>
  );
}

function Head({ s }: { s: ScriptSummary }) {
  return (
    <a href={to("scripts", [s.id])}>
      <span class="first"><code>{shown(s.line).slice(0, 160)}</code></span>
      <span class={`size ${s.state === "failed" ? "bad" : ""}`}>{family(`script_${s.state}`)}</span>
      <span class="sum">{t("callsOnly", { n: num(s.calls) })}{s.waiting > 0 && ` · ${t("scriptWaits", { n: num(s.waiting) })}`}</span>
      <small>{moment(s.created_at)}</small>
    </a>
  );
}

function One({ id }: { id: string }) {
  const address = `api/scripts/${encodeURIComponent(id)}`, [trouble, setTrouble] = useState("");
  const { data: s, problem, again } = useAsked(() => getJSON<ScriptRun>(address), []);
  useTitle(s ? t("scriptOf", { time: moment(s.created_at) }) : "");
  const under = s?.state === "running" || s?.state === "waiting";
  useEvery(every, () => { if (under) again(); });
  if (problem) return <ProblemBox alert message={told(problem)} />;
  if (!s) return <p class="note">{t("loading")}</p>;
  const act = (what: string, body?: unknown) => send("POST", `${address}/${what}`, body).then(() => { setTrouble(""); again(); }, (err) => { setTrouble(told(err)); again(); });
  return (
    <>
      <p class="back always"><a href={to("scripts")}>{t("allScripts")}</a></p>
      <header class="row">
        <h1>{t("scriptOf", { time: moment(s.created_at) })}</h1>
        <span class="space" />
        {under && <Button kind="danger" onClick={() => act("cancel")}>{t("scriptCancel")}</Button>}
      </header>
      <p class="chips">
        <span class={s.state === "failed" ? "bad" : ""} aria-live="polite">{family(`script_${s.state}`)}</span><span>{t("callsOnly", { n: num(s.calls) })}</span>
        {s.stored_bytes > 0 && <span>{t("scriptStored", { size: size(s.stored_bytes) })}</span>}
        {s.conversation_id && <a href={to("ask", [s.conversation_id])}>{t("itsTalk")}</a>}
      </p>
      {trouble && <ProblemBox alert message={trouble} />}
      {(s.card?.length || 0) > 0 && <Card key={s.card!.map((q) => q.key).join()} card={s.card!} answer={(body) => act("resume", body)} />}
      {s.result && <Result s={s} />}
      <section aria-labelledby="source">
        <h2 id="source">{t("scriptSource")}</h2>
        <pre class="source" tabIndex={0} aria-labelledby="source">{shown(s.source)}</pre>
        {s.arguments !== undefined && s.arguments !== null && <details><summary>{t("args")}</summary><pre>{shown(json(s.arguments, 2))}</pre></details>}
      </section>
      {(s.made?.length || 0) > 0 && <Made s={s} />}
      {(s.logged?.length || 0) > 0 && <section><h2>{t("scriptLogged")}</h2><pre tabIndex={0}>{shown(s.logged!.join("\n"))}</pre></section>}
    </>
  );
}

// Result is what the script returned, as it was cut, or why it failed.
function Result({ s }: { s: ScriptRun }) {
  const r = s.result!, uuid = r.kept_uuid;
  return (
    <section aria-labelledby="answer">
      <h2 id="answer">{t("scriptAnswer")}</h2>
      {r.error ? <ProblemBox message={r.error.message} hint={r.error.hint} /> : <pre tabIndex={0} aria-labelledby="answer">{shown(r.text)}</pre>}
      {uuid && <p><a href={to("results", [uuid])}>{t("openOf", { tool: r.tool })}</a></p>}
    </section>
  );
}

// Made lists the calls, in the order in which the script made them.
function Made({ s }: { s: ScriptRun }) {
  return (
    <section>
      <h2>{t("scriptCalls")}</h2>
      <ol class="made">
        {s.made!.map((c, i) => (
          <li key={i}>
            <span><Foreign text={c.brief || c.tool} max={200} /></span>
            <span class="about">{c.code && c.code !== "ok" ? <span class="bad"><code>{c.code}</code></span> : t("nCharacters", { n: num(c.produced) })} · {took(c.elapsed_ms)}{c.uuid && <> · <a href={to("results", [c.uuid])} aria-label={t("openOf", { tool: c.tool })}>{t("openIt")}</a></>}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
