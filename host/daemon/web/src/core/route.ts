// The address of what is open: #/view/part/part?name=value.
import { signal } from "@preact/signals";

export interface Route {
  view: string;
  parts: string[];
  query: URLSearchParams;
}

function read(): Route {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...parts] = path.split("/").map((s) => { try { return decodeURIComponent(s); } catch { return s; } });
  return { view: view || "ask", parts: parts.filter(Boolean), query: new URLSearchParams(query) };
}

export const route = signal<Route>(read());

// opened names what a view shows, for the title of the tab.
export const opened = signal("");

addEventListener("popstate", () => { route.value = read(); });
addEventListener("hashchange", () => { route.value = read(); });

// to returns the address of a view.
export function to(view: string, parts: string[] = [], query: Record<string, string> = {}): string {
  const q = new URLSearchParams(query).toString();
  return `#/${[view, ...parts].map(encodeURIComponent).join("/")}${q ? `?${q}` : ""}`;
}

// go opens an address. With replace it takes the place of the one before, which Back then
// does not open.
export function go(address: string, { replace = false } = {}): void {
  if (address === location.hash) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  route.value = read();
}
