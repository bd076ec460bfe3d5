// One plugin as a person reviews it: what it asks for, what changes, and what becomes of
// it. Its reasons are marked as its own words.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { PluginAsk, PluginDifference, PluginInfo, PluginLog, PluginReview, PluginVersion, PowerGrant } from "../api";
import { getJSON, later, Problem, send, told } from "../core/daemon";
import { seconds, shown, size, moment } from "../core/format";
import { pulse } from "../core/pulse";
import { to } from "../core/route";
import { family, lang, t } from "../core/words";
import { Button } from "../parts/Button";
import { Foreign } from "../parts/Foreign";
import { useAsked } from "../parts/use";
import { Diff } from "../settings/Save";
import { bound } from "../tools/Tools";
import { Confirm, type Wish } from "./Confirm";

const path = (name: string, what = "") => `api/plugins/${encodeURIComponent(name)}${what}`;
const short = (digest?: string) => (digest || "").slice(0, 12);

// keptOut reports whether a plugin does not run for another reason than that a version waits.
export const keptOut = (p: PluginInfo) => Boolean(p.offer && p.why && p.why !== p.offer.why);

export type Step = { kind: "acts" } | { kind: "confirm" } | { kind: "stops"; message: string; grants: PowerGrant[] } | { kind: "remove" };

export function Review({ name, changed }: { name: string; changed: () => void }) {
  const review = useSignal<PluginReview | null>(null), said = useSignal(""), step = useSignal<Step>({ kind: "acts" });
  // take shows the plugin as an answer tells it, and then says so.
  const take = async (ask: () => Promise<PluginReview>, what: (r: PluginReview) => string): Promise<Problem | null> => {
    try {
      const r = await ask();
      review.value = r;
      step.value = { kind: "acts" };
      said.value = what(r);
      return null;
    } catch (err) {
      const problem = err as Problem;
      said.value = told(problem);
      if (problem.code === "changed") { review.value = await getJSON<PluginReview>(path(name)).catch(() => review.value); step.value = { kind: "acts" }; }
      return problem;
    }
  };
  const load = (): Promise<void> => take(() => getJSON<PluginReview>(path(name)), () => "").then((err) => { if (err) later(err, load); });
  const say = (what: string, text: (r: PluginReview) => string, body: object = {}) => take(() => send<PluginReview>("POST", path(name, `/${what}`), { by: "page", ...body }), text).then((err) => { changed(); return err; });
  useEffect(() => { load(); }, [name]);
  // A newer version is not put below a question that was asked of this one.
  useEffect(() => { if (review.value && step.value.kind === "acts") getJSON<PluginReview>(path(name)).then((r) => { if (step.value.kind === "acts") review.value = r; }, () => {}); }, [pulse.value?.tools, String(pulse.value?.plugins?.waiting)]);

  const approve = async (grants: PowerGrant[], stop = false) => {
    const r = review.value!, digest = (r.waiting || r.serving)!.digest;
    const err = await say("approve", (now) => (now.plugin.state === "ready" ? t("approved") : t("approvedWaits", { why: now.plugin.why || "" })), { digest, grants, ...(stop && { stop }) });
    if (err?.code !== "stops_serving") return;
    said.value = "";
    step.value = { kind: "stops", message: err.message, grants };
  };
  const retry = () => take(async () => { await send("POST", path(name, "/retry")); return getJSON<PluginReview>(path(name)); }, () => t("retried"));
  const remove = async () => {
    try { await send("DELETE", path(name, "?files=remove")); review.value = null; said.value = t("removed", { name }); } catch (err) { said.value = told(err); }
    changed();
  };

  const r = review.value;
  return (
    <article class="review" aria-label={name}>
      <p class="back"><a href={to("plugins")}>{t("allPlugins")}</a></p>
      {r && <Shown r={r} back={(digest) => say("rollback", () => t("wentBack"), { digest })} />}
      <p role="status" class="said">{said.value || (r ? "" : t("loading"))}</p>
      {r && step.value.kind === "acts" && <Acts r={r} step={(s) => { said.value = ""; step.value = s; }} say={say} retry={retry} />}
      {r && step.value.kind === "confirm" && <Confirm r={r} wishes={lacking(r).map(wishOf)} no={() => { step.value = { kind: "acts" }; }} yes={(grants) => approve(grants)} />}
      {r && step.value.kind === "stops" && <Question text={step.value.message} no={t("stay", { version: r.serving?.version || short(r.serving?.digest) })} yes={t("yesStop")} back={() => { step.value = { kind: "acts" }; }} act={() => approve((step.value as { grants: PowerGrant[] }).grants, true)} />}
      {r && step.value.kind === "remove" && <Question text={t("removeAsk", { name })} no={t("keepIt")} yes={t("removeYes")} back={() => { step.value = { kind: "acts" }; }} act={remove} />}
    </article>
  );
}

