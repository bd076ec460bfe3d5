// Shows the logged-in user, usage and remaining quotas; the operator
// also sees the usage of the other users.
import { $, el, getJSON, moment, money, num, problemText, size, t } from "./base.js";

const operator = "local"; // as the daemon calls whoever has its own token

// whoAmI names who is logged in, and says whether it is the operator.
export async function whoAmI() {
  const usage = await getJSON("api/usage?days=1").catch(() => null);
  if (!usage) return false;
  const full = usage.quotas.some((q) => q.limit < 0 || q.used >= q.limit);
  $("show-account").textContent = named(usage.user);
  $("show-account").setAttribute("aria-label", t("accountOf", { user: named(usage.user) }));
  $("show-account").classList.toggle("due", full);
  return usage.user === operator;
}

const named = (user) => (user === operator ? t("operator") : user);

async function open() {
  $("account-title").textContent = t("account");
  $("account-body").replaceChildren(el("p", {}, t("loading")));
  $("account").showModal();
  try {
    const usage = await getJSON("api/usage");
    const others = usage.user === operator ? (await getJSON("api/users")).users : [];
    $("account-title").textContent = named(usage.user);
    $("account-body").replaceChildren(...quotas(usage), ...days(usage.days), ...table(others));
  } catch (err) {
    $("account-body").replaceChildren(el("p", { role: "alert" }, problemText(err)));
  }
}

function quotas(usage) {
  const running = usage.running ? [el("p", { class: "note" }, t("runningNow", { n: num(usage.running) }))] : [];
  if (!usage.quotas.length) return [el("p", { class: "note" }, t("noQuotas")), ...running];
  return [el("h3", {}, t("quotas")), el("ul", { class: "quotas" }, ...usage.quotas.map(quota)), ...running];
}

function quota(q) {
  const name = t(`quota_${q.name}`), full = q.limit < 0 || q.used >= q.limit;
  const text = q.limit < 0 ? t("quotaNone") : t("quotaUsed", { used: amount(q, q.used), limit: amount(q, q.limit) });
  const bar = el("progress", { max: 100, value: q.limit > 0 ? Math.min(100, (100 * q.used) / q.limit) : 100, "aria-label": `${name}: ${text}` });
  return el("li", { class: full ? "full" : "" }, el("span", {}, name), el("span", {}, text), bar,
    full && q.free_at ? el("small", {}, t("quotaFree", { time: moment(q.free_at) })) : null);
}

function amount(q, n) {
  if (q.name === "archive_bytes") return size(n);
  return q.unit ? money([{ amount: n, currency: q.unit }]) : num(n);
}

function days(list) {
  if (!list.length) return [];
  const head = ["day", "requests", "tokens", "cost"];
  return [el("h3", {}, t("taken")), grid(head, list.map((d) => [d.day, d.refused ? t("withRefused", { n: num(d.requests), refused: num(d.refused) }) : num(d.requests),
    num(d.prompt_tokens + d.completion_tokens), money(d.cost) || "–"]))];
}

// table tells the operator what each user took today.
function table(users) {
  if (!users.length) return [];
  return [el("h3", {}, t("users")), grid(["user", "requests", "tokens", "quotas"], users.map((u) => {
    const today = u.usage.days[0];
    return [u.token ? u.name : t("noToken", { user: u.name }), num(today?.requests), num((today?.prompt_tokens || 0) + (today?.completion_tokens || 0)),
      u.usage.quotas.map((q) => `${t(`quota_${q.name}`)}: ${q.limit < 0 ? t("quotaNone") : t("quotaUsed", { used: amount(q, q.used), limit: amount(q, q.limit) })}`).join("; ") || "–"];
  }))];
}

function grid(head, rows) {
  return el("div", { class: "wide-table", tabindex: 0, role: "region", "aria-label": t("table") }, el("table", {}, el("thead", {}, el("tr", {}, ...head.map((key) => el("th", { scope: "col" }, t(`col_${key}`))))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell)))))));
}

// startAccount gives the controls their work.
export function startAccount({ logOut, report }) {
  $("show-account").addEventListener("click", () => open().catch(report));
  $("account-close").addEventListener("click", () => $("account").close());
  $("log-out").addEventListener("click", () => { $("account").close(); logOut(); });
}
