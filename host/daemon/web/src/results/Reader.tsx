// The reader of one archived result.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ArchivePage, CutText } from "../api";
import { api, getJSON, Problem, send, told } from "../core/daemon";
import { moment, num, shortArgs, shown } from "../core/format";
import { go, route, to } from "../core/route";
import { save } from "../core/save";
import { family, t } from "../core/words";
import { Button } from "../parts/Button";
import { Copy } from "../parts/Copy";
import { type Cut, cutOf } from "../parts/CutMap";
import { Field, Tick } from "../parts/Field";
import { ProblemBox } from "../parts/Problem";
import { useKeys, useTitle } from "../parts/use";
import { Find } from "./find";
import { Lines, path } from "./lines";
import { LoadBack } from "./LoadBack";
import { type Range, Virtual } from "./Virtual";
import { WhatIf } from "./WhatIf";

const typed = 250; // milliseconds without a key before a search begins
const copied = 5_000_000; // characters that fit a clipboard

export function Reader({ uuid }: { uuid: string }) {
  const lines = useMemo(() => new Lines(uuid), [uuid]), find = useMemo(() => new Find(uuid), [uuid]);
  const page = lines.head.value, problem = lines.problem.value;
  if (problem && !page) return <main class="reader"><ProblemBox alert {...trouble(problem)} /><p><a href={to("results")}>{t("allResults")}</a></p></main>;
  if (!page) return <main class="reader"><p class="note" role="status">{t("loading")}</p></main>;
  return <Open key={uuid} page={page} lines={lines} find={find} />;
}

// trouble says what is wrong for a person; the daemon's hint shows a model how to call.
const trouble = (err: Problem) => (err.status === 410 ? { message: t("textGone") } : err.status === 404 ? { message: t("noResult") } : { message: err.message, hint: err.code === "bad_args" ? "" : err.hint });

function Open({ page, lines, find }: { page: ArchivePage; lines: Lines; find: Find }) {
  useTitle(`${page.tool} ${shortArgs(page.arguments)}`.trim());
  const cut = useSignal<CutText | null>(null), hidden = useSignal(true), only = useSignal(false), selected = useSignal<Range | null>(null);
  const line = useSignal(Number(route.peek().query.get("l")) || 1), jump = useSignal(0), at = useSignal(line.value), place = useSignal(line.value), pointer = useSignal(""), options = useSignal(false);
  const side = useSignal(route.peek().query.has("limit"));
  useEffect(() => { find.q.value = route.peek().query.get("q") || ""; }, []);
  useEffect(() => { const timer = setTimeout(() => find.run(at.value), typed); return () => clearTimeout(timer); }, [find.q.value, find.regex.value, find.exact.value]);
  const jumpTo = (n: number) => { line.value = Math.max(1, Math.min(page.lines, n)); jump.value++; };
  const placed = useRef(route.peek().query.has("l")); // by the address
  useEffect(() => {
    if (find.hit && !placed.current) jumpTo(find.hit.line);
    if (find.hit) placed.current = false;
  }, [find.at.value, find.hits.value]);
  useEffect(() => { // the address leads to what is in sight
    const timer = setTimeout(() => { if (route.peek().parts[0] === page.uuid) history.replaceState(null, "", to("results", [page.uuid], { ...(place.value > 1 && { l: String(place.value) }), ...(find.q.value && { q: find.q.value }) })); }, 400);
    return () => clearTimeout(timer);
  }, [place.value, find.q.value]);
  useKeys({ n: () => find.step(1), p: () => find.step(-1), "/": () => document.getElementById("find-text")?.focus(), g: () => document.getElementById("go-line")?.focus(), l: () => document.getElementById("load-back")?.focus(), Escape: () => history.back() });
  const now: Cut = cut.value ? cutOf(cut.value)
    : { produced: page.chars, shown: page.shown?.chars ?? page.chars, lines: page.lines, gaps: page.shown?.gaps, kept: page.shown?.kept_lines };
  return (
    <main class="reader">
      <Head page={page} />
      <form class="row find" role="search" onSubmit={(e) => { e.preventDefault(); find.step(1); }}>
        <Field id="find-text" label={t("findIn")} hideLabel type="search" placeholder={t("findIn")} value={find.q.value} onInput={(e) => { find.q.value = e.currentTarget.value; }} />
        <span role="status">{find.trouble.value || (find.q.value ? (find.total.value ? t(find.more.value ? "hitOfMore" : "hitOf", { n: num(find.at.value + 1), total: num(find.total.value) }) : t("noHit")) : "")}</span>
        {find.hits.value.length > 0 && <><Button onClick={() => find.step(-1)} aria-keyshortcuts="p">{t("before")}</Button><Button onClick={() => find.step(1)} aria-keyshortcuts="n">{t("after")}</Button><Button aria-pressed={only.value} onClick={() => { only.value = !only.value; }}>{t("onlyHits")}</Button></>}
        <span class="space" />
        <Button class="phone" aria-expanded={options.value} onClick={() => { options.value = !options.value; }}>{t("options")}</Button>
        <span class={`extra ${options.value ? "open" : ""}`}>
          <Tick label={t("regex")} checked={find.regex.value} onChange={(e) => { find.regex.value = e.currentTarget.checked; }} />
          <Tick label={t("matchCase")} checked={find.exact.value} onChange={(e) => { find.exact.value = e.currentTarget.checked; }} />
          <GoTo jump={jumpTo} />
          <Tick label={t("hiddenChars")} checked={hidden.value} onChange={(e) => { hidden.value = e.currentTarget.checked; }} />
          <Field class="pointer" label="JSON" size={9} placeholder="/items/0" value={pointer.value} onInput={(e) => { pointer.value = e.currentTarget.value; }} />
        </span>
        <Button class="medium" aria-expanded={side.value} aria-controls="reader-side" onClick={() => { side.value = !side.value; }}>{t("limitAndLoad")}</Button>
      </form>
      {lines.problem.value && <p class="bad" role="alert">{trouble(lines.problem.value).message}</p>}
      <div class="reader-body">
        {pointer.value.startsWith("/") ? <Pointer uuid={page.uuid} pointer={pointer.value} /> : only.value && find.hits.value.length
          ? <Hits find={find} open={(n) => { only.value = false; jumpTo(n); }} />
          : <Virtual lines={lines} find={find} count={page.lines} cut={now} hidden={hidden.value} line={line.value} jump={jump.value} selected={selected.value} select={(r) => { selected.value = r; }} moved={(first, n) => { at.value = first; place.value = n; }} />}
        <aside id="reader-side" class={side.value ? "open" : ""} aria-label={t("limitAndLoad")} tabIndex={0}>
          <WhatIf page={page} cut={cut.value} show={(c) => { cut.value = c; }} />
          <LoadBack page={page} selected={selected.value} hits={find.hits.value.length} q={find.q.value} regex={find.regex.value} pointer={pointer.value} drop={() => { selected.value = null; }} />
        </aside>
      </div>
      <footer class="note keys"><span class="key-through">{t("keyThrough")}</span><span class="key-kept">{t("keyKept")}</span><span class="key-hit">{t("keyHit")}</span><span class="space" /><span>{t("readerKeys")}</span></footer>
    </main>
  );
}

