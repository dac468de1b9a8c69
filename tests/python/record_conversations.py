"""Records the contents that google-adk 2.13.0 makes from random sessions, for pleach-agent's tests.

    python record_conversations.py > crates/pleach-agent/tests/recorded/conversations.txt

A line is `VIEW|SESSION|CONTENTS`. `crates/pleach-agent/src/contents/tests/table.rs` defines the words.
"""
import random

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.flows.llm_flows.context import _contents
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

AUTHORS = {"u": "user", "a": "agent"}


def part(word):
    if word[0] in "cr" and word[1:].isdigit():
        kind = types.FunctionCall if word[0] == "c" else types.FunctionResponse
        rest = {"args": {}} if word[0] == "c" else {"response": {}}
        field = "function_call" if word[0] == "c" else "function_response"
        return types.Part(**{field: kind(id=word[1:], name="f" + word[1:], **rest)})
    if word == "c":
        return types.Part(function_call=types.FunctionCall(name="f"))
    if word == "r":
        return types.Part(function_response=types.FunctionResponse(name="f"))
    if word == "confirm":
        return types.Part(function_call=types.FunctionCall(id="9", name="adk_request_confirmation", args={}))
    if word == "img":
        return types.Part(inline_data=types.Blob(data=b"\1", mime_type="image/png"))
    if word[0] == "~":
        return types.Part(text=word[1:], thought=True)
    return types.Part(text=word)


def event(place, word):
    head, *settings = word.split("/")
    author, what = head.split(":", 1)
    author = AUTHORS.get(author, author)
    parts = [part(p) for p in what.split("+") if p]
    answer = any(p.function_response for p in parts)
    role = "user" if author == "user" or answer else "model"
    e = Event(author=author, content=types.Content(role=role, parts=parts), invocation_id="i", timestamp=float(place))
    for s in settings:
        key, _, value = s.partition("=")
        if key == "b":
            e.branch = value
        elif key == "s":
            e.isolation_scope = value
        elif key == "i":
            e.invocation_id = value
        elif key == "l":
            e.long_running_tool_ids = {value}
        elif key == "ask":
            e.actions.requested_tool_confirmations = {"1": ToolConfirmation()}
        elif key == "to":
            e.actions.transfer_to_agent = "x"
        elif key[0] == "<":
            e.actions.rewind_before_invocation_id = key[1:]
        elif key == "sum":
            start, end = value.split("-")
            e.actions.compaction = EventCompaction(
                start_timestamp=float(start), end_timestamp=float(end),
                compacted_content=types.Content(role="model", parts=[types.Part(text="sum" + value)]))
    return e


def part_word(p):
    if p.function_call:
        return "c" + (p.function_call.id or "")
    if p.function_response:
        return "r" + (p.function_response.id or "")
    if p.inline_data:
        return "img"
    text = p.text or ""
    if "<<<BEGIN" in text:
        text = text.splitlines()[2]
    return ("~" if p.thought else "") + text


def words(contents):
    out = []
    for c in contents:
        quoted = bool(c.parts) and (c.parts[0].text or "").startswith("For context")
        role = "q" if quoted else "u" if c.role == "user" else "m"
        out.append(role + ":" + "+".join(part_word(p) for p in c.parts[1 if quoted else 0:]))
    return " ".join(out)


VIEWS = {
    "all": dict(),
    "none": dict(),
    "nameless": dict(agent_name=""),
    "thoughts": dict(include_thoughts_from_other_agents=True),
    "branch": dict(current_branch="p.q"),
    "scope": dict(isolation_scope="s"),
}


def seen(view, log):
    options = dict(current_branch=None, agent_name="agent", node_path="") | VIEWS[view]
    branch = options.pop("current_branch")
    get = _contents._get_current_turn_contents if view == "none" else _contents._get_contents
    return words(get(branch, log, options.pop("agent_name"), **options))


def one(rng, place):
    author = rng.choice("uuaaaax")
    ids = rng.sample(rng.choice(["12", "12", "123"]), rng.choice([1, 1, 1, 2]))
    kind = rng.choice(["text", "text", "call", "call", "answer", "answer", "answer", "odd"])
    text = "t%d" % place
    settings = []
    if author == "u":
        what = "+".join("r" + i for i in ids) if kind == "answer" else text
    elif kind == "call":
        what = "+".join(rng.choice([["c" + i for i in ids], [text] + ["c" + i for i in ids]]))
        if rng.random() < 0.4:
            settings.append("l=" + ids[0])
    elif kind == "answer":
        what = "+".join("r" + i for i in ids)
        if rng.random() < 0.1:
            settings.append("ask")
    elif kind == "odd":
        what = rng.choice(["~" + text, "~" + text + "+" + text, "", "img", "c", "r", "confirm", text + "+img"])
    else:
        what = text
    if rng.random() < 0.25:
        settings.append("i=" + rng.choice("jk"))
    if rng.random() < 0.12:
        settings.append("b=" + rng.choice(["p", "p.q", "p.q.r", "p.z", "f1@1", "p.q.f1@1", "agent@2"]))
    if rng.random() < 0.06:
        settings.append("s=s")
    if rng.random() < 0.04:
        settings.append("to")
    if place > 2 and rng.random() < 0.04:
        start, end = sorted(rng.sample(range(place), 2))
        return "/".join(["a:", "sum=%d-%d" % (start, end)])
    if place > 3 and rng.random() < 0.02:
        return "u:/i=r%d/<%s" % (place, rng.choice("jk"))
    return "/".join([author + ":" + what] + settings)


def main():
    rng = random.Random(12)
    rows = 0
    while rows < 1500:
        size = rng.choice([3, 4, 5, 6, 8, 12])
        log = [one(rng, place) for place in range(size)]
        view = rng.choice(["all"] * 5 + list(VIEWS))
        print("|".join([view, " ".join(log), seen(view, [event(i, w) for i, w in enumerate(log)])]))
        rows += 1


if __name__ == "__main__":
    main()
