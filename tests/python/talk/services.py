"""Lets `adk api_server` keep its sessions in one schema of a Postgres database.

The URI is libpq's URI with the prefix `schema+`. google-adk itself would pass only the location of a database to its
driver, and not the options in the URI.
"""

import sys
from pathlib import Path

from google.adk.cli.service_registry import get_service_registry
from google.adk.sessions.database_session_service import DatabaseSessionService

sys.path.append(str(Path(__file__).resolve().parent.parent))
from adk_check import for_asyncpg  # noqa: E402


def in_a_schema(uri, **_):
    url, arguments = for_asyncpg(uri.removeprefix("schema+"))
    return DatabaseSessionService(url, connect_args=arguments)


for scheme in ("postgres", "postgresql"):
    get_service_registry().register_session_service(f"schema+{scheme}", in_a_schema)
