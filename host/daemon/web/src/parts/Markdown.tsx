// Renders the Markdown of answers. A model's text becomes text nodes and never markup:
// HTML in it is shown as it is written, links lead to the web or to mail and name their
// host, and images are named and not loaded.
import { Lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { memo } from "../core/memo";
import { t } from "../core/words";
import { Copy } from "./Copy";

const longest = 200_000; // characters of an answer in which marks are looked for
const deepest = 12; // lists, quotes and emphasis nested deeper stay as they are written

// Blocks are the blocks of a text so far. A text that grows is lexed again from its last
// block on alone.
export class Blocks {
  private text = "";
  private done: Token[] = [];
  private end = 0; // characters of done

  of(text: string): Token[] {
    if (text.length > longest) return [{ type: "text", raw: text, text }];
    if (!text.startsWith(this.text.slice(0, this.end))) { this.done = []; this.end = 0; }
    this.text = text;
    const rest = Lexer.lex(text.slice(this.end), { gfm: true }) as Token[];
    const all = [...this.done, ...rest];
    // Line ends are normalised by the lexer, so lengths hold only without others.
    if (rest.length > 2 && !text.includes("\r") && !/^ {0,3}\[[^\]]+\]:/m.test(text)) {
      const stable = rest.slice(0, -2);
      this.done = [...this.done, ...stable];
      this.end += stable.reduce((n, b) => n + b.raw.length, 0);
    }
    return all;
  }
}

export function Markdown({ blocks }: { blocks: Token[] }) {
  let level = 2; // of the heading before; the question above has it
  return (
    <div class="text">
      {blocks.map((b, i) => {
        if (b.type === "heading") level = Math.min((b as Tokens.Heading).depth + 2, level + 1);
        return b.type === "space" || b.type === "def" ? null : <Block key={i} token={b} level={level} />;
      })}
    </div>
  );
}

// Block is rendered again when its source changes. Its texts are in the page's language.
const Block = memo(({ token, level }: { token: Token; level: number }) => block(token, level, 0), (a, b) => a.token.raw === b.token.raw && a.level === b.level);

function block(b: Token, level: number, depth: number): VNode | null {
  if (depth > deepest) return <p>{b.raw}</p>;
  switch (b.type) {
    case "space": case "def": return null;
    case "heading": return heading(level, inline((b as Tokens.Heading).tokens, depth));
    case "code": return <CodeBlock text={(b as Tokens.Code).text} lang={(b as Tokens.Code).lang || ""} />;
    case "hr": return <hr />;
    case "blockquote": return <blockquote>{inner((b as Tokens.Blockquote).tokens, level, depth)}</blockquote>;
    case "list": return list(b as Tokens.List, level, depth);
    case "table": return table(b as Tokens.Table, depth);
    case "html": return <p>{b.raw.trim()}</p>;
  }
  const tokens = (b as Tokens.Paragraph).tokens;
  return <p>{tokens ? inline(tokens, depth) : b.raw}</p>;
}

const inner = (tokens: Token[], level: number, depth: number) => tokens.map((b) => block(b, Math.min(level + 1, 6), depth + 1));

function heading(level: number, kids: ComponentChildren): VNode {
  switch (level) {
    case 3: return <h3>{kids}</h3>;
    case 4: return <h4>{kids}</h4>;
    case 5: return <h5>{kids}</h5>;
  }
  return <h6>{kids}</h6>;
}

function CodeBlock({ text, lang }: { text: string; lang: string }) {
  return (
    <div class="code">
      <div class="code-head"><small>{lang.slice(0, 30)}</small><Copy kind="bare" of={() => text} /></div>
      <pre tabIndex={0}><code>{text}</code></pre>
    </div>
  );
}

function list(l: Tokens.List, level: number, depth: number): VNode {
  const items = l.items.map((it, i) => (
    <li key={i}>
      {it.task && <input type="checkbox" disabled checked={Boolean(it.checked)} aria-label={t(it.checked ? "taskDone" : "taskOpen")} />}
      {it.tokens.map((b) => (b.type === "text" ? inline((b as Tokens.Text).tokens || [b], depth + 1) : b.type === "checkbox" ? null : block(b, Math.min(level + 1, 6), depth + 1)))}
    </li>
  ));
  return l.ordered ? <ol start={Number(l.start) || undefined}>{items}</ol> : <ul>{items}</ul>;
}

function table(x: Tokens.Table, depth: number): VNode {
  const side = (i: number) => (x.align[i] === "right" ? "right" : x.align[i] === "center" ? "middle" : "");
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label={t("table")}>
      <table>
        <thead><tr>{x.header.map((c, i) => <th key={i} scope="col" class={side(i)}>{inline(c.tokens, depth)}</th>)}</tr></thead>
        <tbody>{x.rows.map((row, r) => <tr key={r}>{row.map((c, i) => <td key={i} class={side(i)}>{inline(c.tokens, depth)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

// ---- inside a block

function inline(tokens: Token[], depth: number): ComponentChildren[] {
  if (depth > deepest) return tokens.map((x) => x.raw);
  const kids = (x: Token) => inline((x as Tokens.Strong).tokens || [], depth + 1);
  return tokens.map((x) => {
    switch (x.type) {
      case "strong": return <strong>{kids(x)}</strong>;
      case "em": return <em>{kids(x)}</em>;
      case "del": return <del>{kids(x)}</del>;
      case "codespan": return <code>{(x as Tokens.Codespan).text}</code>;
      case "br": return <br />;
      case "escape": return (x as Tokens.Escape).text;
      case "link": return link(x as Tokens.Link, depth);
      case "image": return leads((x as Tokens.Image).href, t("image", { name: (x as Tokens.Image).text }), x.raw);
      case "text": return (x as Tokens.Text).tokens ? kids(x) : plain(x as Tokens.Text);
    }
    return x.raw; // HTML among others
  });
}

// plain is the text of a token as it was written: the lexer escapes nothing else.
const plain = (x: Tokens.Text) => x.raw;

// sentenceEnd is what ends an address that is written in a sentence of Chinese.
const sentenceEnd = /[，。、；：！？（）「」《》“”]/;

function link(x: Tokens.Link, depth: number): ComponentChildren {
  const bare = x.raw === x.text && x.raw === x.href;
  const cut = bare ? x.href.search(sentenceEnd) : -1;
  if (cut > 0) return [leads(x.href.slice(0, cut), x.href.slice(0, cut), x.href.slice(0, cut)), x.href.slice(cut)];
  return leads(x.href, (x.tokens || []).map((k) => (k.type === "link" ? k.raw : inline([k], depth + 1))), x.raw, x.text);
}

// webURL returns an address of the web; null: it is none, or names a user in front of its host.
export function webURL(address: string): URL | null {
  const url = URL.canParse(address) ? new URL(address) : null;
  return url && ["http:", "https:"].includes(url.protocol) && !url.username ? url : null;
}

// leads returns a link that names where it leads, unless its text is the address. An
// address that is neither of the web nor of mail stays as it was written.
function leads(address: string, kids: ComponentChildren, raw: string, text = ""): ComponentChildren {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !["http:", "https:", "mailto:"].includes(url.protocol) || url.username) return raw;
  const a = <a href={url.href} target="_blank" rel="noopener noreferrer">{kids}</a>, where = url.host || url.pathname;
  if ([url.href, address, url.pathname].includes(text || (typeof kids === "string" ? kids : ""))) return <span>{a}</span>;
  return <span>{a}<small> (<bdi>{where}</bdi>)</small></span>;
}
