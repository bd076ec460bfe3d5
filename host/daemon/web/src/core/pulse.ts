// What changes in the daemon, asked for every few seconds while the page is visible.
import { signal } from "@preact/signals";
import type { Approval, ApprovalList, Pulse } from "../api";
import { api, away, getJSON, key } from "./daemon";

const every = 3000; // milliseconds between two requests
const least = 500; // while the daemon does not answer, doubled up to most
const most = 8000;

export const pulse = signal<Pulse | null>(null);
// approvals are the calls that wait for a person, whoever asked.
export const approvals = signal<Approval[]>([]);

let tag = "", timer = 0, wait = least;

// beat asks once and plans the next time.
export async function beat(): Promise<void> {
  clearTimeout(timer);
  if (key.value && document.visibilityState === "visible") await once();
  wait = away.value ? Math.min(2 * wait, most) : least;
  timer = window.setTimeout(beat, away.value ? wait : every);
}

async function once(): Promise<void> {
  try {
    const res = await api("api/pulse", { headers: pulse.value ? { "If-None-Match": tag } : {} });
    if (res.status === 304) return;
    const now: Pulse = await res.json();
    if (String(now.approvals) !== String(pulse.value?.approvals)) approvals.value = now.approvals?.length ? (await getJSON<ApprovalList>("api/approvals")).approvals || [] : [];
    pulse.value = now;
    tag = res.headers.get("ETag") || ""; // not before its approvals are here
  } catch { /* away says it */ }
}

document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") beat(); });
