"""Holds one conversation in one session, alternately with two servers on one database.

usage: converse.py OURS GOOGLE_ADK

Each server must continue the session that the other server has stored. The program fails at the first difference.
"""

import json
import sys
import time

import httpx

APP, USER, SESSION = "demo", "ana", "shared"
SESSIONS = f"/apps/{APP}/users/{USER}/sessions"


def ready(client, base):
    """Waits until a server answers, because google-adk takes seconds to load."""
    end = time.monotonic() + 120
    while True:
        try:
            if client.get(base + "/health").status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < end, f"{base} does not answer"
        time.sleep(0.1)


class Conversation:
    def __init__(self, client, ours, theirs):
        self.client, self.ours, self.theirs = client, ours, theirs
        self.stored = []

    def send(self, base, parts, stream=False):
        """Sends a message and returns the complete events of the run."""
        body = {"appName": APP, "userId": USER, "sessionId": SESSION, "newMessage": {"role": "user", "parts": parts}}
        if not stream:
            reply = self.client.post(base + "/run", json=body)
            assert reply.status_code == 200, (base, reply.status_code, reply.text)
            events = reply.json()
        else:
            with self.client.stream("POST", base + "/run_sse", json=body | {"streaming": True}) as reply:
                assert reply.status_code == 200, (base, reply.status_code)
                lines = [line for line in reply.iter_lines() if line.startswith("data: ")]
            events = [json.loads(line[len("data: "):]) for line in lines]
            assert not any("error" in event for event in events), (base, events)
            events = [event for event in events if not event.get("partial")]
        self.both_have_stored(events)
        return events

    def both_have_stored(self, events):
        """Checks that both servers show the same session, with all earlier events and these events at its end."""
        shown = [self.client.get(f"{base}{SESSIONS}/{SESSION}").json() for base in (self.ours, self.theirs)]
        ours, theirs = ([event["id"] for event in session["events"]] for session in shown)
        assert ours == theirs, (ours, theirs)
        assert ours[: len(self.stored)] == self.stored, "an event is lost"
        ids = [event["id"] for event in events]
        # google-adk lists events by their times, which is not always the order in which it sends them.
        assert sorted(ours[-len(ids):]) == sorted(ids), ("sent", ids, "stored", ours[len(self.stored):])
        assert shown[0]["state"] == shown[1]["state"], [session["state"] for session in shown]
        self.stored = ours


def text_of(events):
    parts = events[-1].get("content", {}).get("parts", [])
    return "".join(part.get("text", "") for part in parts)


def call_of(events, name):
    parts = [part for event in events for part in event.get("content", {}).get("parts", [])]
    return next(part["functionCall"] for part in parts if part.get("functionCall", {}).get("name") == name)


def approve(events):
    call = call_of(events, "adk_request_confirmation")
    return [{"functionResponse": {"id": call["id"], "name": call["name"], "response": {"confirmed": True}}}]


def main():
    ours, theirs = sys.argv[1:]
    with httpx.Client(timeout=60, trust_env=False) as client:
        for base in (ours, theirs):
            ready(client, base)
        made = client.post(ours + SESSIONS, json={"sessionId": SESSION, "state": {"topic": "files", "user:lang": "fr"}})
        assert made.status_code == 200, made.text
        talk = Conversation(client, ours, theirs)
        for stream in (False, True):
            for base, name in ((ours, "the scripted model"), (theirs, "google-adk")):
                answer = text_of(talk.send(base, [{"text": "hello"}], stream))
                assert answer.startswith(f"Hello from {name}"), answer
                answer = text_of(talk.send(base, [{"text": "weather"}], stream))
                assert answer == "tool said: [('city', 'Paris'), ('temp_c', 21)]", answer
        # One server asks, and the other one gets the answer.
        for asks, answers in ((ours, theirs), (theirs, ours)):
            for stream in (False, True):
                question = talk.send(asks, [{"text": "delete it"}], stream)
                answer = talk.send(answers, approve(question), stream)
                assert text_of(answer) == "tool said: [('deleted', 'a.txt')]", answer
                assert answer[0]["invocationId"] == question[0]["invocationId"], (question, answer)
        # Both servers change the state.
        for base, key in ((ours, "a"), (theirs, "b")):
            changed = client.patch(f"{base}{SESSIONS}/{SESSION}", json={"stateDelta": {key: 1, f"user:{key}": 2}})
            assert changed.status_code == 200, (base, changed.text)
        state = client.get(f"{ours}{SESSIONS}/{SESSION}").json()["state"]
        expected = {"topic": "files", "user:lang": "fr", "a": 1, "user:a": 2, "b": 1, "user:b": 2}
        assert {key: state.get(key) for key in expected} == expected, state
        print(f"{len(talk.stored)} events")


main()
