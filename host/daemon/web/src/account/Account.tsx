// Who is logged in, what was used and what quotas leave; the operator also sees the usage
// of the other users.
import type { QuotaState, Usage, UsedDay, UserList, UserRow } from "../api";
import { getJSON, logOut, operator, session, told } from "../core/daemon";
import { money, moment, num, size } from "../core/format";
import { family, lang, switchLanguage, t } from "../core/words";
import { Button } from "../parts/Button";
import { ProblemBox } from "../parts/Problem";
import { Table } from "../parts/Table";
import { useAsked } from "../parts/use";

// nameOf names the one who is logged in.
export const nameOf = (user?: string): string => (!user || user === "local" ? t("operator") : user);

export function Account() {
  const { data, problem } = useAsked(() => getJSON<Usage>("api/usage"), []);
  const users = useAsked(async () => (operator() ? (await getJSON<UserList>("api/users")).users || [] : []), [session.value]).data || [];
  return (
    <main class="page">
      <h1>{nameOf(session.value?.principal)}</h1>
      <div class="row">
        <Button lang={lang.value === "zh" ? "en" : "zh-CN"} onClick={switchLanguage}>{t("otherLanguage")}</Button>
        <Button onClick={logOut}>{t("logOut")}</Button>
      </div>
      {problem && <ProblemBox alert message={told(problem)} />}
      {!data && !problem && <p class="note">{t("loading")}</p>}
      {data && <Quotas usage={data} />}
      {data?.days && data.days.length > 0 && <Days days={data.days} />}
      {users.length > 0 && <Users users={users} />}
    </main>
  );
}

const isFull = (q: QuotaState) => q.limit < 0 || q.used >= q.limit;

function Quotas({ usage }: { usage: Usage }) {
  const quotas = usage.quotas || [];
  return (
    <section>
      <h2>{t("col_quotas")}</h2>
      {!quotas.length && <p class="note">{t("noQuotas")}</p>}
      <ul class="quotas">
        {quotas.map((q) => {
          const name = family(`quota_${q.name}`), text = q.limit < 0 ? t("quotaNone") : t("quotaUsed", { used: amount(q, q.used), limit: amount(q, q.limit) });
          return (
            <li key={q.name} class={isFull(q) ? "full" : ""}>
              <span>{name}</span><span>{text}</span>
              <progress max={100} value={q.limit > 0 ? Math.min(100, (100 * q.used) / q.limit) : 100} aria-label={`${name}: ${text}`} />
              {isFull(q) && q.free_at && <small>{t("quotaFree", { time: moment(q.free_at) })}</small>}
            </li>
          );
        })}
      </ul>
      {usage.running > 0 && <p class="note">{t("runningNow", { n: num(usage.running) })}</p>}
    </section>
  );
}

function amount(q: QuotaState, n: number): string {
  if (q.name === "archive_bytes") return size(n);
  return q.unit ? money([{ amount: n, currency: q.unit }]) : num(n);
}

function Days({ days }: { days: UsedDay[] }) {
  return (
    <section>
      <h2>{t("taken")}</h2>
      <Table label={t("taken")} numbers={[1, 2]} head={["day", "requests", "tokens", "cost"].map((k) => family(`col_${k}`))}
        rows={days.map((d) => [d.day, d.refused ? t("withRefused", { n: num(d.requests), refused: num(d.refused) }) : num(d.requests), num(d.prompt_tokens + d.completion_tokens), money(d.cost) || "–"])} />
    </section>
  );
}

// Users says what each user used today.
function Users({ users }: { users: UserRow[] }) {
  return (
    <section>
      <h2>{t("users")}</h2>
      <Table label={t("users")} numbers={[1, 2]} head={["user", "requests", "tokens", "quotas"].map((k) => family(`col_${k}`))}
        rows={users.map((u) => {
          const today = u.usage.days?.[0];
          return [u.token ? u.name : t("noToken", { user: u.name }), num(today?.requests), num((today?.prompt_tokens || 0) + (today?.completion_tokens || 0)),
            (u.usage.quotas || []).map((q) => `${family(`quota_${q.name}`)}: ${q.limit < 0 ? t("quotaNone") : t("quotaUsed", { used: amount(q, q.used), limit: amount(q, q.limit) })}`).join("; ") || "–"];
        })} />
    </section>
  );
}
