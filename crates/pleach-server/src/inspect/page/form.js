// Makes the fields of a form from a JSON Schema. For values without a suitable field, the user writes JSON.

import { el, text } from "./dom.js";
import { number as exact, parse } from "./exact.js";

const DEEPEST = 6;
/** How many references and alternatives are followed for one field, and how many fields are made for a schema. */
const STEPS = 40;
const MOST = 200;

/** Returns an element and `read`, which returns its value or throws the reason. If the schema cannot be read, the user writes JSON. */
export function field(schema) {
  try {
    const made = build(schema, { root: schema, left: MOST }, 0);
    return made.nullable ? optional(made) : made;
  } catch {
    return json({});
  }
}

function build(schema, budget, depth) {
  const { own, nullable } = resolved(schema, budget.root);
  budget.left -= 1;
  return { ...fieldOf(own, budget, depth), nullable };
}

function fieldOf(own, budget, depth) {
  if (Array.isArray(own.enum)) return choice(own.enum.filter((value) => value !== null), own);
  if ("const" in own) return choice([own.const], { default: own.const });
  switch (own.type) {
    case "boolean":
      return choice([true, false], own);
    case "integer":
    case "number":
      return number(own);
    case "string":
      return words(own);
    case "object":
      if (isObject(own.properties) && Object.keys(own.properties).length && depth < DEEPEST && budget.left > 0) return object(own, budget, depth);
  }
  return json(own);
}

/** Follows references within the schema. For an optional value, removes the alternative null. */
function resolved(schema, root) {
  let own = schema;
  let nullable = false;
  for (let step = 0; step < STEPS; step++) {
    const among = own?.anyOf ?? own?.oneOf;
    if (typeof own?.$ref === "string") {
      own = target(own.$ref, root);
    } else if (Array.isArray(among)) {
      const left = among.filter((one) => one?.type !== "null");
      nullable ||= left.length < among.length;
      if (left.length !== 1) break;
      own = left[0];
    } else if (Array.isArray(own?.type)) {
      const types = own.type.filter((type) => type !== "null");
      nullable ||= types.length < own.type.length;
      own = { ...own, type: types.length === 1 ? types[0] : undefined };
    } else {
      return { own: isObject(own) ? own : {}, nullable };
    }
  }
  return { own: {}, nullable };
}

function target(reference, root) {
  const path = reference.startsWith("#/") ? reference.slice(2).split("/") : [];
  const found = path.reduce((at, word) => (isObject(at) && Object.hasOwn(at, word) ? at[word] : undefined), root);
  return path.length ? found : {};
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function labelled(schema, input) {
  if (typeof schema.description === "string") input.title = schema.description;
  return input;
}

/** A choice among some values. Without a default none is selected, so that a single click cannot send a value. */
function choice(values, schema) {
  const name = (value) => (value === true ? "yes" : value === false ? "no" : text(value));
  const first = values.findIndex((value) => value === schema.default);
  const options = values.map((value, place) => el("option", { value: place, selected: place === first }, name(value)));
  const none = first < 0 ? el("option", { value: "", selected: true }, "choose") : null;
  const input = labelled(schema, el("select", null, none, options));
  return {
    element: input,
    read() {
      if (input.value === "") throw new Error("Nothing is chosen.");
      return values[Number(input.value)];
    },
  };
}

function number(schema) {
  const step = schema.type === "integer" ? 1 : "any";
  const input = labelled(schema, el("input", { type: "number", step, min: schema.minimum, max: schema.maximum, value: schema.default }));
  return {
    element: input,
    read() {
      if (input.value === "" && !input.validity.badInput) throw new Error("A number is missing.");
      if (!input.checkValidity()) throw new Error(input.validationMessage);
      return exact(input.value);
    },
  };
}

function words(schema) {
  const input = labelled(schema, el("textarea", { rows: 1, placeholder: schema.description ?? schema.title ?? "text", maxlength: schema.maxLength }));
  input.value = typeof schema.default === "string" ? schema.default : "";
  return { element: input, read: () => input.value };
}

function object(schema, budget, depth) {
  const needed = new Set(Array.isArray(schema.required) ? schema.required : []);
  const members = Object.entries(schema.properties).map(([name, inner]) => {
    const made = build(inner, budget, depth + 1);
    const isNeeded = needed.has(name);
    const given = isNeeded && !made.nullable ? null : tick(`give ${name}`, isNeeded || depth === 0, made.element);
    const title = el("span", { class: "label" }, given, typeof inner?.title === "string" ? `${inner.title} (${name})` : name);
    const read = () => (given === null || given.checked ? made.read() : isNeeded ? null : undefined);
    return { name, read, element: el("label", { class: "member" }, title, made.element) };
  });
  const value = ({ name, read }) => {
    try {
      return [name, read()];
    } catch (error) {
      throw new Error(`${name}: ${error.message}`);
    }
  };
  return {
    element: el("fieldset", null, members.map((member) => member.element)),
    read: () => Object.fromEntries(members.map(value).filter(([, given]) => given !== undefined)),
  };
}

/** A field whose value may be null. */
function optional(made) {
  const given = tick("give a value", true, made.element);
  return { element: el("span", { class: "member" }, el("span", { class: "label" }, given, "give a value"), made.element), read: () => (given.checked ? made.read() : null) };
}

/** A check box for whether a value is given. */
function tick(name, isGiven, element) {
  const given = el("input", { type: "checkbox", "aria-label": name });
  given.checked = isGiven;
  const mark = () => (element.inert = !given.checked);
  given.addEventListener("change", mark);
  mark();
  return given;
}

function json(schema) {
  const hint = schema.type ? `${schema.type} as JSON` : "text, or JSON";
  const input = labelled(schema, el("textarea", { rows: 2, placeholder: hint, class: "code" }));
  const asText = schema.type ? null : el("input", { type: "checkbox", "aria-label": "as text" });
  const element = asText ? el("span", { class: "member" }, input, el("label", { class: "label", title: "Send 12, true or null as a string" }, asText, "as text")) : input;
  return {
    element,
    read() {
      if (asText?.checked) return input.value;
      try {
        return parse(input.value);
      } catch (error) {
        // If the schema has no type, a text that is not JSON is a valid answer.
        if (!schema.type && !/^\s*[[{"]/.test(input.value)) return input.value;
        throw new Error(`This is not JSON: ${error.message}`);
      }
    },
  };
}
