// Renders the Markdown of answers as elements. A model's text becomes text nodes and
// never markup: HTML in it is shown as it is written, links lead to the web or to mail
// and name their host, and images are named and not loaded.
import { el, t } from "./base.js";

export { markdown };

const deepest = 6; // lists, quotes and emphasis nested deeper stay as they are written
const longest = 20000; // characters of a paragraph in which marks are looked for

const fence = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const heading = /^ {0,3}(#{1,6})[ \t]+(.{0,1000}?)[ \t#]{0,1000}$/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const quote = /^ {0,3}> ?/;
const item = /^( {0,8})([-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const divider = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

// markdown shows text in an element. Blocks that have not changed since the last time
// keep their nodes, so that a long answer streams in without being rendered again.
const drawn = new WeakMap();
function markdown(into, text) {
  const before = drawn.get(into) || [], now = blocks(text.split("\n"));
  const key = (b) => `${b.kind} ${b.level || 0} ${b.lines.join("\n")}`;
  let same = 0;
  while (same < before.length && same < now.length && before[same] === key(now[same])) same++;
  while (into.childNodes.length > same) into.lastChild.remove();
  into.append(...now.slice(same).map((b) => draw(b, 0)));
  drawn.set(into, now.map(key));
}

// blocks divides lines into blocks: a kind, and its lines.
function blocks(lines) {
  const out = [];
  let level = 2; // of the heading before; the question above has it
  for (let i = 0; i < lines.length;) {
    const line = lines[i], from = i, head = heading.exec(line), open = fence.exec(line);
    let kind = "text";
    if (!line.trim()) { i++; continue; }
    if (open) {
      const close = new RegExp(`^ {0,3}${open[1][0]}{${open[1].length},}[ \\t]*$`);
      for (i++; i < lines.length && !close.test(lines[i]);) i++;
      out.push({ kind: "code", lines: lines.slice(from + 1, i) });
      i++;
      continue;
    }
    if (head) {
      level = Math.min(head[1].length + 2, level + 1);
      out.push({ kind: "heading", level, lines: [head[2]] });
      i++;
      continue;
    }
    if (rule.test(line)) { kind = "rule"; i++; }
    else if (quote.test(line)) { kind = "quote"; i = until(lines, i, (l) => !quote.test(l)); }
    else if (item.test(line)) { kind = "list"; i = listEnd(lines, i); }
    else if (isTable(lines, i)) { kind = "table"; i = until(lines, i + 2, (l) => !l.includes("|")); }
    else i = until(lines, i + 1, (l, n) => begins(l) || isTable(lines, n));
    out.push({ kind, lines: lines.slice(from, i) });
  }
  return out;
}

// until returns the next line that is empty or of which the block is over.
function until(lines, i, over) {
  while (i < lines.length && lines[i].trim() && !over(lines[i], i)) i++;
  return i;
}

// begins reports whether a line ends the paragraph before it.
const begins = (line) => [fence, heading, rule, quote].some((re) => re.test(line)) || /^ {0,3}(?:[-*+]|1[.)])[ \t]+\S/.test(line);

const isTable = (lines, i) => lines[i].includes("|") && i + 1 < lines.length && lines[i + 1].includes("-") && divider.test(lines[i + 1]) &&
  cells(lines[i]).length === cells(lines[i + 1]).length;

// listEnd returns the line after a list: empty lines belong to it if it goes on.
function listEnd(lines, i) {
  const [, indent, mark] = item.exec(lines[i]), numbered = mark.length > 1;
  for (i++; i < lines.length; i++) {
    const line = lines[i], next = item.exec(line);
    if (!line.trim()) {
      let after = i;
      while (after < lines.length && !lines[after].trim()) after++;
      if (after === lines.length || !(/^ {2,}/.test(lines[after]) || sameList(lines[after]))) return i;
      i = after - 1;
      continue;
    }
    if (next && next[1].length <= indent.length && !sameList(line)) return i;
    if (!next && !/^ {2,}/.test(line) && (begins(line) || !lines[i - 1].trim())) return i;
  }
  return i;

  function sameList(line) {
    const m = item.exec(line);
    return m && !rule.test(line) && (m[2].length > 1) === numbered;
  }
}

function draw(b, depth) {
  if (depth > deepest) return el("p", {}, b.lines.join("\n"));
  switch (b.kind) {
    case "code": return el("pre", { tabindex: 0 }, el("code", {}, b.lines.join("\n")));
    case "heading": return el(`h${b.level}`, {}, ...inline(b.lines[0]));
    case "rule": return el("hr");
    case "quote": return el("blockquote", {}, ...inner(b.lines.map((l) => l.replace(quote, "")), depth));
    case "list": return list(b.lines, depth);
    case "table": return table(b.lines);
  }
  return el("p", {}, ...inline(b.lines.join("\n").trim()));
}

const inner = (lines, depth) => blocks(lines).map((b) => draw(b, depth + 1));

function list(lines, depth) {
  const [, indent, mark] = item.exec(lines[0]), items = [];
  let room = 0; // characters in front of an item's text
  for (const line of lines) {
    const m = item.exec(line);
    if (m && m[1].length <= indent.length + 1) {
      room = m[0].length;
      items.push([line.slice(room)]);
    } else {
      items.at(-1).push(line.slice(Math.min(room, /^ */.exec(line)[0].length)));
    }
  }
  const rows = items.map((its) => {
    const kids = inner(its, depth);
    return el("li", {}, ...(kids[0]?.nodeName === "P" ? [...kids[0].childNodes, ...kids.slice(1)] : kids));
  });
  const start = parseInt(mark, 10);
  return Number.isNaN(start) ? el("ul", {}, ...rows) : el("ol", start === 1 ? {} : { start }, ...rows);
}

// cells divides a row at its bars; a bar with a backslash is a character.
const cells = (row) => row.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((c) => c.trim().replaceAll("\\|", "|"));

function table(lines) {
  const sides = cells(lines[1]).map((c) => (/^:.*:$/.test(c) ? "middle" : c.endsWith(":") ? "right" : ""));
  const row = (name, line) => el("tr", {}, ...cells(line).slice(0, sides.length).map((c, i) => el(name, sides[i] ? { class: sides[i] } : {}, ...inline(c))));
  return el("div", { class: "wide-table", tabindex: 0, role: "region", "aria-label": t("table") },
    el("table", {}, el("thead", {}, row("th", lines[0])), el("tbody", {}, ...lines.slice(2).map((l) => row("td", l)))));
}

// ---- inside a block

const special = /\\[!-/:-@[-`{-~]|`+|\*{1,3}|_{1,3}|~~|!?\[|<?\bhttps?:\/\/|<(?=[\w.+-]+@)/g;
const linked = /(!?)\[((?:[^[\]\\]|\\.|\[[^[\]]*\]){0,1000})\]\([ \t\n]*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:[ \t\n]+(?:"[^"]{0,500}"|'[^']{0,500}'))?[ \t\n]*\)/y;
const bare = /<?(https?:\/\/(?:\([^\s<>()]*\)|[^\s<>`|()，。、；：！？（）「」《》“”])*(?:\([^\s<>()]*\)|[^\s<>`|()，。、；：！？（）「」《》“”.,:;!?'"*_~\]]))>?/y;
const mail = /<([\w.+-]+@[\w-]+(?:\.[\w-]+)+)>/y;

// inline returns the nodes of a text with marks in it.
function inline(text, depth = 0) {
  if (depth > deepest || text.length > longest) return [text];
  const out = [], missing = new Set(); // marks that do not close
  let plain = 0;
  for (const m of text.matchAll(special)) {
    if (m.index < plain) continue; // in a piece that was taken
    const [node, end] = piece(text, m[0], m.index, depth, missing) || [];
    if (!end) continue;
    out.push(text.slice(plain, m.index), node);
    plain = end;
  }
  return [...out, text.slice(plain)].filter((n) => n !== "");
}

// piece returns the node that a mark begins, and where the text goes on; null: the
// mark is a character like any other.
function piece(text, mark, at, depth, missing) {
  const c = mark[0];
  if (c === "\\") return [mark[1], at + 2];
  if (c === "`") {
    const end = closing(text, mark, at + mark.length, missing, (i) => text[i - 1] !== "`" && text[i + mark.length] !== "`");
    return end < 0 ? null : [el("code", {}, text.slice(at + mark.length, end).replaceAll("\n", " ").replace(/^ (.*\S.*) $/, "$1")), end + mark.length];
  }
  if (c === "[" || c === "!") return matched(linked, text, at, (m) => link(m[3], m[1] ? [t("image", { name: m[2] })] : nested(m[2], depth), m[2]));
  if (mark.endsWith("/")) return matched(bare, text, at, (m) => link(m[1], [m[1]], m[1]));
  if (c === "<") return matched(mail, text, at, (m) => link(`mailto:${m[1]}`, [m[1]], m[1]));
  return emphasis(text, mark, at, depth, missing);
}

function emphasis(text, mark, at, depth, missing) {
  const word = (i) => i >= 0 && /[\p{L}\p{N}]/u.test(text[i] || " "), space = (i) => /\s/.test(text[i] || " ");
  const from = at + mark.length, flat = mark[0] === "_";
  if (space(from) || (flat && word(at - 1))) return null;
  const end = closing(text, mark, from, missing, (i) => i > from && !space(i - 1) && text[i - 1] !== "\\" && text[i + mark.length] !== mark[0] && text[i - 1] !== mark[0] && !(flat && word(i + mark.length)));
  if (end < 0) return null;
  const kids = inline(text.slice(from, end), depth + 1);
  if (mark === "~~") return [el("del", {}, ...kids), end + 2];
  if (mark.length === 3) return [el("strong", {}, el("em", {}, ...kids)), end + 3];
  return [el(mark.length === 2 ? "strong" : "em", {}, ...kids), end + mark.length];
}

// closing finds the mark that closes another one; -1: there is none.
function closing(text, mark, from, missing, fits) {
  if (missing.has(mark)) return -1;
  for (let i = text.indexOf(mark, from); i >= 0; i = text.indexOf(mark, i + mark.length)) if (fits(i)) return i;
  missing.add(mark);
  return -1;
}

function matched(re, text, at, make) {
  re.lastIndex = at;
  const m = re.exec(text), node = m && make(m);
  return node ? [node, at + m[0].length] : null;
}

// nested are the nodes of a link's text, in which there are no links.
const nested = (text, depth) => inline(text, depth + 1).map((n) => (n.nodeName === "SPAN" ? n.textContent : n));

// link returns a link that names where it leads, unless its text is the address; null:
// it does not lead to the web or to mail.
function link(address, kids, text) {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !["http:", "https:", "mailto:"].includes(url.protocol) || url.username || !text.trim()) return null;
  const a = el("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, ...kids), where = url.host || url.pathname;
  if ([url.href, address, url.pathname].includes(text)) return el("span", {}, a);
  return el("span", {}, a, el("small", {}, " (", el("bdi", {}, where), ")"));
}
