// The frame around all views: the rail, what is said in all of them, and the log-in.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { away, key, operator, session } from "./core/daemon";
import { shown } from "./core/format";
import { approvals, pulse } from "./core/pulse";
import { opened, route, to } from "./core/route";
import { lang, switchLanguage, family, t } from "./core/words";
import { nameOf } from "./account/Account";
import { Inbox, waitingElsewhere } from "./ask/Inbox";
import { current } from "./ask/state";
import { LogIn } from "./login";
import { Button } from "./parts/Button";
import { Dialog } from "./parts/Dialog";
import { Icon } from "./parts/Icon";
import { Live } from "./parts/Live";
import { useKeys } from "./parts/use";
import type { View } from "./views";

export function Shell({ views }: { views: View[] }) {
  const help = useSignal(false);
  useEffect(() => { document.documentElement.lang = lang.value === "zh" ? "zh-CN" : "en"; }, [lang.value]);
  useKeys({ "?": () => { help.value = true; } });
  if (!key.value) { document.title = "weir"; return <LogIn />; }
  const name = route.value.view, seen = views.filter((v) => !v.operator || operator()), view = seen.find((v) => v.name === name);
  document.title = [approvals.value.length ? `(${approvals.value.length})` : "", titleOf(name), "weir"].filter(Boolean).join(" – ").replace(") – ", ") ");
  return (
    <div class={`shell view-${name}`}>
      <a class="skip" href={`#${name === "ask" ? "question" : "stage"}`} onClick={(e) => { e.preventDefault(); document.querySelector<HTMLElement>(e.currentTarget.hash)?.focus(); }}>{t(name === "ask" ? "skip" : "skipRail")}</a>
      <Rail seen={seen.filter((v) => !v.hidden)} name={name} />
      <div class="stage" id="stage" tabIndex={-1}>
        {away.value && <p class="away" role="alert">{t("away")}</p>}
        {pulse.value?.draining && <p class="away" role="alert">{t("draining")}</p>}
        {waitingElsewhere() > 0 && <Inbox />}
        {view ? <view.View /> : name === "more" ? <More seen={seen.filter((v) => !v.hidden)} /> : <main class="page"><h1>{t("noView")}</h1><p><a href={to("ask")}>{t("view_ask")}</a></p></main>}
      </div>
      <Live />
      {help.value && <Keys close={() => { help.value = false; }} />}
    </div>
  );
}

// titleOf names what is open.
function titleOf(name: string): string {
  const c = current.value;
  if (name === "ask") return shown(c.title.value || c.turns.value[0]?.question || "").slice(0, 60);
  return [opened.value, family(`view_${name}`)].filter(Boolean).join(" – ");
}

const due = (name: string): number => (name === "plugins" ? pulse.value?.plugins?.waiting?.length || 0 : name === "ask" ? waitingElsewhere() : 0);

function Rail({ seen, name }: { seen: View[]; name: string }) {
  return (
    <nav class="rail" aria-label={t("rail")}>
      <a class="brand" href={to("ask")}><img src="icon.svg" alt="" width="22" height="22" /> <span>weir</span></a>
      {seen.map((v) => <Entry key={v.name} name={v.name} here={v.name === name} n={due(v.name)} low={v.low} first={v.first} label={v.name === "account" ? t("accountOf", { user: nameOf(session.value?.principal) }) : undefined} />)}
      <Entry name="more" here={name === "more"} n={0} more />
      <button type="button" class="entry language low" lang={lang.value === "zh" ? "en" : "zh-CN"} onClick={switchLanguage}><Icon name="language" /><span>{t("otherLanguage")}</span></button>
    </nav>
  );
}

function Entry({ name, here, n, low, first, more, label }: { name: string; here: boolean; n: number; low?: boolean; first?: boolean; more?: boolean; label?: string }) {
  const address = name === "ask" && current.value.id ? to("ask", [current.value.id]) : to(name);
  return (
    <a class={`entry ${low ? "low" : ""} ${first ? "first" : ""} ${more ? "more" : ""}`} href={address} aria-current={here ? "page" : undefined} aria-label={label}>
      <Icon name={name} /><span>{family(`view_${name}`)}</span>{n > 0 && <b class="count">{n}<span class="unseen"> {t("wait")}</span></b>}
    </a>
  );
}

// More lists what the bar of a phone has no room for.
function More({ seen }: { seen: View[] }) {
  return (
    <main class="page">
      <h1>{t("view_more")}</h1>
      <ul class="more-list">{seen.filter((v) => !v.first).map((v) => <li key={v.name}><a href={to(v.name)}><Icon name={v.name} /> {family(`view_${v.name}`)}</a></li>)}</ul>
      <Button lang={lang.value === "zh" ? "en" : "zh-CN"} onClick={switchLanguage}>{t("otherLanguage")}</Button>
    </main>
  );
}

const keys: [string, string][] = [["Enter", "keySend"], ["Shift+Enter", "keyLine"], ["Ctrl+K", "keySearch"], ["?", "keyHelp"], ["n, p", "keyHits"], ["/", "keyFind"], ["g", "keyGo"], ["l", "keyLoad"], ["Shift+↑, Shift+↓", "keySelect"], ["Esc", "keyBack"]];

function Keys({ close }: { close: () => void }) {
  return <Dialog title={t("keyList")} close={close}><dl class="facts">{keys.map(([key, word]) => [<dt key={key}><kbd>{key}</kbd></dt>, <dd key={word}>{family(word)}</dd>])}</dl></Dialog>;
}

