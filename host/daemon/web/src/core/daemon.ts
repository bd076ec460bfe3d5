// Requests to the daemon, and the session that they are made with.
import { signal } from "@preact/signals";
import type { Problem as Told, SessionInfo, SessionStarted } from "../api";
import { recall, remember } from "./storage";
import { t, tag } from "./words";

// key is the half of a session that all tabs of this browser know; empty: no one is logged
// in. The other half is a cookie, which no script reads. The token is not remembered.
export const key = signal(recall("weir.session") || "");
// refused says why somebody has to log in again.
export const refused = signal("");
// away reports whether the daemon has not answered the last request.
export const away = signal(false);
export const session = signal<SessionInfo | null>(null);
export const operator = (): boolean => Boolean(session.value?.operator);

// keep remembers a key for all tabs; an empty one is forgotten.
function keep(given: string): void {
  key.value = given;
  remember("weir.session", given || null);
}

addEventListener("storage", (e) => { if (e.key === "weir.session" && (e.newValue || "") !== key.value) location.reload(); }); // another tab logged in or out

// inTurn calls f while no tab of this browser begins a session. A new session ends the one
// before, and the cookie changes before the key does. Without locks, which a browser gives
// to pages of this machine or with TLS, a tab waits for its own log-in alone.
let begun: Promise<void> = Promise.resolve();
const inTurn = (f: () => Promise<void>): Promise<void> => navigator.locks?.request("weir.session", f) ?? begun.then(f);

// A Problem is a request that failed. Its status is 0 if the daemon did not answer.
export class Problem extends Error {
  code: string;
  hint: string;
  constructor(told: Partial<Told> = {}, public status = 0) {
    super(told.message || `HTTP ${status}`);
    this.code = told.code || "";
    this.hint = told.hint || "";
  }
}

export const unreachable = "unreachable";

// later asks again after a while, if the daemon did not answer.
export const later = (err: unknown, ask: () => void): void => { if ((err as Problem).code === unreachable) setTimeout(ask, 1000); };

// api sends a request; an answer that is not 2xx or 304 is a Problem.
export async function api(path: string, options: RequestInit = {}): Promise<Response> {
  const headers: Record<string, string> = { "Accept-Language": tag(), ...(options.headers as Record<string, string>) }, by = key.value;
  if (by) headers["X-Weir-Session"] = by;
  let res: Response;
  try {
    res = await fetch(path, { ...options, headers });
  } catch (err) {
    if ((err as Error).name === "AbortError") throw err;
    away.value = true;
    throw new Problem({ code: unreachable, message: t("unreachable") });
  }
  away.value = false;
  if (res.ok || res.status === 304) return res;
  const body = await res.json().catch(() => null);
  if (res.status === 401 && by && path !== "api/session") {
    await inTurn(async () => {});
    if (key.value && key.value !== by) return api(path, options);
    if (key.value && (recall("weir.session") ?? by) === by) refused.value = t("sessionEnded");
  }
  // Every error of the daemon has a message; a proxy's has none.
  throw new Problem(body?.error?.message ? body.error : { message: res.status === 429 ? t("proxyBusy") : t("proxyFailed", { status: String(res.status) }) }, res.status);
}

// json reads an answer, which a proxy or a log-in page may have given in place of weir.
const json = async <T>(res: Response): Promise<T> => res.json().catch((err: Error) => {
  if (err.name === "AbortError") throw err;
  throw new Problem({ message: t("notOfWeir") }, res.status);
});

export const getJSON = async <T>(path: string, options?: RequestInit): Promise<T> => json(await api(path, options));

// send sends JSON and returns the answer.
export async function send<T = unknown>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  const res = await api(path, { method, headers: { "Content-Type": "application/json", ...headers }, body: body === undefined ? undefined : JSON.stringify(body) });
  return (res.status === 204 ? undefined : await json<T>(res)) as T;
}

// logIn begins a session with the token, or with a code that is good for once. A browser
// that is logged in stays so if that fails.
export const logIn = (by: { token: string } | { code: string }): Promise<void> => begun = inTurn(async () => {
  try {
    const begins = await send<SessionStarted>("POST", "api/session", by), before = session.peek();
    if (before && before.principal !== begins.principal) { // what is open is of somebody else
      remember("weir.session", begins.key);
      for (const own of [true, false]) for (const name of ["weir.draft", "weir.borrowed"]) remember(name, null, own);
      return location.reload();
    }
    keep(begins.key);
    refused.value = "";
  } catch (err) {
    if (!key.value) refused.value = (err as Problem).code === "wrong_token" ? t("wrongToken") : told(err);
  }
});

export async function whoAmI(): Promise<void> {
  if (!key.value) return;
  try { session.value = await getJSON<SessionInfo>("api/session"); } catch (err) { later(err, whoAmI); }
}

// logOut ends the session, for all tabs.
export function logOut(): void {
  const ended = api("api/session", { method: "DELETE" }).then(() => {}, () => {}); // the key is forgotten either way
  begun = inTurn(() => ended); // its answer takes the cookie away, also that of a later log-in
  keep("");
}

// told is a problem in one line.
export const told = (err: unknown): string => (err instanceof Problem ? [err.message, err.hint].filter(Boolean).join(" · ") : String((err as Error)?.message ?? err));
