// The conversation: questions and answers.
import { effect, useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { AgentSource } from "../api";
import { num } from "../core/format";
import { to } from "../core/route";
import { t } from "../core/words";
import { Blocks, Markdown, webURL } from "../parts/Markdown";
import { Button } from "../parts/Button";
import { Copy } from "../parts/Copy";
import { Foreign } from "../parts/Foreign";
import { ProblemBox } from "../parts/Problem";
import { CallCard } from "./CallCard";
import { borrow, type Conversation } from "./state";
import { type Part, reasonText, sumsText, type Turn } from "./turn";
import { Welcome } from "./Welcome";

const nearEnd = 80; // pixels from the end at which what comes is followed
const drawnAtOnce = 6; // turns; the earlier ones follow when the browser has time
const chunk = 4; // of earlier turns that are drawn together
const pause = 40; // milliseconds between two of them

// Log scrolls with what comes as long as its end is in sight.
export function Log({ c }: { c: Conversation }) {
  const box = useRef<HTMLDivElement>(null), inner = useRef<HTMLDivElement>(null), atEnd = useRef(true), last = useRef({ top: 0, height: 0 });
  const from = useRef(0), drawn = useRef<{ c: Conversation | null; had: boolean }>({ c: null, had: false }), tick = useSignal(0);
  const turns = c.turns.value, stream = c.stream.value, place = c.place.value;
  if (drawn.current.c !== c || (!drawn.current.had && turns.length > 0)) {
    drawn.current = { c, had: turns.length > 0 };
    from.current = place ? 0 : Math.max(0, turns.length - drawnAtOnce);
    atEnd.current = true;
  }
  void tick.value; // earlier turns are drawn
  useEffect(() => {
    const toEnd = () => { if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight; };
    const watch = new ResizeObserver(toEnd);
    watch.observe(inner.current!);
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => effect(() => { c.turns.value.length; if (!c.place.value) atEnd.current = true; }), [c]);
  useEffect(() => {
    if (!from.current) return;
    const timer = setInterval(() => { // what is added above does not move what is read: browsers anchor it
      from.current = place ? 0 : Math.max(0, from.current - chunk);
      tick.value++;
      if (!from.current) clearInterval(timer);
    }, pause);
    return () => clearInterval(timer);
  }, [c, turns.length > 0, place]);
  useEffect(() => { if (place && turns.length) requestAnimationFrame(() => { if (inner.current) show(inner.current, place, atEnd); }); }, [place, turns.length > 0]);
  // Only who scrolls up leaves the end: heights change when what is out of sight is drawn.
  const scrolled = (e: { currentTarget: HTMLElement }) => {
    const b = e.currentTarget, before = last.current;
    last.current = { top: b.scrollTop, height: b.scrollHeight };
    if (b.scrollHeight - b.scrollTop - b.clientHeight < nearEnd) atEnd.current = true;
    else if (b.scrollTop < before.top && b.scrollHeight >= before.height) atEnd.current = false;
  };
  return (
    <div id="scroll" class="scroll" ref={box} tabIndex={0} role="region" aria-label={t("conversation")} aria-busy={Boolean(stream)} onScroll={scrolled}>
      <div class="log" ref={inner}>
        {c.problem.value && c.problem.value.code !== "unreachable" && <ProblemBox alert message={c.problem.value.status === 404 ? t("noSuchChat") : c.problem.value.message} hint={c.problem.value.status === 404 ? "" : c.problem.value.hint} />}
        {!turns.length && !c.id && <Welcome />}
        {turns.slice(from.current).map((turn, i) => <TurnView key={`${c.id}-${i + from.current}`} turn={turn} c={c} />)}
      </div>
    </div>
  );
}

// show scrolls to a message and marks it.
function show(log: HTMLElement, message: number, atEnd: { current: boolean }): void {
  const all = [...log.querySelectorAll<HTMLElement>("[data-m]")].filter((n) => Number(n.dataset.m) > 0 && Number(n.dataset.m) <= message);
  const at = all.at(-1);
  if (!at) return;
  atEnd.current = false;
  at.scrollIntoView({ block: "center" });
  at.classList.add("found");
  at.tabIndex = -1;
  at.focus({ preventScroll: true });
  at.addEventListener("blur", () => at.classList.remove("found"), { once: true });
}

function TurnView({ turn, c }: { turn: Turn; c: Conversation }) {
  const parts = turn.parts.value, sums = turn.sums.value;
  return (
    <>
      {turn.question && <div class="mine" role="article" aria-label={t("you")} data-m={turn.first}><h2 lang={turn.lang.value || undefined}>{turn.question}</h2></div>}
      {(parts.length > 0 || turn.waits.value) && (
        <article class="theirs" aria-label={t("where_answer")}>
          {parts.map((p, i) => <PartView key={i} part={p} turn={turn} c={c} />)}
          <Sources list={turn.sources.value} />
          {turn.lost.value && <p class="note">{t("reconnecting")}</p>}
          <Pulse turn={turn} />
          {sums && reasonText(sums) && !parts.some((p) => p.kind === "problem") && <p class="note">{reasonText(sums)}</p>}
          {sums && (
            <p class="note sums">
              <span>{sumsText(sums)}</span>
              <a href={to("traces", [c.id, String(turn.number)])}>{t("howItWent")}</a>
              {turn.answer() && <Copy kind="bare" of={() => turn.answer()} label={t("copyAnswer")} />}
              <Button kind="bare" onClick={() => askAgain(turn)}>{t("askAgain")}</Button>
            </p>
          )}
        </article>
      )}
    </>
  );
}

// Sources lists the pages that an answer is taken from, with the numbers of its marks.
function Sources({ list }: { list: AgentSource[] }) {
  const links = list.flatMap((s) => { const url = webURL(s.url); return url ? [{ ...s, url }] : []; });
  if (!links.length) return null;
  return (
    <div class="sources">
      <h3>{t("sources")}</h3>
      <ul>
        {links.map((s) => (
          <li key={s.n}>
            {`[${s.n}] `}<a href={s.url.href} target="_blank" rel="noopener noreferrer"><Foreign text={s.title || s.url.href} max={200} /></a>
            {s.title && <small> (<bdi>{s.url.host}</bdi>)</small>}
          </li>
        ))}
      </ul>
    </div>
  );
}

// askAgain puts a question back into the box.
function askAgain(turn: Turn): void {
  borrow(turn.question.trim(), turn.borrowed);
  document.getElementById("question")?.focus();
}

function PartView({ part, turn, c }: { part: Part; turn: Turn; c: Conversation }) {
  const lang = turn.lang.value || undefined;
  switch (part.kind) {
    case "text": return <div data-m={part.message} lang={lang}><Text text={part.text} /></div>;
    case "thought": return <details class="thought"><summary>{t("thought")}</summary><div lang={lang}>{part.text.value}</div></details>;
    case "call": return <div data-m={part.message}><CallCard call={part.call} conversation={c.id} /></div>;
    case "note": return <p class="note">{part.say()}</p>;
  }
  const p = typeof part.problem === "function" ? { message: part.problem() } : part.problem;
  return <ProblemBox alert message={p.message} hint={p.hint}>{part.again && <Button onClick={() => askAgain(turn)}>{t("askAgain")}</Button>}</ProblemBox>;
}

function Text({ text }: { text: { value: string } }) {
  const blocks = useMemo(() => new Blocks(), []);
  const now = useComputed(() => blocks.of(text.value));
  return <Markdown blocks={now.value} />;
}

// Pulse is a clock, and what is waited for.
function Pulse({ turn }: { turn: Turn }) {
  const now = useSignal(Date.now()), waits = turn.waits.value;
  useEffect(() => {
    if (!waits) return;
    const timer = setInterval(() => { now.value = Date.now(); }, 1000);
    return () => clearInterval(timer);
  }, [Boolean(waits)]);
  if (!waits) return null;
  return <p class="pulse">{waits.say()} · {t("seconds", { n: num(Math.max(0, Math.floor((now.value - waits.since) / 1000))) })}</p>;
}
