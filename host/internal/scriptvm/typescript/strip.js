// Takes the types out of TypeScript. Lines stay; for each line, columns says where its
// tokens came from.
import { transform } from "sucrase";

// Returns as JSON {code, columns}, or {fault: {message, line, column}}. Lines and columns
// begin at 1.
export function strip(source) {
  try {
    const { code, sourceMap } = transform(source, {
      transforms: ["typescript"], disableESTransforms: true, keepUnusedImports: true,
      filePath: "script.js", sourceMapOptions: { compiledFilename: "script.js" },
    });
    return JSON.stringify({ code, columns: shifts(sourceMap.mappings) });
  } catch (error) {
    const { line = 0, column = 0 } = error.loc ?? {};
    const message = error.message.replace("Error transforming script.js: ", "").replace(/ \(\d+:\d+\)$/, "");
    return JSON.stringify({ fault: { message: `SyntaxError: ${message}`, line, column } });
  }
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// For each line, the places at which the distance between the column in the code and that
// in the source changes: [column in the code, column in the source, …], from 0.
function shifts(mappings) {
  let origin = 0; // the column in the source goes on from line to line
  return mappings.split(";").map((line) => {
    const out = [];
    let column = 0, distance = 0;
    for (const segment of line === "" ? [] : line.split(",")) {
      const [forth, , , back] = numbers(segment);
      column += forth;
      origin += back;
      if (origin - column !== distance) {
        distance = origin - column;
        out.push(column, origin);
      }
    }
    return out;
  });
}

// The numbers of a mapping: base64 digits of five bits, the lowest first, the sixth saying
// that more follow; the lowest bit of a number is its sign.
function numbers(segment) {
  const out = [];
  let value = 0, shift = 0;
  for (const c of segment) {
    const digit = DIGITS.indexOf(c);
    value |= (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    out.push(value & 1 ? -(value >> 1) : value >> 1);
    value = shift = 0;
  }
  return out;
}
