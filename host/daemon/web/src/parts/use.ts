// Hooks that several views use.
import { useEffect, useRef, useState } from "preact/hooks";
import { later, Problem, unreachable } from "../core/daemon";
import { shown } from "../core/format";
import { opened } from "../core/route";

// Asked is the state of a request: data stays while it is asked for again.
export interface Asked<T> {
  data?: T;
  problem?: Problem;
  again: () => void;
}

// useAsked asks when one of the values in by changes, again when again is called, and until
// the daemon answers.
export function useAsked<T>(ask: () => Promise<T>, by: unknown[]): Asked<T> {
  const [state, set] = useState<{ data?: T; problem?: Problem }>({});
  const turn = useRef(0);
  const again = () => {
    const mine = ++turn.current;
    ask().then((data) => { if (mine === turn.current) set({ data }); },
      (problem) => {
        if (mine !== turn.current) return;
        set((s) => ({ data: problem.code === unreachable ? s.data : undefined, problem }));
        later(problem, () => { if (mine === turn.current) again(); });
      });
  };
  useEffect(() => { again(); return () => { turn.current++; }; }, by);
  return { ...state, again };
}

// useTitle names in the title of the tab what is open.
export function useTitle(text: string): void {
  useEffect(() => { opened.value = shown(text).slice(0, 60); return () => { opened.value = ""; }; }, [text]);
}

// useEvery calls act again and again while the page is visible; every is in milliseconds.
export function useEvery(every: number, act: () => void): void {
  const held = useRef(act);
  held.current = act;
  useEffect(() => {
    const timer = setInterval(() => { if (document.visibilityState === "visible") held.current(); }, every);
    return () => clearInterval(timer);
  }, [every]);
}

// useKey calls act for a key that is pressed outside of a field and a dialog.
export function useKeys(keys: Record<string, () => void>): void {
  const held = useRef(keys);
  held.current = keys;
  useEffect(() => {
    const listen = (e: KeyboardEvent) => {
      const at = e.target as HTMLElement;
      if (e.isComposing || e.ctrlKey || e.metaKey || e.altKey || at.matches?.("input, textarea, select") || document.querySelector("dialog[open]")) return;
      const act = held.current[e.key];
      if (!act) return;
      e.preventDefault();
      act();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);
}
