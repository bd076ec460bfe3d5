// How the page starts.
import { effect } from "@preact/signals";
import { render } from "preact";
import { key, logIn, logOut, refused, whoAmI } from "./core/daemon";
import { beat, pulse } from "./core/pulse";
import { go, to } from "./core/route";
import { refresh } from "./ask/state";
import { Shell } from "./shell";
import type { View } from "./views";

// enter takes a token or a code out of the address, and of the history with it.
async function enter(): Promise<void> {
  const hash = new URLSearchParams(location.hash.slice(1)), given = hash.get("token"), code = hash.get("code"), old = hash.get("c");
  if (given || code) go(location.pathname, { replace: true });
  if (old) go(to("ask", [old]), { replace: true }); // an address of an earlier page
  if (given) await logIn({ token: given });
  else if (code) await logIn({ code });
}

// start shows the page with its views.
export async function start(views: View[]): Promise<void> {
  await enter();
  addEventListener("hashchange", () => { if (/^#(token|code|c)=/.test(location.hash)) enter(); });
  effect(() => { if (refused.value && key.peek()) { logOut(); } });
  effect(() => {
    if (!key.value) { pulse.value = null; return; }
    whoAmI();
    refresh();
    beat();
  });
  render(<Shell views={views} />, document.body);
}
