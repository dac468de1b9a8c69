// Numbers that a program's number cannot hold: integers beyond 2^53 are kept as their text, where the browser can.

/** Reads JSON. A large integer is a value that is written again as it was read. */
export function parse(text) {
  return JSON.parse(text, (_, value, context) => (isLarge(value) && context?.source && JSON.rawJSON ? JSON.rawJSON(context.source) : value));
}

/** Reads a number as it was written. */
export function number(text) {
  const value = Number(text);
  if (!isLarge(value) || !/^-?\d+$/.test(text.trim())) return value;
  if (!JSON.rawJSON) throw new Error("This browser changes integers beyond 2^53: answer by another client.");
  return JSON.rawJSON(text.trim());
}

function isLarge(value) {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}
