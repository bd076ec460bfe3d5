// Requests to the daemon, and the token or the session that they are made with.
import { signal } from "@preact/signals";
import type { Problem as Told, SessionInfo, SessionStarted } from "../api";
import { recall, remember } from "./storage";
import { t, tag } from "./words";

// token is the token or, after "session:", the key of a session, as all tabs of this
// browser know it; empty: no one is logged in. It is in the storage and not in a cookie,
// which a browser would send to every port of this machine.
export const token = signal(recall("weir.token") || "");
// refused says why somebody has to log in again.
export const refused = signal("");
// away reports whether the daemon has not answered the last request.
export const away = signal(false);
export const session = signal<SessionInfo | null>(null);
export const operator = (): boolean => Boolean(session.value?.operator);

// keepToken remembers a token for all tabs; an empty one is forgotten.
export function keepToken(given: string): void {
  token.value = given;
  remember("weir.token", given || null);
}

addEventListener("storage", (e) => { if (e.key === "weir.token" && (e.newValue || "") !== token.value) location.reload(); }); // another tab logged in or out

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

// api sends a request; an answer that is not 2xx or 304 is a Problem.
export async function api(path: string, options: RequestInit = {}): Promise<Response> {
  const headers: Record<string, string> = { "Accept-Language": tag(), ...(options.headers as Record<string, string>) };
  const key = token.value.split("session:")[1];
  if (key) headers["X-Weir-Session"] = key;
  else if (token.value) headers.Authorization = `Bearer ${token.value}`;
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
  if (res.status === 401 && token.value) refused.value = t("wrongToken");
  // Every error of the daemon has a message; a proxy's has none.
  const between = () => (res.status === 429 ? t("proxyBusy") : t("proxyFailed", { status: String(res.status) }));
  throw new Problem(body?.error?.message ? body.error : { message: between() }, res.status);
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

// exchange logs in with a code, which is good for once.
export async function exchange(code: string): Promise<void> {
  const started = await send<SessionStarted>("POST", "api/session", { code });
  keepToken(`session:${started.key}`);
}

export async function whoAmI(): Promise<void> {
  session.value = await getJSON<SessionInfo>("api/session");
}

// logOut ends the session, for all tabs.
export function logOut(): void {
  api("api/session", { method: "DELETE" }).catch(() => {}); // the key is forgotten either way
  keepToken("");
  session.value = null;
}

// told is a problem in one line.
export const told = (err: unknown): string => (err instanceof Problem ? [err.message, err.hint].filter(Boolean).join(" · ") : String((err as Error)?.message ?? err));
