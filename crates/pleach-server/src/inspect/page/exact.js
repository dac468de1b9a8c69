// Keeps integers beyond 2^53 exact, which JavaScript numbers would round, if the browser supports that.

/** Parses JSON. Large integers become values that are written again as they were read. */
export function parse(text) {
  return JSON.parse(text, (_, value, context) => (isLarge(value) && context?.source && JSON.rawJSON ? JSON.rawJSON(context.source) : value));
}

/** Parses a number without rounding it. */
export function number(text) {
  const value = Number(text);
  if (!isLarge(value) || !/^-?\d+$/.test(text.trim())) return value;
  if (!JSON.rawJSON) throw new Error("This browser rounds integers beyond 2^53: answer with another client.");
  return JSON.rawJSON(text.trim());
}

function isLarge(value) {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}
