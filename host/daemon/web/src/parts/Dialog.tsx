import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../core/words";
import { Button } from "./Button";

// Dialog is a modal dialog that is open as long as it is rendered.
export function Dialog({ title, close, children, wide = false }: { title: string; close: () => void; children: ComponentChildren; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null), id = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current!.showModal();
    return () => { if (before?.isConnected) before.focus(); };
  }, []);
  return (
    <dialog ref={ref} class={wide ? "" : "small"} aria-labelledby={id} onClose={close}>
      <header class="row">
        <h2 id={id}>{title}</h2>
        <span class="space" />
        <Button onClick={() => ref.current!.close()}>{t("close")}</Button>
      </header>
      {children}
    </dialog>
  );
}
