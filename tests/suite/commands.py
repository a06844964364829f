"""Runs commands within a test and returns status, output and errors."""

import csv
import io
from contextlib import redirect_stdout

import orjson
from django.core.management import CommandError, call_command


def run(*words):
    """The exit status of a command, its output, and its error text if it failed."""
    out = io.StringIO()
    with redirect_stdout(out):
        try:
            call_command(*words, stdout=out)
        except CommandError as error:
            return error.returncode, out.getvalue(), str(error)
    return 0, out.getvalue(), ""


def reflection(*words):
    """Run `reflection` for the agent ada in the same way."""
    return run("reflection", *words, "--agent", "ada")


def read_answer(*words):
    """The output and errors of `reflection` for ada as one text, and the exit status."""
    status, out, error = reflection(*words)
    return out + error, status


def parse_rows(text, kind):
    """The rows of a file that a command wrote, as dictionaries."""
    if kind == "csv":
        return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    return orjson.loads(text) if kind == "json" else [orjson.loads(line) for line in text.splitlines()]
