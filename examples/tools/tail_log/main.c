/* tail_log reads the last lines of a file backwards, block by block, so that a log of
   gigabytes costs no more than a short one. Built with wasi-libc, for its files. */
#include <errno.h>
#include <stdio.h>

#include "weir/weir.h"

enum { BLOCK = 64 << 10, MOST = 16 << 20 }; /* bytes; at most MOST are read */

typedef struct {
  char *text; /* the end of the file */
  size_t len;
  bool whole; /* it begins where the file does */
} ending;

static bool holds(const char *line, size_t len, weir_str match) {
  for (size_t i = 0; i + match.len <= len; i++)
    if (memcmp(line + i, match.ptr, match.len) == 0) return true;
  return match.len == 0;
}

/* Where the lines begin of which the last `want` match; *found says how many there are. */
static size_t first(const ending *e, weir_str match, int64_t want, int64_t *found) {
  size_t end = e->len, begin = e->len;
  *found = 0;
  if (end > 0 && e->text[end - 1] == '\n') end--;
  while (end > 0 && *found < want) {
    size_t at = end;
    while (at > 0 && e->text[at - 1] != '\n') at--;
    if (at == 0 && !e->whole) break; /* the rest of this line lies further ahead */
    if (holds(e->text + at, end - at, match)) begin = at, ++*found;
    end = at > 0 ? at - 1 : 0;
    if (at == 0) break;
  }
  return begin;
}

/* Reads twice as much of the end until it holds the lines, or all that may be read. */
static bool read_end(weir_call *c, FILE *f, weir_str match, int64_t want, ending *e) {
  int64_t found;
  if (fseek(f, 0, SEEK_END) != 0) return weir_fail(c, "failed", "Give a file that can be read from its end.", "The file has no end."), false;
  long size = ftell(f);
  for (size_t take = BLOCK;; take *= 2) {
    e->whole = (long)take >= size;
    e->len = e->whole ? (size_t)size : take;
    e->text = weir_alloc(e->len + 1);
    fseek(f, size - (long)e->len, SEEK_SET);
    e->len = fread(e->text, 1, e->len, f);
    first(e, match, want, &found);
    if (e->whole || found >= want || take >= MOST) return true;
  }
}

static void answer(weir_call *c, const ending *e, weir_str match, int64_t want, const char *path) {
  int64_t found;
  size_t at = first(e, match, want, &found);
  weir_source(c, "", path);
  if (found == 0) {
    weir_add(c, weir_say(c, "No line holds this text", "没有包含该文本的行"));
    return weir_add(c, e->whole ? "." : weir_say(c, " in the last 16 MiB.", "（最后 16 MiB 内）。"));
  }
  while (at < e->len) {
    size_t end = at;
    while (end < e->len && e->text[end] != '\n') end++;
    if (holds(e->text + at, end - at, match)) weir_add_n(c, e->text + at, end - at), weir_add(c, "\n");
    at = end + 1;
  }
}

WEIR_TOOL(tail_log) {
  weir_str path = weir_arg_str(c, "path", ""), match = weir_arg_str(c, "match", "");
  int64_t want = weir_arg_int(c, "lines", 100);
  if (weir_failed(c)) return;
  char *name = weir_cstr(path), *full = weir_alloc(path.len + 16);
  snprintf(full, path.len + 16, "/workspace/%s", name);
  FILE *f = fopen(full, "rb");
  if (!f && errno == ENOENT) return weir_fail(c, "bad_args", "Look at the names with another tool, and give one of them.", "There is no such file.");
  if (!f) return weir_fail(c, "denied", "Give a file of the workspace, without .. in its path.", "The file cannot be opened.");
  ending e;
  if (read_end(c, f, match, want, &e)) answer(c, &e, match, want, name);
  fclose(f);
}
