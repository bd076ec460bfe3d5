// Users and their quotas; what is stored of somebody who was removed.
import { useSignal } from "@preact/signals";
import type { UserData, UserList } from "../api";
import { getJSON, Problem, send } from "../core/daemon";
import { num, size } from "../core/format";
import { pulse } from "../core/pulse";
import { t } from "../core/words";
import { Block } from "../clients/Clients";
import { Button } from "../parts/Button";
import { Field } from "../parts/Field";
import { ProblemBox } from "../parts/Problem";
import { useAsked } from "../parts/use";
import { Rows } from "./Rows";
import { known } from "./state";

export function People() {
  const users = useAsked(() => getJSON<UserList>("api/users"), [pulse.value?.configuration]).data?.users || [];
  const names = Object.keys((known.value?.now.users as object | undefined) || {}), keys = (known.value?.schema.keys || []).filter((k) => k.key?.[0] === "users");
  return (
    <>
      {!names.length && <p class="note">{t("noUsers")}</p>}
      {names.map((name) => {
        const day = users.find((u) => u.name === name)?.usage.days?.[0];
        return (
          <section class="card" key={name} aria-label={name}>
            <h3>{name}</h3>
            <p class="note">{t("usedToday", { requests: num(day?.requests), tokens: num((day?.prompt_tokens || 0) + (day?.completion_tokens || 0)) })}</p>
            <details><summary>{t("itsSettings")}</summary><Rows keys={keys} names={[name]} /></details>
          </section>
        );
      })}
      <section class="card" aria-labelledby="add-user">
        <h3 id="add-user">{t("addUser")}</h3>
        <p class="note">{t("addUserHelp")}</p>
        <Block text="weir user add NAME --tokens-per-day 200000" label={t("copyCommand")} />
      </section>
      <Removed />
    </>
  );
}

// Removed shows and deletes what is stored of somebody.
function Removed() {
  const name = useSignal(""), found = useSignal<UserData | null>(null), problem = useSignal<Problem | null>(null), said = useSignal(""), sure = useSignal(false);
  const run = async (method: "GET" | "DELETE") => {
    problem.value = null;
    said.value = "";
    sure.value = false;
    try {
      const data = await send<UserData>(method, `api/users/${encodeURIComponent(name.value.trim())}/data`);
      found.value = method === "GET" ? data : null;
      const vars = { user: data.user, conversations: num(data.conversations), archives: num(data.archives), size: size(data.archive_bytes) };
      said.value = t(method === "GET" ? "userHas" : "userGone", vars);
    } catch (err) { problem.value = err as Problem; found.value = null; }
  };
  return (
    <section class="card" aria-labelledby="removed-user">
      <h3 id="removed-user">{t("storedOf")}</h3>
      <form class="row" onSubmit={(e) => { e.preventDefault(); run("GET"); }}>
        <Field label={t("col_user")} value={name.value} required onInput={(e) => { name.value = e.currentTarget.value; }} />
        <Button submit>{t("storedLook")}</Button>
      </form>
      {problem.value && <ProblemBox alert message={problem.value.message} hint={problem.value.hint} />}
      <p role="status">{said.value}</p>
      {found.value && (
        <div class="row">
          {sure.value ? <><p role="alert">{t("storedSure", { user: found.value.user })}</p><Button onClick={() => { sure.value = false; }}>{t("keepIt")}</Button><Button kind="danger" onClick={() => run("DELETE")}>{t("deleteYes")}</Button></>
            : <Button class="bad" onClick={() => { sure.value = true; }}>{t("storedDelete")}</Button>}
        </div>
      )}
    </section>
  );
}
