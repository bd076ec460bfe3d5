// Light or dark: as the system says, or as a person has chosen for this browser.
import { effect, signal } from "@preact/signals";
import { recall, remember } from "./storage";

export type Theme = "system" | "light" | "dark";

export const theme = signal<Theme>((recall("weir.theme") as Theme | null) || "system");

effect(() => { document.documentElement.dataset.theme = theme.value; });

export function chosenTheme(now: Theme): void {
  theme.value = now;
  remember("weir.theme", now === "system" ? null : now);
}
