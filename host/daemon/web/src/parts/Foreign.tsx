import { shown } from "../core/format";

const most = 4000; // characters of one text

// Foreign is text that somebody else wrote: its direction ends with it, hidden characters
// are written out, and its length is bounded. With own the reader sees whose words they are.
export function Foreign({ text, own = false, max = most }: { text: string; own?: boolean; max?: number }) {
  const safe = shown(text.length > max ? `${text.slice(0, max)} …` : text);
  return own ? <q dir="auto">{safe}</q> : <bdi>{safe}</bdi>;
}
