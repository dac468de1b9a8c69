// Shows the open questions, each with a form for its answer.

import { button, el, show, time, value } from "./dom.js";
import { field } from "./form.js";

export function questions(view) {
  const element = el("div", { class: "questions", hidden: true });
  // The forms are kept, so that unsent input stays when the session is read again.
  const forms = new Map();
  return {
    element,
    render(open) {
      element.hidden = !open.length;
      const known = new Set();
      const shown = open.map((question) => {
        const name = JSON.stringify([question.invocationId, question.id, question.askedAt]);
        known.add(name);
        if (!forms.has(name)) forms.set(name, form(view, question));
        return forms.get(name);
      });
      for (const name of forms.keys()) if (!known.has(name)) forms.delete(name);
      if (shown.length !== element.childElementCount || shown.some((one, place) => element.children[place] !== one)) {
        show(element, shown);
      }
    },
  };
}

function form(view, question) {
  const to = question.assignee ? ` for ${question.assignee}` : "";
  const head = el(
    "div",
    { class: "bar" },
    el("b", null, question.message || question.function),
    el("span", { class: "dim" }, `${question.nodePath || question.author} asks ${question.id}${to}, ${time(question.askedAt)}`),
  );
  const payload = question.payload === null || question.payload === undefined ? null : value(question.payload, 300);
  return el("section", { class: "question", "data-question": question.id }, head, payload, view.readOnly ? null : answer(view, question));
}

function answer(view, question) {
  const send = (given) => view.move({ answer: { questionId: question.id, invocationId: question.invocationId, value: given } });
  if (question.kind === "credential") {
    return el("p", { class: "dim" }, "A client of the app signs in: the inspector takes no credentials.");
  }
  if (question.kind === "confirmation") {
    return el(
      "div",
      { class: "bar" },
      button("Confirm", () => send({ confirmed: true }), { class: "main" }),
      button("Refuse", () => send({ confirmed: false })),
    );
  }
  const schema = question.kind === "user_input" ? question.responseSchema : {};
  const input = field(schema ?? {});
  const submit = el("button", { type: "submit", class: "main" }, "Answer");
  const shape = el("form", { class: "bar", novalidate: true }, input.element, submit);
  const work = button("", () => send(input.read()));
  shape.addEventListener("submit", (event) => {
    event.preventDefault();
    work.click();
  });
  return shape;
}
