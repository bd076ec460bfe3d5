// Whole sentences for screen readers, so that they are not read letter by letter as they
// arrive.
import { signal } from "@preact/signals";

export const said = signal<{ id: number; text: string }[]>([]);
let waiting = "", count = 0;

// plain leaves out the marks of Markdown, which would be read one by one.
const plain = (text: string): string => text.replace(/^[ \t]*(?:```.*|[-|: \t]{3,}$|#+ |> |[-*+] )/gm, "").replace(/!?\[([^\]]*)\]\(\S*\)/g, "$1").replace(/\*\*|[`|]/g, "").trim();

// hear adds a piece of text; what is a sentence by now is said.
export function hear(text: string): void {
  waiting += text;
  const ends = [...waiting.matchAll(/[。！？!?\n]|\.(?=\s)/g)];
  if (ends.length) say(ends.at(-1)!.index + 1);
}

// say says what has been heard up to a character.
export function say(upTo = waiting.length): void {
  const id = ++count, text = plain(waiting.slice(0, upTo));
  waiting = waiting.slice(upTo);
  if (!text) return;
  said.value = [...said.value, { id, text }];
  setTimeout(() => { said.value = said.value.filter((s) => s.id !== id); }, 60_000); // later it would be read as a part of the page
}

// tell says a sentence.
export const tell = (text: string): void => hear(`${text}\n`);

// cutShort ends the sentence that is waiting, whose end was lost.
export function cutShort(text: string): void {
  waiting = `${text}\n`;
  say();
}
