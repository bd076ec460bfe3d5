/* conform is the tool that every SDK of weir has: it does what its argument "do" says, so
   that the vectors of sdk/testdata/abi can ask each SDK for the same. */
#include "../../weir.h"

static void repeat(weir_call *c, weir_str text) {
  for (int64_t n = weir_arg_int(c, "count", 0); n > 0; n--) weir_add_str(c, text);
}

static void length(weir_call *c, weir_str text) {
  int64_t characters = 0;
  for (size_t i = 0; i < text.len; i++) characters += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
  weir_add_int(c, characters), weir_add(c, " characters, ");
  weir_add_int(c, (int64_t)text.len), weir_add(c, " bytes");
}

static void arguments(weir_call *c) {
  weir_json list = weir_arg(c, "list"), object = weir_arg(c, "object");
  weir_str s;
  weir_add(c, "twice the number is "), weir_add_int(c, (int64_t)(weir_arg_num(c, "number", 0) * 2));
  weir_add(c, ", whole "), weir_add_int(c, weir_arg_int(c, "whole", 7));
  weir_add(c, weir_arg_bool(c, "flag", false) ? ", yes" : ", no");
  weir_add(c, ", list");
  for (weir_json v; (v = weir_next(&list)).kind;)
    if (weir_to_str(v, &s)) weir_add(c, " "), weir_add_str(c, s);
  weir_add(c, ", deep ");
  weir_add_str(c, weir_to_str(weir_get(object, "deep"), &s) ? s : (weir_str){"absent", 6});
}

static void sources(weir_call *c) {
  weir_json list = weir_arg(c, "sources");
  weir_str title, url;
  weir_add(c, "see the sources");
  for (weir_json v; (v = weir_next(&list)).kind;)
    if (weir_to_str(weir_get(v, "title"), &title) && weir_to_str(weir_get(v, "url"), &url))
      weir_source(c, weir_cstr(title), weir_cstr(url));
}

static void more(weir_call *c) {
  weir_json args = weir_arg(c, "args");
  weir_add(c, "the first part");
  weir_more(c, weir_arg_int(c, "shown", 0), weir_arg_int(c, "total", 0), weir_cstr((weir_str){args.ptr, args.len}));
}

static void entries(weir_call *c) {
  weir_json list = weir_arg(c, "list");
  weir_str s;
  weir_add(c, "a list\n"), weir_show(c, weir_arg_int(c, "count", 0));
  for (weir_json v; (v = weir_next(&list)).kind;)
    if (weir_to_str(v, &s)) weir_entry(c), weir_add_str(c, s);
}

static void fetch(weir_call *c) {
  const char *headers[] = {"X-Conform", "yes", NULL};
  weir_request r = {weir_cstr(weir_arg_str(c, "method", "GET")), weir_cstr(weir_arg_str(c, "url", "")), headers, weir_arg_str(c, "body", "")};
  weir_response answer;
  weir_str type = {0};
  if (!weir_http(c, r, &answer)) return;
  weir_to_str(weir_get(answer.headers, "Content-Type"), &type);
  weir_add_int(c, answer.status), weir_add(c, " "), weir_add_str(c, type), weir_add(c, " "), weir_add_str(c, answer.body);
}

static void setting(weir_call *c) {
  weir_str value;
  if (weir_config(c, weir_cstr(weir_arg_str(c, "key", "")), &value)) weir_add_str(c, value);
  else weir_add(c, "not set");
}

WEIR_TOOL(conform) {
  static int64_t calls; /* 1 in every call: each starts fresh */
  weir_str what = weir_arg_str(c, "do", ""), text = weir_arg_str(c, "text", "");
  calls++;
  if (weir_is(what, "echo")) weir_add_str(c, text);
  else if (weir_is(what, "repeat")) repeat(c, text);
  else if (weir_is(what, "length")) length(c, text);
  else if (weir_is(what, "args")) arguments(c);
  else if (weir_is(what, "sources")) sources(c);
  else if (weir_is(what, "more")) more(c);
  else if (weir_is(what, "entries")) entries(c);
  else if (weir_is(what, "http")) fetch(c);
  else if (weir_is(what, "config")) setting(c);
  else if (weir_is(what, "state")) weir_add(c, "call "), weir_add_int(c, calls);
  else if (weir_is(what, "trap")) __builtin_trap();
  else if (weir_is(what, "say")) weir_add(c, weir_say(c, "good morning", "早上好"));
  else if (weir_is(what, "part")) weir_add(c, "a picture"), weir_part(c, "image/png", "dot.png", "\x89PNG\x00\xff", 6);
  else if (weir_is(what, "log")) weir_log(c, WEIR_WARN, weir_cstr(text)), weir_add(c, "logged");
  else if (weir_is(what, "progress")) weir_progress(c, 1, 2, weir_cstr(text)), weir_add(c, "told");
  else if (weir_is(what, "limits")) {
    weir_add_int(c, weir_max_chars(c)), weir_add(c, " characters, ");
    weir_add_int(c, weir_max_lines(c)), weir_add(c, " lines");
  } else if (weir_is(what, "fail"))
    weir_fail(c, weir_cstr(weir_arg_str(c, "code", "failed")), weir_cstr(weir_arg_str(c, "hint", "")), weir_cstr(text));
  else weir_fail(c, "bad_args", "", "Argument \"do\" names nothing that is known.");
}