function Head({ page }: { page: ArchivePage }) {
  const said = useSignal(""), sure = useSignal(false);
  const doing = async (act: () => Promise<string>) => { try { said.value = await act(); } catch (err) { said.value = told(err); } };
  const raw = async () => (await api(`api/archives/${encodeURIComponent(page.uuid)}/raw`)).text();
  const remove = () => doing(async () => { await send("DELETE", `api/archives/${encodeURIComponent(page.uuid)}`); go(to("results")); return ""; });
  return (
    <header class="reader-head">
      <h1><code>{page.tool}</code> <small>{shortArgs(page.arguments)}</small></h1>
      <span class="space" />
      {page.chars <= copied && <Copy of={raw} label={t("copy")} />}
      <Button onClick={() => doing(async () => { await save(await api(`api/archives/${encodeURIComponent(page.uuid)}/raw`), `${page.tool}-${page.uuid.slice(-4)}.txt`); return t("downloaded"); })}>{t("download")}</Button>
      {sure.value ? <><Button autofocus onClick={() => { sure.value = false; }}>{t("keepIt")}</Button><Button kind="danger" onClick={remove}>{t("deleteYes")}</Button></> : <Button class="bad" onClick={() => { sure.value = true; }}>{t("delete")}</Button>}
      <p class="chips">
        <span>{t("nCharacters", { n: num(page.chars) })}</span><span>{t("nLines", { n: num(page.lines) })}</span><span>{moment(page.created_at)}</span>
        {page.shown ? <span>{page.shown.layer ? t("shownCut", { n: num(page.shown.chars), layer: family(`layer_${page.shown.layer}`) }) : t("shownWhole")}</span> : <span>{t("shownUnknown")}</span>}
        {page.loads > 0 && <span>{t("loadedTimes", { n: num(page.loads) })}</span>}
        <a href={to("ask", [page.conversation_id])}>{t("itsTalk")}</a>
        <span role="status">{said.value}</span>
      </p>
    </header>
  );
}

function GoTo({ jump }: { jump: (n: number) => void }) {
  return <Field id="go-line" label={t("goLine")} size={7} inputMode="numeric" placeholder="1204" onKeyDown={(e) => {
    const n = parseInt(e.currentTarget.value.replace(/\D/g, ""), 10);
    if (e.key !== "Enter" || !n) return;
    e.preventDefault();
    jump(n);
  }} />;
}

// Hits lists all hits; one is opened in its place.
function Hits({ find, open }: { find: Find; open: (line: number) => void }) {
  return (
    <ol class="hits" aria-label={t("onlyHits")}>
      {find.hits.value.slice(0, 1000).map((h, i) => {
        const points = Array.from(h.text), from = h.from - (h.text_from || 0), to = h.to - (h.text_from || 0);
        return <li key={i}><Button kind="bare" onClick={() => { find.at.value = i; open(h.line); }}><span class="no">{num(h.line)}</span><bdi>{shown(points.slice(0, from).join(""))}<mark>{shown(points.slice(from, to).join(""))}</mark>{shown(points.slice(to).join(""))}</bdi></Button></li>;
      })}
    </ol>
  );
}

// Pointer shows one value of a JSON text.
function Pointer({ uuid, pointer }: { uuid: string; pointer: string }) {
  const text = useSignal(""), said = useSignal("");
  useEffect(() => {
    let over = false;
    const timer = setTimeout(() => getJSON<ArchivePage>(path(uuid, "", { pointer })).then((p) => { if (!over) { text.value = p.text; said.value = t("nCharacters", { n: num(p.selected_chars) }); } }, (err: Problem) => { if (!over) { text.value = ""; said.value = err.message; } }), typed);
    return () => { over = true; clearTimeout(timer); };
  }, [pointer]);
  return <div class="pointer-text"><p class="note" role="status">{said.value}</p><pre tabIndex={0}>{shown(text.value)}</pre></div>;
}
