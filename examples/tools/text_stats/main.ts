/**
 * text_stats counts what a text is made of: a model sees tokens, and cannot.
 */
import { Call, run } from "./weir/weir";
export { weir_mailbox, weir_reserve } from "./weir/weir";

export function text_stats(): i32 { return run(answer); }

class Stats {
  characters: i32 = 0; // code points
  han: i32 = 0;
  words: i32 = 0;
  sentences: i32 = 0;
  lines: i32 = 0;
  seen: Map<string, i32> = new Map();
}

function answer(c: Call): void {
  const text = c.argStr("text"), top = <i32>c.argInt("top", 5);
  if (c.failed()) return;
  if (text == "") return c.fail("bad_args", "Give the text to count.", 'Argument "text" is empty.');
  const s = count(text);
  line(c, c.say("characters", "字符"), s.characters);
  line(c, c.say("words", "词"), s.words);
  if (s.han > 0) line(c, c.say("Chinese characters", "汉字"), s.han);
  line(c, c.say("sentences", "句"), s.sentences);
  line(c, c.say("lines", "行"), s.lines);
  const seconds = (s.words * 60) / 230 + (s.han * 60) / 300; // words and characters a minute
  line(c, c.say("seconds to read", "阅读所需秒数"), seconds);
  for (let i = 0; i < top; i++) {
    const word = mostFrequent(s.seen);
    if (word == "") break;
    line(c, '"' + word + '"', s.seen.get(word));
    s.seen.delete(word);
  }
}

function line(c: Call, what: string, n: i32): void { c.add(what + ": " + n.toString() + "\n"); }

function count(text: string): Stats {
  const s = new Stats();
  let from = -1; // where the word begins that we are in
  let open = false; // a sentence has begun
  for (let i = 0; i < text.length; i++, s.characters++) {
    const c = text.codePointAt(i);
    const inWord = isWord(c) || (c == 0x27 && from >= 0);
    if (inWord && from < 0) from = i;
    if (!inWord && from >= 0) from = add(s, text, from, i);
    if (isHan(c)) s.han++;
    if (inWord || isHan(c)) open = true;
    if (open && (c == 0x2e || c == 0x21 || c == 0x3f || c == 0x3002 || c == 0xff01 || c == 0xff1f)) {
      s.sentences++;
      open = false;
    }
    if (c == 10) s.lines++;
    if (c > 0xffff) i++;
  }
  if (from >= 0) add(s, text, from, text.length);
  if (open) s.sentences++;
  if (!text.endsWith("\n")) s.lines++;
  return s;
}

function add(s: Stats, text: string, from: i32, to: i32): i32 {
  const word = text.substring(from, to).toLowerCase();
  s.words++;
  s.seen.set(word, (s.seen.has(word) ? s.seen.get(word) : 0) + 1);
  return -1;
}

/** Letters and digits of scripts that part words by blanks. */
function isWord(c: i32): bool {
  if (c < 0x80) return (c >= 48 && c <= 57) || (c >= 65 && c <= 90) || (c >= 97 && c <= 122);
  return (c >= 0xc0 && c < 0x2000 && c != 0xd7 && c != 0xf7) || (c >= 0xac00 && c <= 0xd7a3);
}

function isHan(c: i32): bool { return (c >= 0x3400 && c <= 0x9fff) || (c >= 0x20000 && c <= 0x3ffff); }

/** The most frequent word, of several the one that came first; "": none is there twice. */
function mostFrequent(seen: Map<string, i32>): string {
  const words = seen.keys();
  let best = "", most = 1;
  for (let i = 0; i < words.length; i++) {
    const n = seen.get(words[i]);
    if (n > most) {
      most = n;
      best = words[i];
    }
  }
  return best;
}
