/* echo is the same tool without a language's runtime around it. */
#include "weir/weir.h"

WEIR_TOOL(echo) {
  weir_str text = weir_arg_str(c, "text", "");
  if (!weir_failed(c)) weir_add_str(c, text);
}
