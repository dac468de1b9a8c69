"""Records the texts that google-adk 2.13.0 makes from random instruction templates, for pleach-agent's tests.

    python record_templates.py > crates/pleach-agent/tests/recorded/templates.jsonl

A line is `["template", "text"]`, or `["template", null, "error"]`.
"""
import asyncio
import json
import random
from types import SimpleNamespace

from google.adk.flows.llm_flows.prompt._instructions_utils import inject_session_state
from google.genai import types

STATE = {"k": "v", "null": None, "n": 1, "user:u": "{k}", "app:p": [1.0, {"a": True}], "é": "e", "_1": -2.5e-7}
PIECES = ["{", "{", "{", "}", "}", "}", "k", "k?", "?", " ", "null", "n", "user:u", "app:p", "none", "none?", "é", "_1", "$", "\\",
          ":", ".", "\n", "x y", "artifact.", "artifact.note", "artifact.none?", "1", "temp:t?", "{k}", "{ n }", "{{none?}}", "\u00a0"]


class Artifacts:
    async def load_artifact(self, filename, **_):
        return types.Part(text="a note") if filename == "note" else None


def context():
    session = SimpleNamespace(state=STATE, app_name="a", user_id="u", id="s")
    invocation = SimpleNamespace(session=session, artifact_service=Artifacts())
    return SimpleNamespace(_invocation_context=invocation, agent_name="helper")


async def main():
    rng = random.Random(12)
    seen = set()
    while len(seen) < 1000:
        template = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 9)))
        if "{" not in template or "}" not in template or template in seen:
            continue
        seen.add(template)
        try:
            row = [template, await inject_session_state(template, context())]
        except KeyError as error:
            row = [template, None, error.args[0]]
        print(json.dumps(row, ensure_ascii=False))


asyncio.run(main())
