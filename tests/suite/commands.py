"""Commands within a test, as somebody in a terminal gets them: how they ended, and what they printed and said."""

import csv
import io
from contextlib import redirect_stdout

import orjson
from django.core.management import CommandError, call_command


def run(*words):
    """The exit status of a command, what it printed, and what it said when it failed."""
    out = io.StringIO()
    with redirect_stdout(out):
        try:
            call_command(*words, stdout=out)
        except CommandError as error:
            return error.returncode, out.getvalue(), str(error)
    return 0, out.getvalue(), ""


def reflection(*words):
    """The same of `reflection`, for the agent ada."""
    return run("reflection", *words, "--agent", "ada")


def read_answer(*words):
    """What `reflection` tells a person about ada, printed or as a failure, and how it ended."""
    status, out, error = reflection(*words)
    return out + error, status


def rows_of(text, kind):
    """The rows of a file that a command wrote, as dictionaries."""
    if kind == "csv":
        return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    return orjson.loads(text) if kind == "json" else [orjson.loads(line) for line in text.splitlines()]