// lacking lists what a plugin asks for and is not granted.
const lacking = (r: PluginReview): PluginAsk[] => ((r.waiting || r.serving)?.asks || []).filter((a) => !a.granted);
const wishOf = (a: PluginAsk): Wish => ({ ask: a, given: true, folder: ".", only: a.what });

function Shown({ r, back }: { r: PluginReview; back: (digest: string) => void }) {
  const p = r.plugin, v = r.waiting || r.serving, why = p.offer ? family(`cause_${p.offer.cause}`) : p.why, changes = r.changes || [];
  return (
    <>
      <header>
        <h1>{p.name} {v?.version || p.version || ""} <small class={`state ${p.state}`}>{family(`state_${p.state}`)}</small></h1>
        {p.description && <p><Foreign own text={p.description} /> <small>{t("ownWords")}</small></p>}
      </header>
      {r.waiting && r.serving && p.state === "ready" && <p>{t("serves", { version: r.serving.version || short(r.serving.digest) })}</p>}
      {keptOut(p) && <p class="warn"><Foreign text={p.why || ""} /></p>}
      {keptOut(p) && p.fix && <p class="note"><Foreign text={p.fix} /></p>}
      {why && <p class="warn"><Foreign text={why} /></p>}
      {p.offer && p.offer.cause !== "new" && <p class="note"><Foreign text={p.offer.why} /></p>}
      {p.fix && !r.waiting && p.why && <p class="note"><Foreign text={p.fix} /></p>}
      {v && <Powers v={v} changes={changes} />}
      {v?.add && <details><summary>{t("grantHelp")}</summary><pre tabIndex={0}>{grantText(p.name, v.add)}</pre></details>}
      <Changes title="changes" list={changes} />
      <Changes title="view_settings" list={v?.settings || []} />
      {v && <Tools v={v} />}
      {v && <details><summary>{t("files")}</summary><pre tabIndex={0}>{`${p.source}\n${v.file} (${size(v.wasm_bytes)})\ndigest ${v.digest}\nmodule ${v.wasm_sha256}\nmanifest ${v.manifest_sha256}`}</pre></details>}
      <Log key={p.name} name={p.name} />
      {r.history && r.history.length > 0 && (
        <section>
          <h2>{t("history")}</h2>
          <ul class="history">
            {r.history.map((h) => (
              <li key={`${h.at}${h.digest}`}>
                <span>{h.version} <code>{short(h.digest)}</code> · {moment(h.at)} · {h.by}</span>{" "}
                {h.current ? <small>{h.held ? t("heldBack") : t("inForce")}</small> : h.kept && <Button onClick={() => back(h.digest)}>{t("goBack")}</Button>}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

// Log shows the last lines that the log has of the plugin, when it is opened.
function Log({ name }: { name: string }) {
  const open = useSignal(false), { data, problem } = useAsked(async () => (open.value ? (await getJSON<PluginLog>(path(name, "/log"))).lines || [] : null), [open.value, name]);
  return (
    <details onToggle={(e) => { open.value = e.currentTarget.open; }}>
      <summary>{t("pluginLog")}</summary>
      {problem && <p class="warn">{told(problem)}</p>}
      {data && (data.length ? <ul class="history">{data.map((l, i) => <li key={i}><span><small>{moment(l.at)} <code>{l.level}</code></small> <Foreign text={l.text} /></span></li>)}</ul> : <p class="note">{t("pluginLogNone")}</p>)}
    </details>
  );
}

// Powers says what the plugin may then do, in sentences, and what it means together.
function Powers({ v, changes }: { v: PluginVersion; changes: PluginDifference[] }) {
  const asks = v.asks || [], fresh = (a: PluginAsk) => changes.some((c) => c.kind === "power" && c.wider && (c.name || "").endsWith(` ${a.what.split(" ")[0]}`));
  const reads = asks.some((a) => a.kind === "path" || a.kind === "secret"), sends = asks.some((a) => a.kind === "host");
  return (
    <section>
      <h2>{t("powers")}</h2>
      {!asks.length && <p>{t("noPowers")}</p>}
      <ul class="powers">
        {asks.map((a) => (
          <li key={a.kind + a.what} class={fresh(a) ? "fresh" : ""}>
            <span>{family(`can_${a.kind}`)} <code>{a.what}</code> {fresh(a) && <span class="new">{t("newPower")}</span>}</span>
            <small>{a.granted ? t("granted") : t("notGranted")}</small>
            <p>{a.reason ? <Foreign own text={a.reason} /> : t("noReason")}</p>
          </li>
        ))}
      </ul>
      {reads && sends && <p class="warn">{t("together")}</p>}
    </section>
  );
}

function Tools({ v }: { v: PluginVersion }) {
  return (
    <section>
      <h2>{t("view_tools")}</h2>
      <ul class="tool-rows">
        {(v.tools || []).map(({ spec, effective, effect }) => (
          <li key={spec.name}>
            <code>{spec.name}</code> {effect && <small>{family(`effect_${effect}`)}</small>}
            <p><Foreign text={(lang.value === "zh" && spec.description_zh) || spec.description} /></p>
            <small>{bound(effective)} · {t("toolShows", { time: seconds((effective.timeout || 0) / 1e6), memory: effective.memory || "–" })}</small>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Changes({ title, list }: { title: "changes" | "view_settings"; list: PluginDifference[] }) {
  return list.length > 0 && <section><h2>{t(title)}</h2><ul class="changes">{list.map((c, i) => <li key={i}><Change c={c} /></li>)}</ul></section>;
}

function Change({ c }: { c: PluginDifference }) {
  const write = (s: string) => (["module", "manifest"].includes(c.kind) ? short(s) : s);
  return (
    <>
      <strong>{family(`kind_${c.kind}`)} {c.name}</strong>{c.wider && <span class="new">{t("newPower")}</span>}
      {c.lines && <Diff text={shown(c.lines)} />}
      {c.more_lines && <p>… +{c.more_lines}</p>}
      {c.was && <del><Foreign text={write(c.was)} /></del>}
      {c.is && <ins><Foreign text={write(c.is)} /></ins>}
      {c.reason && <p><Foreign own text={c.reason} /></p>}
    </>
  );
}

function Acts({ r, step, say, retry }: { r: PluginReview; step: (s: Step) => void; say: (what: string, text: () => string) => void; retry: () => void }) {
  const p = r.plugin;
  return (
    <div class="row acts-row">
      {(r.waiting || lacking(r).length > 0) && <Button kind="main" onClick={() => step({ kind: "confirm" })}>{t(r.waiting ? "approve" : "grant")}</Button>}
      {p.state === "quarantined" && <Button onClick={retry}>{t("retry")}</Button>}
      {p.state === "disabled" ? <Button onClick={() => say("enable", () => t("enabled"))}>{t("enable")}</Button> : <Button onClick={() => say("disable", () => t("disabledNow"))}>{t("disable")}</Button>}
      <Button class="bad" onClick={() => step({ kind: "remove" })}>{t("remove")}</Button>
    </div>
  );
}

// Question takes the place of the buttons. The answer that changes nothing has the focus.
export function Question({ text, no, yes, back, act }: { text: string; no: string; yes: string; back: () => void; act: () => void }) {
  return (
    <div class="question" role="alert">
      <p><Foreign text={text} /></p>
      <div class="row">
        <Button autofocus ref={(b: HTMLButtonElement | null) => b?.focus()} onClick={back}>{no}</Button>
        <Button kind="danger" onClick={act}>{yes}</Button>
      </div>
    </div>
  );
}

const grantText = (name: string, add: Record<string, string[] | null>) => [`[grants.${name}]`, ...Object.entries(add).map(([key, list]) => `${key} = [${(list || []).join(", ")}]`)].join("\n");
