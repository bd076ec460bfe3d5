// Saves what the daemon sends as a file.
import { createElement, render } from "preact";
import { t } from "./words";

// save reads an answer to its end and hands it to the browser as a file. progress is
// called with the bytes so far. A broken stream is an error, because a partial file would
// look complete.
export async function save(res: Response, name: string, progress: (bytes: number) => void = () => {}): Promise<number> {
  const reader = res.body!.getReader(), parts: BlobPart[] = [];
  let n = 0;
  for (;;) {
    const { value, done } = await reader.read().catch(() => { throw new Error(t("saveBroke")); });
    if (done) break;
    parts.push(value as BlobPart);
    n += value.length;
    progress(n);
  }
  const url = URL.createObjectURL(new Blob(parts, { type: res.headers.get("Content-Type") || "" })), at = document.createElement("div");
  render(createElement("a", { href: url, download: name }), at);
  (at.firstChild as HTMLAnchorElement).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  return n;
}

// fileName is a name that every system takes.
export const fileName = (title: string, otherwise: string): string => title.replace(/[\\/:*?"<>|\p{C}]+/gu, " ").trim().slice(0, 60) || otherwise;
