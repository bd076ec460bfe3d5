/* weir.h: write a tool for weir in C. This one header is the whole SDK; include it in
   one .c file of the tool. It needs no libc (clang --target=wasm32 -nostdlib) and works
   with wasi-libc, which adds files, printf and the rest.

     #include "weir.h"

     WEIR_TOOL(greet) {
       weir_str name = weir_arg_str(c, "name", "");
       if (name.len == 0)
         return weir_fail(c, "bad_args", "Give a name.", "Argument \"name\" is empty.");
       weir_add(c, "Hello, ");
       weir_add_str(c, name);
     }

   Its plugin.toml says format = "mcp" for the tool. Return all that you computed: the host
   keeps the whole and cuts what is shown.

   Every call starts with fresh memory, so nothing here is ever freed by hand: what the
   functions hand out lives until the call ends. Where memory runs out the guest stops,
   and the host reports out_of_memory. Texts are UTF-8; lengths are in bytes.

   Names that end in __ or begin with weir__ are not for tools. */
#ifndef WEIR_H
#define WEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __wasi__
#include <stdlib.h>
#include <string.h>
#endif

#define WEIR_API static __attribute__((unused))

/* A text that somebody else keeps. ptr is not ended by a zero byte. */
typedef struct {
  const char *ptr;
  size_t len;
} weir_str;

/* A JSON value as it is written in the arguments. kind is '{', '[', '"', '0' for a number,
   't' or 'f', 'n' for null, and 0 for nothing at all. */
typedef struct {
  const char *ptr;
  size_t len;
  char kind;
} weir_json;

/* A growing text. */
typedef struct {
  char *ptr;
  size_t len, cap;
} weir_buf;

/* One running call. */
typedef struct {
  weir_json args;
  bool posted; /* the call came by the mailbox */
  weir_buf text, sources, parts, more, entries;
  size_t counted; /* bytes of text whose newlines are counted */
  int64_t newlines, entry, show;
  const char *code, *hint;
  weir_str message; /* with code: why the call failed */
} weir_call;

/* ---- what a tool calls ------------------------------------------------------------ */

/* WEIR_TOOL(name) { … } defines a tool, exported under its name. Its body has the call as
   `weir_call *c` and returns nothing. */
