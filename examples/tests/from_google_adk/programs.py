"""Runs the Python programs of the page, given as JSON on standard input, and writes what each prints as JSON.

One process runs them all: to load google-adk takes longer than they do.
"""

import contextlib
import importlib.metadata
import io
import json
import sys
import traceback
import types


def main():
    request = json.load(sys.stdin)
    # The page names it, and the programs import it.
    scripted = types.ModuleType("scripted")
    sys.modules["scripted"] = scripted
    exec(compile(request["scripted"], "scripted.py", "exec"), scripted.__dict__)
    printed = {name: run(name, code) for name, code in request["programs"].items()}
    json.dump({"google_adk": importlib.metadata.version("google-adk"), "printed": printed}, sys.stdout)


def run(name, code):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(code, f"{name}.py", "exec"), {"__name__": "__main__"})
        except Exception:
            out.write(traceback.format_exc())
    return out.getvalue()


main()
