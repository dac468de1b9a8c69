// Fields made from a JSON schema. What has no field of its own is written as JSON.

import { el } from "./dom.js";

const DEEPEST = 6;

/** Returns an element, and a function that reads its value or says what is wrong with it. */
export function field(schema, root, depth = 0) {
  const own = resolved(schema, root);
  if (Array.isArray(own.enum)) return choice(own.enum);
  if ("const" in own) return choice([own.const]);
  switch (own.type) {
    case "boolean":
      return choice([true, false]);
    case "integer":
    case "number":
      return number(own);
    case "string":
      return words(own);
    case "object":
      if (own.properties && Object.keys(own.properties).length && depth < DEEPEST) return object(own, root, depth);
  }
  return json(own);
}

/** Follows references into the schema itself, and drops the alternative null of an optional value. */
function resolved(schema, root) {
  let own = schema ?? {};
  for (let step = 0; step < DEEPEST && typeof own?.$ref === "string"; step++) {
    const path = own.$ref.startsWith("#/") ? own.$ref.slice(2).split("/") : [];
    const found = path.reduce((at, word) => (at && Object.hasOwn(at, word) ? at[word] : undefined), root);
    own = path.length && found ? found : {};
  }
  if (Array.isArray(own.anyOf) && own.anyOf.length === 1) return resolved(own.anyOf[0], root);
  return typeof own === "object" && own !== null ? own : {};
}

function labelled(schema, input) {
  if (schema.description) input.title = schema.description;
  return input;
}

function choice(values) {
  const input = el("select", null, values.map((value, place) => el("option", { value: place }, value === true ? "yes" : value === false ? "no" : String(value))));
  return { element: input, read: () => values[Number(input.value)] };
}

function number(schema) {
  const step = schema.type === "integer" ? 1 : "any";
  const input = labelled(schema, el("input", { type: "number", step, min: schema.minimum, max: schema.maximum, required: true, value: schema.default }));
  return {
    element: input,
    read() {
      if (input.value === "" || !input.checkValidity()) throw new Error("A number is missing.");
      return Number(input.value);
    },
  };
}

function words(schema) {
  const input = labelled(schema, el("textarea", { rows: 1, placeholder: schema.description ?? schema.title ?? "text", maxlength: schema.maxLength }));
  input.value = typeof schema.default === "string" ? schema.default : "";
  return { element: input, read: () => input.value };
}

function object(schema, root, depth) {
  const needed = new Set(Array.isArray(schema.required) ? schema.required : []);
  const members = Object.entries(schema.properties).map(([name, inner]) => {
    const made = field(inner, root, depth + 1);
    const isNeeded = needed.has(name);
    const given = el("input", { type: "checkbox", "aria-label": `give ${name}` });
    given.checked = isNeeded || depth === 0;
    given.disabled = isNeeded;
    const title = el("span", { class: "label" }, isNeeded ? null : given, inner?.title && typeof inner.title === "string" ? `${inner.title} (${name})` : name);
    return { name, made, given, element: el("label", { class: "member" }, title, made.element) };
  });
  return {
    element: el("fieldset", null, members.map((member) => member.element)),
    read: () => Object.fromEntries(members.filter((member) => member.given.checked).map((member) => [member.name, member.made.read()])),
  };
}

function json(schema) {
  const hint = schema.type ? `${schema.type} as JSON` : "text, or JSON";
  const input = labelled(schema, el("textarea", { rows: 2, placeholder: hint, class: "code" }));
  return {
    element: input,
    read() {
      try {
        return JSON.parse(input.value);
      } catch (error) {
        // Without a type every text is an answer.
        if (!schema.type && !/^\s*[[{"]/.test(input.value)) return input.value;
        throw new Error(`This is no JSON: ${error.message}`);
      }
    },
  };
}
