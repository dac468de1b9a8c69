"""Lets google-adk read and write a session database for the test `interop`.

    adk_check.py sqlite FILE        with SqliteSessionService
    adk_check.py database FILE|URL  with DatabaseSessionService

Every line of standard input is a request, which is a JSON object. Every line of standard output is an answer, either
{"ok": VALUE} or {"error": CLASS, "message": TEXT}. The first answer comes before any request, and has google-adk's version.

    {"do": "get", "app", "user", "id", "config"}     the session or null; without `config` it is also kept
    {"do": "append", "app", "user", "id", "event"}   appends to the kept session
    {"do": "delete", "app", "user", "id"}            deletes the session
    {"do": "list", "app", "user"}                    sessions without events; if `user` is null, the sessions of all users
    {"do": "user_state", "app", "user"}              the state of a user
"""

import asyncio
import json
import os
import sys

from google.adk.events.event import Event
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.version import __version__


def open_service(kind, place):
    if kind == 'sqlite':
        from google.adk.sessions.sqlite_session_service import SqliteSessionService

        return SqliteSessionService(place)
    from google.adk.sessions.database_session_service import DatabaseSessionService

    if '://' not in place:
        return DatabaseSessionService(f'sqlite+aiosqlite:///{place}')
    url, arguments = for_asyncpg(place)
    return DatabaseSessionService(url, connect_args=arguments)


def for_asyncpg(place):
    """Splits libpq's parameters off the URL, because asyncpg takes them as separate arguments."""
    from sqlalchemy import make_url

    url = make_url(place)
    arguments = {}
    if 'options' in url.query:
        settings = url.query['options'].split('-c')[1:]
        arguments['server_settings'] = dict(setting.strip().split('=', 1) for setting in settings)
    if 'sslmode' in url.query:
        arguments['ssl'] = url.query['sslmode']
    plain = url.set(drivername='postgresql+asyncpg', query={})
    return plain.render_as_string(hide_password=False), arguments


def as_json(session):
    return session.model_dump(mode='json', by_alias=True, exclude_none=True)


class Checker:
    """Answers requests about one database."""

    def __init__(self, service):
        self.service = service
        self.kept = {}

    async def get(self, app, user, id, config=None):
        names = dict(app_name=app, user_id=user, session_id=id)
        session = await self.service.get_session(**names, config=config and GetSessionConfig(**config))
        if config is None:
            self.kept[app, user, id] = session
        return session and as_json(session)

    async def append(self, app, user, id, event):
        stored = await self.service.append_event(self.kept[app, user, id], Event.model_validate(event))
        return stored.id

    async def delete(self, app, user, id):
        await self.service.delete_session(app_name=app, user_id=user, session_id=id)

    async def list(self, app, user):
        answer = await self.service.list_sessions(app_name=app, user_id=user)
        return [as_json(session) for session in answer.sessions]

    async def user_state(self, app, user):
        return await self.service.get_user_state(app_name=app, user_id=user)

    async def answer(self, do, **arguments):
        try:
            return {'ok': await getattr(self, do)(**arguments)}
        except Exception as error:
            return {'error': type(error).__name__, 'message': str(error)}


async def main(kind, place):
    # Output of libraries must not mix with the answers.
    answers = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)

    def tell(answer):
        print(json.dumps(answer), file=answers, flush=True)

    service = open_service(kind, place)
    tell({'ok': __version__})
    checker = Checker(service)
    for line in sys.stdin.buffer:
        tell(await checker.answer(**json.loads(line)))
    await service.close()


if __name__ == '__main__':
    asyncio.run(main(*sys.argv[1:]))