#define WEIR_TOOL(name)                                                                  \
  static void name##_tool__(weir_call *c);                                               \
  __attribute__((export_name(#name))) int32_t name##_export__(void) {                    \
    return weir__run(name##_tool__);                                                     \
  }                                                                                      \
  static void name##_tool__(weir_call *c)

/* Arguments by name. A missing or null one gives the fallback. One of another type gives
   it too and fails the call with bad_args, so it is enough to ask weir_failed(c) once
   after the last argument. Whole numbers may be written 5 or 5.0. */
WEIR_API weir_str weir_arg_str(weir_call *c, const char *name, const char *fallback);
WEIR_API int64_t weir_arg_int(weir_call *c, const char *name, int64_t fallback);
WEIR_API double weir_arg_num(weir_call *c, const char *name, double fallback);
WEIR_API bool weir_arg_bool(weir_call *c, const char *name, bool fallback);
/* Lists and objects: kind is '[' or '{'; 0: the argument is missing. */
WEIR_API weir_json weir_arg(weir_call *c, const char *name);

/* The values inside. weir_get is the member of an object, weir_next the next element of a
   list, which is taken off it; both give kind 0 when there is none. The others read one
   value and give false when it is of another type. */
WEIR_API weir_json weir_get(weir_json object, const char *name);
WEIR_API weir_json weir_next(weir_json *list);
WEIR_API bool weir_to_str(weir_json v, weir_str *out);
WEIR_API bool weir_to_int(weir_json v, int64_t *out);
WEIR_API bool weir_to_num(weir_json v, double *out);
/* The value that a text is, such as the body of a response; kind 0: it is none. */
WEIR_API weir_json weir_parse(weir_str text);

/* The answer: text is added to it piece by piece. */
WEIR_API void weir_add(weir_call *c, const char *text);
WEIR_API void weir_add_str(weir_call *c, weir_str text);
WEIR_API void weir_add_n(weir_call *c, const char *text, size_t bytes);
WEIR_API void weir_add_int(weir_call *c, int64_t n);
/* Where the content comes from: a page or a file path; title may be "". */
WEIR_API void weir_source(weir_call *c, const char *title, const char *url);
/* What is added next begins an entry, on a line of its own: a hit, a row, a match. The host
   cuts between two entries and says how many there are. weir_show: how many of them a model
   reads, from the first, where no agent's limit says otherwise. */
WEIR_API void weir_entry(weir_call *c);
WEIR_API void weir_show(weir_call *c, int64_t entries);
/* There is more that the tool did not compute: items in the text, items there are (0: unknown), and the
   arguments to change in the call that goes on, a JSON object ("" for none). */
WEIR_API void weir_more(weir_call *c, int64_t shown, int64_t total, const char *args_json);
/* A picture or other bytes; the model reads one line about it. */
WEIR_API void weir_part(weir_call *c, const char *mime, const char *name, const void *data, size_t bytes);
/* The call failed; the first failure counts, and what was added to the text does not. code
   is one of failed bad_args denied timed_out rate_limited too_large, hint says what to do
   next ("" for nothing), message is one sentence. */
WEIR_API void weir_fail(weir_call *c, const char *code, const char *hint, const char *message);
WEIR_API bool weir_failed(const weir_call *c);

/* How many characters and lines of the answer will be shown: for putting first what matters
   most; cutting is the host's work. Without a word of the host: 8,000 and 500. */
WEIR_API int64_t weir_max_chars(weir_call *c);
WEIR_API int64_t weir_max_lines(weir_call *c);
/* A setting of the manifest; false: it is not set. */
WEIR_API bool weir_config(weir_call *c, const char *key, weir_str *value);
/* The wording in the language of the conversation; English where it is not known. */
WEIR_API const char *weir_say(weir_call *c, const char *en, const char *zh);
/* A line in the host's log, which no model sees. */
enum { WEIR_TRACE, WEIR_DEBUG, WEIR_INFO, WEIR_WARN, WEIR_ERROR };
WEIR_API void weir_log(weir_call *c, int32_t level, const char *text);
/* How far a long call is; total 0: not known. */
WEIR_API void weir_progress(weir_call *c, int64_t done, int64_t total, const char *message);

/* A request, sent by the host if the operator granted the address. Zero fields: GET, no
   headers, no body. headers are pairs of name and value, ended by NULL. */
typedef struct {
  const char *method, *url;
  const char *const *headers;
  weir_str body;
} weir_request;
typedef struct {
  int64_t status;
  weir_str url; /* after redirects */
  weir_str body;
  weir_json headers; /* weir_get(headers, "Content-Type") */
} weir_response;
/* True: there is a response, of whatever status. False: there is none, and the call has
   failed with the host's reason. */
WEIR_API bool weir_http(weir_call *c, weir_request r, weir_response *out);

/* Memory for the rest of the call, eight bytes aligned. Never NULL. */
WEIR_API void *weir_alloc(size_t bytes);
/* A copy that is ended by a zero byte. */
WEIR_API char *weir_cstr(weir_str s);
WEIR_API bool weir_is(weir_str s, const char *text);

/* ---- memory ----------------------------------------------------------------------- */

#ifndef __wasi__
/* The compiler calls these functions. */
__attribute__((weak, no_builtin("memcpy"))) void *memcpy(void *to, const void *from, size_t n) {
  for (size_t i = 0; i < n; i++) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}
__attribute__((weak, no_builtin("memset"))) void *memset(void *to, int v, size_t n) {
  for (size_t i = 0; i < n; i++) ((char *)to)[i] = (char)v;
  return to;
}
__attribute__((weak, no_builtin("memmove"))) void *memmove(void *to, const void *from, size_t n) {
  if (to < from) return memcpy(to, from, n);
  while (n-- > 0) ((char *)to)[n] = ((const char *)from)[n];
  return to;
}
__attribute__((weak, no_builtin("strlen"))) size_t strlen(const char *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}
extern unsigned char __heap_base;
#endif

/* Memory comes in chunks, used again by the next call where a host lets instances live. */
typedef struct weir__chunk {
  struct weir__chunk *next;
  size_t size, used;
} weir__chunk;
static weir__chunk *weir__chunks;

static weir__chunk *weir__more_memory(size_t bytes) {
#ifdef __wasi__
  weir__chunk *k = malloc(bytes);
  if (!k) __builtin_trap();
  k->size = bytes;
#else
  static uintptr_t top; /* the first free byte */
  if (top == 0) top = ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
  uintptr_t end = (uintptr_t)__builtin_wasm_memory_size(0) << 16;
  if (bytes > UINT32_MAX - 0x20000 - top) __builtin_trap();
  if (top + bytes > end && __builtin_wasm_memory_grow(0, (top + bytes - end + 0xffff) >> 16) == (size_t)-1)
    __builtin_trap();
  weir__chunk *k = (weir__chunk *)top;
  top += bytes;
  k->size = bytes;
#endif
  k->used = sizeof(weir__chunk) + 8 & ~(size_t)7;
  k->next = weir__chunks;
  weir__chunks = k;
  return k;
}

WEIR_API void *weir_alloc(size_t bytes) {
  if (bytes > UINT32_MAX / 2) __builtin_trap();
  bytes = (bytes + 7) & ~(size_t)7;
  weir__chunk *k = weir__chunks;
  while (k && k->size - k->used < bytes) k = k->next;
  if (!k) {
    size_t need = bytes + sizeof(weir__chunk) + 8;
    k = weir__more_memory((need < 32768 ? 32768 : need) + 15 & ~(size_t)15);
  }
  void *p = (char *)k + k->used;
  k->used += bytes;
  return p;
}

static void weir__reuse(void) {
  for (weir__chunk *k = weir__chunks; k; k = k->next) k->used = sizeof(weir__chunk) + 8 & ~(size_t)7;
}

static void weir__put(weir_buf *b, const char *p, size_t n) {
  if (b->cap - b->len < n) {
    size_t cap = b->cap * 2 > b->len + n ? b->cap * 2 : b->len + n + 64;
    char *grown = weir_alloc(cap);
    if (b->len) memcpy(grown, b->ptr, b->len);
    b->ptr = grown, b->cap = cap;
  }
  if (n) memcpy(b->ptr + b->len, p, n);
  b->len += n;
}

static void weir__puts(weir_buf *b, const char *s) { weir__put(b, s, strlen(s)); }

static void weir__put_int(weir_buf *b, int64_t n) {
  char digits[20];
  int at = 20;
  uint64_t u = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  do digits[--at] = (char)('0' + u % 10);
  while (u /= 10);
  if (n < 0) weir__puts(b, "-");
  weir__put(b, digits + at, (size_t)(20 - at));
}

WEIR_API char *weir_cstr(weir_str s) {
  char *p = weir_alloc(s.len + 1);
  if (s.len) memcpy(p, s.ptr, s.len);
  p[s.len] = 0;
  return p;
}

WEIR_API bool weir_is(weir_str s, const char *text) {
  if (strlen(text) != s.len) return false;
  for (size_t i = 0; i < s.len; i++)
    if (s.ptr[i] != text[i]) return false;
  return true;
}

static weir_str weir__str(const char *s) { return (weir_str){s, strlen(s)}; }

/* ---- writing JSON ----------------------------------------------------------------- */

/* The bytes of the UTF-8 character at p, 0 when there is none. */
static size_t weir__rune(const unsigned char *p, size_t n) {
  static const unsigned char low[] = {0xa0, 0x90}, high[] = {0x9f, 0x8f}; /* no surrogates, nothing over U+10FFFF */
  if (p[0] < 0x80) return 1;
  size_t size = p[0] >= 0xc2 && p[0] <= 0xdf ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4 : 0;
  if (size == 0 || size > n) return 0;
  for (size_t i = 1; i < size; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  if ((p[0] == 0xe0 && p[1] < low[0]) || (p[0] == 0xf0 && p[1] < low[1])) return 0;
  if ((p[0] == 0xed && p[1] > high[0]) || (p[0] == 0xf4 && p[1] > high[1])) return 0;
  return size;
}

static void weir__put_string(weir_buf *b, weir_str s) {
  static const char hex[] = "0123456789abcdef";
  const unsigned char *p = (const unsigned char *)s.ptr;
  weir__puts(b, "\"");
  for (size_t i = 0, plain = 0; i < s.len || plain < i;) {
    if (i < s.len && p[i] < 0x80 && p[i] >= 0x20 && p[i] != '"' && p[i] != '\\') {
      i++;
      continue;
    }
    size_t size = i < s.len && p[i] >= 0x80 ? weir__rune(p + i, s.len - i) : 0;
    if (size) {
      i += size;
      continue;
    }
    if (plain < i) weir__put(b, s.ptr + plain, i - plain);
    if (i < s.len) {
      char esc[6] = {'\\', (char)p[i], 0, 0, 0, 0};
      if (p[i] >= 0x80) weir__puts(b, "\xef\xbf\xbd");
      else if (p[i] >= 0x20) weir__put(b, esc, 2);
      else if (p[i] == '\n') weir__puts(b, "\\n");
      else {
        esc[1] = 'u', esc[2] = esc[3] = '0', esc[4] = hex[p[i] >> 4], esc[5] = hex[p[i] & 15];
        weir__put(b, esc, 6);
      }
      i++;
    }
    plain = i;
  }
  weir__puts(b, "\"");
}

static void weir__put_field(weir_buf *b, const char *before, weir_str s) {
  weir__puts(b, before);
  weir__put_string(b, s);
}

static const char weir__digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void weir__put_base64(weir_buf *b, const unsigned char *p, size_t n) {
  weir__puts(b, "\"");
  for (size_t i = 0; i < n; i += 3) {
    uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? p[i + 1] : 0u) << 8 | (i + 2 < n ? p[i + 2] : 0u);
    char quad[4] = {weir__digits[v >> 18], weir__digits[v >> 12 & 63], '=', '='};
    if (i + 1 < n) quad[2] = weir__digits[v >> 6 & 63];
    if (i + 2 < n) quad[3] = weir__digits[v & 63];
    weir__put(b, quad, 4);
  }
  weir__puts(b, "\"");
}

static weir_str weir__from_base64(weir_str s) {
  char *out = weir_alloc(s.len / 4 * 3 + 3);
  size_t n = 0;
  uint32_t v = 0, bits = 0;
  for (size_t i = 0; i < s.len && s.ptr[i] != '='; i++) {
    const char *d = weir__digits;
    while (*d && *d != s.ptr[i]) d++;
    if (!*d) break;
    v = v << 6 | (uint32_t)(d - weir__digits), bits += 6;
    if (bits >= 8) bits -= 8, out[n++] = (char)(v >> bits);
  }
  return (weir_str){out, n};
}

/* ---- reading JSON ----------------------------------------------------------------- */

static const char *weir__space(const char *p, const char *end) {
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
  return p;
}

/* The end of the string that begins at p; NULL: it has none. */
static const char *weir__string_end(const char *p, const char *end) {
  for (p++; p < end; p++) {
    if (*p == '"') return p + 1;
    if (*p == '\\') p++;
  }
  return NULL;
}

/* The value at *p; *p then points after it; kind 0: there is no complete value. */
static weir_json weir__value(const char **at, const char *end) {
  const char *p = weir__space(*at, end), *from = p;
  if (p == end) return (weir_json){0};
  char kind = *p == '-' || (*p >= '0' && *p <= '9') ? '0' : *p;
  if (kind == '"') {
    p = weir__string_end(p, end);
  } else if (kind == '{' || kind == '[') {
    for (int depth = 0; p && p < end;) { /* brackets of one kind nest as they must: the host checked */
      if (*p == '"') {
        p = weir__string_end(p, end);
        continue;
      }
      depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
      p++;
      if (depth == 0) break;
    }
    if (p && p[-1] != '}' && p[-1] != ']') p = NULL;
  } else if (kind == '0' || kind == 't' || kind == 'f' || kind == 'n') {
    while (p < end && *p != ',' && *p != '}' && *p != ']' && *p != ' ' && *p != '\n' && *p != '\t' && *p != '\r') p++;
  } else {
    p = NULL;
  }
  if (!p) return (weir_json){0};
  *at = p;
  return (weir_json){from, (size_t)(p - from), kind};
}

WEIR_API weir_json weir_parse(weir_str s) {
  const char *p = s.ptr, *end = s.ptr + s.len;
  weir_json v = weir__value(&p, end);
  return weir__space(p, end) == end ? v : (weir_json){0};
}

WEIR_API weir_json weir_next(weir_json *list) {
  const char *p = list->ptr, *end = list->ptr + list->len;
  if (list->kind != '[' || list->len < 2) return (weir_json){0};
  p++; /* skip the bracket, or the comma that was left in its place */
  weir_json v = weir__value(&p, end - 1);
  p = weir__space(p, end);
  if (v.kind == 0) return v;
  list->ptr = p, list->len = (size_t)(end - p);
  return v;
}

WEIR_API weir_json weir_get(weir_json object, const char *name) {
  const char *p = object.ptr + 1, *end = object.ptr + object.len;
  if (object.kind != '{' || object.len < 2) return (weir_json){0};
  for (end--; p < end; p++) {
    weir_json key = weir__value(&p, end);
    p = weir__space(p, end);
    if (key.kind != '"' || p == end || *p++ != ':') break;
    weir_json v = weir__value(&p, end);
    weir_str k;
    if (weir_to_str(key, &k) && weir_is(k, name)) return v;
    p = weir__space(p, end);
    if (v.kind == 0 || p == end || *p != ',') break;
  }
  return (weir_json){0};
}

static uint32_t weir__hex(const char *p) {
  uint32_t v = 0;
  for (int i = 0; i < 4; i++) {
    char h = p[i];
    v = v << 4 | (uint32_t)(h >= '0' && h <= '9' ? h - '0' : h >= 'a' && h <= 'f' ? h - 'a' + 10 : h >= 'A' && h <= 'F' ? h - 'A' + 10 : 0);
  }
  return v;
}

static size_t weir__put_rune(char *to, uint32_t r) {
  if (r < 0x80) return to[0] = (char)r, 1;
  if (r < 0x800) return to[0] = (char)(0xc0 | r >> 6), to[1] = (char)(0x80 | (r & 63)), 2;
  if (r < 0x10000) return to[0] = (char)(0xe0 | r >> 12), to[1] = (char)(0x80 | (r >> 6 & 63)), to[2] = (char)(0x80 | (r & 63)), 3;
  to[0] = (char)(0xf0 | r >> 18), to[1] = (char)(0x80 | (r >> 12 & 63)), to[2] = (char)(0x80 | (r >> 6 & 63)), to[3] = (char)(0x80 | (r & 63));
  return 4;
}

/* The character that \u at p encodes; *used: the bytes it takes. Half a pair is U+FFFD. */
static uint32_t weir__escaped(const char *p, const char *end, size_t *used) {
  *used = 6;
  if (end - p < 6) return *used = (size_t)(end - p), 0xfffd;
  uint32_t r = weir__hex(p + 2);
  if (r < 0xd800 || r > 0xdfff) return r;
  if (r < 0xdc00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
    uint32_t low = weir__hex(p + 8);
    if (low >= 0xdc00 && low <= 0xdfff) return *used = 12, 0x10000 + ((r - 0xd800) << 10 | (low - 0xdc00));
  }
  return 0xfffd;
}

WEIR_API bool weir_to_str(weir_json v, weir_str *out) {
  if (v.kind != '"') return false;
  const char *p = v.ptr + 1, *end = v.ptr + v.len - 1;
  const char *escape = p;
  while (escape < end && *escape != '\\') escape++;
  if (escape == end) return *out = (weir_str){p, (size_t)(end - p)}, true;
  char *text = weir_alloc(v.len);
  size_t n = 0;
  while (p < end) {
    if (*p != '\\' || p + 1 == end) {
      text[n++] = *p++;
      continue;
    }
    size_t used = 2;
    switch (p[1]) {
    case 'n': text[n++] = '\n'; break;
    case 't': text[n++] = '\t'; break;
    case 'r': text[n++] = '\r'; break;
    case 'b': text[n++] = '\b'; break;
    case 'f': text[n++] = '\f'; break;
    case 'u': n += weir__put_rune(text + n, weir__escaped(p, end, &used)); break;
    default: text[n++] = p[1];
    }
    p += used;
  }
  return *out = (weir_str){text, n}, true;
}

#ifdef __wasi__
static double weir__number(const char *s) { return strtod(s, NULL); }
#else
/* Exact for up to 15 digits and powers of ten up to 22; beyond that the last digits of a
   double may differ from a libc's. */
static double weir__number(const char *s) {
  bool negative = *s == '-', fraction = false;
  double v = 0;
  int power = 0, digits = 0, e = 0;
  for (s += negative; (*s >= '0' && *s <= '9') || *s == '.'; s++) {
    if (*s == '.') {
      fraction = true;
      continue;
    }
    if (digits < 18) v = v * 10 + (*s - '0'), digits += v != 0;
    else power++;
    power -= fraction;
  }
  if (*s == 'e' || *s == 'E') {
    bool minus = *++s == '-';
    for (s += *s == '-' || *s == '+'; *s >= '0' && *s <= '9' && e < 10000; s++) e = e * 10 + (*s - '0');
    power += minus ? -e : e;
  }
  for (; power >= 22; power -= 22) v *= 1e22;
  for (; power > 0; power--) v *= 10;
  for (; power <= -22 && v != 0; power += 22) v /= 1e22;
  double by = 1;
  for (; power < 0; power++) by *= 10;
  v /= by;
  return negative ? -v : v;
}
#endif

WEIR_API bool weir_to_num(weir_json v, double *out) {
  if (v.kind != '0') return false;
  *out = weir__number(weir_cstr((weir_str){v.ptr, v.len}));
  return true;
}

WEIR_API bool weir_to_int(weir_json v, int64_t *out) {
  if (v.kind != '0') return false;
  uint64_t u = 0;
  size_t i = v.ptr[0] == '-';
  for (; i < v.len && v.ptr[i] >= '0' && v.ptr[i] <= '9'; i++) {
    if (u > (INT64_MAX - 9) / 10) return false;
    u = u * 10 + (uint64_t)(v.ptr[i] - '0');
  }
  if (i == v.len) return *out = v.ptr[0] == '-' ? -(int64_t)u : (int64_t)u, true;
  double d = 0; /* 5.0 and 5e0 are whole; over 2^53 a double no longer tells one from the next */
  if (!weir_to_num(v, &d) || d < -9007199254740992.0 || d > 9007199254740992.0) return false;
  return *out = (int64_t)d, (double)*out == d;
}

/* ---- the host --------------------------------------------------------------------- */

#define WEIR_ENV(name) __attribute__((import_module("extism:host/env"), import_name(#name))) weir__##name
#define WEIR_USER(name) __attribute__((import_module("extism:host/user"), import_name(#name))) weir__host_##name

extern uint64_t WEIR_ENV(input_length)(void);
extern uint32_t WEIR_ENV(input_load_u8)(uint64_t);
extern uint64_t WEIR_ENV(input_load_u64)(uint64_t);
extern uint64_t WEIR_ENV(alloc)(uint64_t);
extern void WEIR_ENV(free)(uint64_t);
extern uint64_t WEIR_ENV(length)(uint64_t);
extern uint32_t WEIR_ENV(load_u8)(uint64_t);
extern uint64_t WEIR_ENV(load_u64)(uint64_t);
extern void WEIR_ENV(store_u8)(uint64_t, uint32_t);
extern void WEIR_ENV(store_u64)(uint64_t, uint64_t);
extern void WEIR_ENV(output_set)(uint64_t, uint64_t);
extern void WEIR_ENV(error_set)(uint64_t);
extern uint64_t WEIR_ENV(config_get)(uint64_t);
extern uint64_t WEIR_USER(weir_http)(uint64_t);
extern void WEIR_USER(weir_progress)(uint64_t);
extern void WEIR_USER(weir_log)(int32_t, uint64_t);

/* A copy in the host's memory; 0: it has none left. */
static uint64_t weir__store(weir_str s) {
  uint64_t at = weir__alloc(s.len), word;
  size_t i = 0;
  if (at == 0) return 0;
  for (; i + 8 <= s.len; i += 8) memcpy(&word, s.ptr + i, 8), weir__store_u64(at + i, word);
  for (; i < s.len; i++) weir__store_u8(at + i, (uint8_t)s.ptr[i]);
  return at;
}

/* A copy of the host's memory, which is given back. */
static weir_str weir__load(uint64_t at) {
  size_t n = (size_t)weir__length(at), i = 0;
  char *p = weir_alloc(n);
  for (; i + 8 <= n; i += 8) {
    uint64_t word = weir__load_u64(at + i);
    memcpy(p + i, &word, 8);
  }
  for (; i < n; i++) p[i] = (char)weir__load_u8(at + i);
  weir__free(at);
  return (weir_str){p, n};
}

static weir_str weir__input(void) {
  size_t n = (size_t)weir__input_length(), i = 0;
  char *p = weir_alloc(n);
  for (; i + 8 <= n; i += 8) {
    uint64_t word = weir__input_load_u64(i);
    memcpy(p + i, &word, 8);
  }
  for (; i < n; i++) p[i] = (char)weir__input_load_u8(i);
  return (weir_str){p, n};
}

/* The mailbox, by which a host that knows of it passes arguments and answer in one piece
   each (docs/abi.md). Others do not look at it. */
static struct {
  uint32_t magic, version, state, in_ptr, in_cap, in_len, out_ptr, out_len, err_ptr, err_len, max_chars, max_lines;
} weir__box = {.magic = 0x72696577, .version = 1};
static char weir__room[4096];

__attribute__((export_name("weir_mailbox"))) uint32_t weir__mailbox(void) {
  weir__box.in_ptr = (uint32_t)(uintptr_t)weir__room, weir__box.in_cap = sizeof weir__room;
  return (uint32_t)(uintptr_t)&weir__box;
}

__attribute__((export_name("weir_reserve"))) int32_t weir__reserve(uint32_t bytes) {
  weir__box.in_ptr = (uint32_t)(uintptr_t)weir_alloc(bytes), weir__box.in_cap = bytes;
  return 1;
}

WEIR_API bool weir_config(weir_call *c, const char *key, weir_str *value) {
  (void)c;
  uint64_t k = weir__store(weir__str(key));
  if (k == 0) return false;
  uint64_t at = weir__config_get(k);
  weir__free(k);
  if (at == 0) return false;
  return *value = weir__load(at), true;
}

static int64_t weir__limit(weir_call *c, uint32_t posted, const char *key, int64_t fallback) {
  if (c->posted) return posted ? posted : fallback;
  weir_str s;
  if (!weir_config(c, key, &s)) return fallback;
  int64_t n = 0;
  if (!weir_to_int((weir_json){s.ptr, s.len, s.len ? '0' : 0}, &n) || n <= 0) return fallback;
  return n;
}

WEIR_API int64_t weir_max_chars(weir_call *c) { return weir__limit(c, weir__box.max_chars, "weir.max_chars", 8000); }
WEIR_API int64_t weir_max_lines(weir_call *c) { return weir__limit(c, weir__box.max_lines, "weir.max_lines", 500); }

WEIR_API const char *weir_say(weir_call *c, const char *en, const char *zh) {
  weir_str locale;
  return weir_config(c, "weir.locale", &locale) && weir_is(locale, "zh") ? zh : en;
}

WEIR_API void weir_log(weir_call *c, int32_t level, const char *text) {
  (void)c;
  uint64_t at = weir__store(weir__str(text));
  if (at) weir__host_weir_log(level, at); /* the host frees it */
}

WEIR_API void weir_progress(weir_call *c, int64_t done, int64_t total, const char *message) {
  (void)c;
  weir_buf b = {0};
  weir__puts(&b, "{\"done\":"), weir__put_int(&b, done);
  weir__puts(&b, ",\"total\":"), weir__put_int(&b, total);
  weir__put_field(&b, ",\"message\":", weir__str(message));
  weir__puts(&b, "}");
  uint64_t at = weir__store((weir_str){b.ptr, b.len});
  if (at) weir__host_weir_progress(at);
}

/* ---- arguments and answer --------------------------------------------------------- */

WEIR_API bool weir_failed(const weir_call *c) { return c->code != NULL; }

WEIR_API void weir_fail(weir_call *c, const char *code, const char *hint, const char *message) {
  if (!c->code) c->code = code, c->hint = hint, c->message = weir__str(message);
}

static void weir__wrong(weir_call *c, const char *name, const char *kind) {
  weir_buf m = {0}, h = {0};
  weir__puts(&m, "Argument \""), weir__puts(&m, name), weir__puts(&m, "\" must be "), weir__puts(&m, kind), weir__puts(&m, ".");
  weir__puts(&h, "Give \""), weir__puts(&h, name), weir__puts(&h, "\" as "), weir__puts(&h, kind), weir__puts(&h, ".");
  weir_fail(c, "bad_args", weir_cstr((weir_str){h.ptr, h.len}), weir_cstr((weir_str){m.ptr, m.len}));
}

WEIR_API weir_json weir_arg(weir_call *c, const char *name) {
  weir_json v = weir_get(c->args, name);
  return v.kind == 'n' ? (weir_json){0} : v;
}

WEIR_API weir_str weir_arg_str(weir_call *c, const char *name, const char *fallback) {
  weir_json v = weir_arg(c, name);
  weir_str s = weir__str(fallback);
  if (v.kind && !weir_to_str(v, &s)) weir__wrong(c, name, "a string");
  return s;
}

WEIR_API int64_t weir_arg_int(weir_call *c, const char *name, int64_t fallback) {
  weir_json v = weir_arg(c, name);
  int64_t n = fallback;
  if (v.kind && !weir_to_int(v, &n)) weir__wrong(c, name, "an integer"), n = fallback;
  return n;
}

WEIR_API double weir_arg_num(weir_call *c, const char *name, double fallback) {
  weir_json v = weir_arg(c, name);
  double n = fallback;
  if (v.kind && !weir_to_num(v, &n)) weir__wrong(c, name, "a number");
  return n;
}

WEIR_API bool weir_arg_bool(weir_call *c, const char *name, bool fallback) {
  weir_json v = weir_arg(c, name);
  if (v.kind && v.kind != 't' && v.kind != 'f') weir__wrong(c, name, "true or false");
  return v.kind == 't' || v.kind == 'f' ? v.kind == 't' : fallback;
}

WEIR_API void weir_add_n(weir_call *c, const char *text, size_t bytes) { weir__put(&c->text, text, bytes); }
WEIR_API void weir_add(weir_call *c, const char *text) { weir__puts(&c->text, text); }
WEIR_API void weir_add_str(weir_call *c, weir_str text) { weir__put(&c->text, text.ptr, text.len); }
WEIR_API void weir_add_int(weir_call *c, int64_t n) { weir__put_int(&c->text, n); }

WEIR_API void weir_source(weir_call *c, const char *title, const char *url) {
  weir__put_field(&c->sources, c->sources.len ? ",{\"title\":" : "{\"title\":", weir__str(title));
  weir__put_field(&c->sources, ",\"url\":", weir__str(url));
  weir__puts(&c->sources, "}");
}

WEIR_API void weir_entry(weir_call *c) {
  if (c->text.len && c->text.ptr[c->text.len - 1] != '\n') weir__puts(&c->text, "\n");
  for (; c->counted < c->text.len; c->counted++) c->newlines += c->text.ptr[c->counted] == '\n';
  if (c->entry == c->newlines + 1) return;
  c->entry = c->newlines + 1;
  if (c->entries.len) weir__puts(&c->entries, ",");
  weir__put_int(&c->entries, c->entry);
}

WEIR_API void weir_show(weir_call *c, int64_t entries) { c->show = entries; }

WEIR_API void weir_more(weir_call *c, int64_t shown, int64_t total, const char *args_json) {
  c->more = (weir_buf){0};
  weir__puts(&c->more, "{\"shown\":"), weir__put_int(&c->more, shown);
  weir__puts(&c->more, ",\"total\":"), weir__put_int(&c->more, total);
  if (*args_json) weir__puts(&c->more, ",\"args\":"), weir__puts(&c->more, args_json);
  weir__puts(&c->more, "}");
}

WEIR_API void weir_part(weir_call *c, const char *mime, const char *name, const void *data, size_t bytes) {
  bool image = mime[0] == 'i' && mime[1] == 'm', audio = mime[0] == 'a' && mime[1] == 'u';
  if (image || audio) {
    weir__puts(&c->parts, image ? ",{\"type\":\"image\",\"data\":" : ",{\"type\":\"audio\",\"data\":");
    weir__put_base64(&c->parts, data, bytes);
    weir__put_field(&c->parts, ",\"mimeType\":", weir__str(mime));
    weir__put_field(&c->parts, ",\"name\":", weir__str(name));
    weir__puts(&c->parts, "}");
    return;
  }
  weir_buf uri = {0};
  weir__puts(&uri, "part:"), weir__puts(&uri, name);
  weir__put_field(&c->parts, ",{\"type\":\"resource\",\"resource\":{\"uri\":", (weir_str){uri.ptr, uri.len});
  weir__put_field(&c->parts, ",\"mimeType\":", weir__str(mime));
  weir__puts(&c->parts, ",\"blob\":");
  weir__put_base64(&c->parts, data, bytes);
  weir__puts(&c->parts, "}}");
}

WEIR_API bool weir_http(weir_call *c, weir_request r, weir_response *out) {
  weir_buf b = {0};
  weir__put_field(&b, "{\"method\":", weir__str(r.method ? r.method : "GET"));
  weir__put_field(&b, ",\"url\":", weir__str(r.url));
  weir__puts(&b, ",\"headers\":{");
  for (size_t i = 0; r.headers && r.headers[i]; i += 2) {
    weir__put_field(&b, i ? "," : "", weir__str(r.headers[i]));
    weir__put_field(&b, ":", weir__str(r.headers[i + 1]));
  }
  weir__puts(&b, "},\"body\":");
  weir__put_base64(&b, (const unsigned char *)r.body.ptr, r.body.len);
  weir__puts(&b, "}");
  uint64_t at = weir__store((weir_str){b.ptr, b.len});
  if (at == 0) return weir_fail(c, "too_large", "Send a smaller request.", "The request does not fit the memory of the call."), false;
  uint64_t back = weir__host_weir_http(at);
  weir__free(at);
  if (back == 0) return weir_fail(c, "too_large", "Ask for a smaller answer.", "The answer to a request does not fit the memory of the call."), false;
  weir_json v = weir_parse(weir__load(back)), e = weir_get(v, "error");
  weir_str code = weir__str("failed"), hint = {0}, message = weir__str("The host's answer to a request could not be read."), body = {0};
  *out = (weir_response){.headers = weir_get(v, "headers")};
  if (e.kind != '{' && weir_to_int(weir_get(v, "status"), &out->status)) {
    weir_to_str(weir_get(v, "url"), &out->url);
    if (weir_to_str(weir_get(v, "body"), &body)) out->body = weir__from_base64(body);
    return true;
  }
  weir_to_str(weir_get(e, "code"), &code), weir_to_str(weir_get(e, "hint"), &hint), weir_to_str(weir_get(e, "message"), &message);
  return weir_fail(c, weir_cstr(code), weir_cstr(hint), weir_cstr(message)), false;
}

#define WEIR_MAX_WHOLE (8u << 20)

static weir_buf weir__answer(weir_call *c) {
  weir_buf b = {0};
  if (c->text.len > WEIR_MAX_WHOLE) c->text.len = WEIR_MAX_WHOLE + 1;  // a byte more tells the host that there is more
  weir__put_field(&b, "{\"content\":[{\"type\":\"text\",\"text\":", c->code ? c->message : (weir_str){c->text.ptr, c->text.len});
  weir__puts(&b, "}");
  if (c->code) {
    weir__put_field(&b, "],\"isError\":true,\"error\":{\"code\":", weir__str(c->code));
    weir__put_field(&b, ",\"message\":", c->message);
    weir__put_field(&b, ",\"hint\":", weir__str(c->hint));
    weir__puts(&b, "}}");
    return b;
  }
  weir__put(&b, c->parts.ptr, c->parts.len);
  weir__puts(&b, "],\"sources\":["), weir__put(&b, c->sources.ptr, c->sources.len), weir__puts(&b, "]");
  if (c->more.len) weir__puts(&b, ",\"more\":"), weir__put(&b, c->more.ptr, c->more.len);
  if (c->entries.len) {
    weir__puts(&b, ",\"entries\":{\"lines\":["), weir__put(&b, c->entries.ptr, c->entries.len);
    weir__puts(&b, "],\"show\":"), weir__put_int(&b, c->show), weir__puts(&b, "}");
  }
  weir__puts(&b, ",\"isError\":false}");
  return b;
}

static int32_t weir__run(void (*tool)(weir_call *)) {
  bool posted = weir__box.state == 1;
  if (!posted) weir__reuse();
  weir_str in = posted ? (weir_str){(const char *)(uintptr_t)weir__box.in_ptr, weir__box.in_len} : weir__input();
  weir_call c = {.args = weir_parse(in), .posted = posted};
  if (c.args.kind == '{' || in.len == 0) tool(&c);
  else weir_fail(&c, "bad_args", "Write the arguments as {\"name\": value}.", "The arguments must be a JSON object.");
  weir_buf out = weir__answer(&c);
  if (posted) {
    weir__box.out_ptr = (uint32_t)(uintptr_t)out.ptr, weir__box.out_len = (uint32_t)out.len, weir__box.state = 2;
    return 0;
  }
  uint64_t at = weir__store((weir_str){out.ptr, out.len});
  if (at) return weir__output_set(at, out.len), 0;
  at = weir__store(weir__str("too_large: the result does not fit the memory of the call"));
  if (at) weir__error_set(at);
  return 1;
}

#endif
