// Marked sets words apart in a text.
export function Marked({ text, words }: { text: string; words: string }) {
  const any = words.trim().split(/\s+/).filter(Boolean).map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  if (!any) return <>{text}</>;
  return <>{text.split(new RegExp(`(${any})`, "giu")).map((part, i) => (i % 2 ? <mark key={i}>{part}</mark> : part))}</>;
}
