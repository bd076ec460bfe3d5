// All archived results, of conversations, `weir call`, MCP clients and programs, and the
// search in their whole texts.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ArchiveList, ArchiveRow, Found } from "../api";
import { getJSON, later, Problem, told, unreachable } from "../core/daemon";
import { moment, num, shown, size } from "../core/format";
import { go, route, to } from "../core/route";
import { t } from "../core/words";
import { Button } from "../parts/Button";
import { CutMap } from "../parts/CutMap";
import { Field } from "../parts/Field";
import { Marked } from "../parts/Marked";
import { ProblemBox } from "../parts/Problem";
import { useKeys } from "../parts/use";
import { Reader } from "./Reader";

const pageRows = 50, typed = 300;

export function Results() {
  const uuid = route.value.parts[0];
  return uuid ? <Reader key={uuid} uuid={uuid} /> : <All />;
}

function All() {
  const rows = useSignal<ArchiveRow[] | null>(null), more = useSignal(false), words = useSignal(route.peek().query.get("q") || ""), tool = useSignal(""), found = useSignal<Found | null>(null), problem = useSignal<Problem | null>(null), turn = useRef(0);
  const load = async (offset: number) => {
    const mine = ++turn.current;
    try {
      const page = (await getJSON<ArchiveList>(`api/archives?${new URLSearchParams({ limit: String(pageRows), offset: String(offset), ...(tool.value && { tool: tool.value }) })}`)).archives || [];
      if (mine !== turn.current) return;
      rows.value = offset ? [...(rows.value || []), ...page] : page;
      more.value = page.length === pageRows;
      problem.value = null;
    } catch (err) {
      if (mine !== turn.current) return;
      problem.value = err as Problem;
      later(err, () => { if (mine === turn.current) load(offset); });
    }
  };
  useEffect(() => { load(0); return () => { turn.current++; }; }, [tool.value]);
  useEffect(() => {
    const q = words.value.trim();
    if (!q) { found.value = null; return; }
    let over = false;
    const search = () => { if (!over) getJSON<Found>(`api/archives/search?limit=100&q=${encodeURIComponent(q)}`).then((f) => { if (!over) { found.value = f; problem.value = null; } }, (err: Problem) => { if (!over) { problem.value = err; later(err, search); } }); };
    const timer = setTimeout(search, typed);
    return () => { over = true; clearTimeout(timer); };
  }, [words.value]);
  useKeys({ "/": () => document.getElementById("search-texts")?.focus() });
  const tools = [...new Set((rows.value || []).map((r) => r.tool))];
  return (
    <main class="page">
      <header class="row">
        <h1>{t("view_results")}</h1>
        <span class="space" />
      </header>
      <p class="note">{t("resultsHelp")}</p>
      <form class="row" role="search" onSubmit={(e) => e.preventDefault()}>
        <Field id="search-texts" class="grow" label={t("searchTexts")} hideLabel type="search" placeholder={t("searchTexts")} value={words.value} onInput={(e) => { words.value = e.currentTarget.value; }} />
        {(tools.length > 1 || tool.value) && <span class="tabs">{(tool.value ? [tool.value] : tools).map((name) => <Button key={name} aria-pressed={tool.value === name} onClick={() => { tool.value = tool.value === name ? "" : name; }}>{name}</Button>)}</span>}
      </form>
      {problem.value && problem.value.code !== unreachable && <ProblemBox alert message={told(problem.value)} />}
      {found.value ? <Hits found={found.value} words={words.value} /> : <Rows rows={rows.value} />}
      {!found.value && more.value && <Button onClick={() => load(rows.value!.length)}>{t("older_results")}</Button>}
    </main>
  );
}

function Rows({ rows }: { rows: ArchiveRow[] | null }) {
  if (!rows) return <p class="note">{t("loading")}</p>;
  if (!rows.length) return <p class="note">{t("noResults")}</p>;
  return (
    <ul class="results">
      {rows.map((r) => (
        <li key={r.uuid}>
          <a href={to("results", [r.uuid])}>
            <span class="first"><code>{r.tool}</code> <span class="args">{shown(r.query)}</span></span>
            <span class="size">{t("nCharacters", { n: num(r.chars) })} · {t("nLines", { n: num(r.lines) })} · {size(r.bytes)}</span>
            <span class="sum">{r.pruned ? t("textGone") : shown(r.summary)}</span>
            {r.shown?.layer && <CutMap small cut={{ produced: r.chars, shown: r.shown.chars, lines: r.lines, gaps: r.shown.gaps, kept: r.shown.kept_lines }} />}
            <small>{moment(r.created_at)}{r.loads > 0 && ` · ${t("loadedTimes", { n: num(r.loads) })}`}</small>
          </a>
        </li>
      ))}
    </ul>
  );
}

function Hits({ found, words }: { found: Found; words: string }) {
  const hits = found.hits || [];
  return (
    <>
      <p class="note" role="status">{hits.length ? t("foundIn", { n: num(hits.length), archives: num(found.archives) }) : t("foundNone")}{found.left > 0 && ` ${t("foundLeft", { n: num(found.left) })}`}</p>
      <ul class="results">
        {hits.map((h, i) => (
          <li key={i}>
            <Button kind="bare" onClick={() => go(to("results", [h.uuid], { l: String(h.line || 1), q: words.trim().split(/\s+/)[0] }))}>
              {hits[i - 1]?.uuid !== h.uuid && <span class="first"><code>{h.tool}</code> <span class="args">{shown(h.query)}</span> <small>{moment(h.created_at)}</small></span>}
              <span class="hit"><span class="no">{h.line ? num(h.line) : ""}</span><Marked text={shown(h.snippet)} words={words} /></span>
            </Button>
          </li>
        ))}
      </ul>
    </>
  );
}
