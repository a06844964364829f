"""Runs `openclaw-web episodes` in this process, and reads its receipts."""

import io
import json

from django.core.management import CommandError, call_command

from openclaw_web.clock import DAY_MS

DAY = 1_795_230_631_344  # a time in milliseconds


def run(*words):
    """Run a verb; return its exit status, standard output, and standard error."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("episodes", *words, stdout=out, stderr=err)
    except CommandError as error:
        return error.returncode, out.getvalue(), err.getvalue() + str(error)
    return 0, out.getvalue(), err.getvalue()


def ask(*words):
    """Return the receipt of a verb that succeeds."""
    status, out, err = run(*words, "--json")
    assert status == 0, out + err
    return json.loads(out)


def fail(*words):
    """Return the exit status and the receipt of a verb that fails."""
    status, out, _err = run(*words)
    assert status, out
    return status, json.loads(out)


def append(event_id, summary="done", *more, scope="alpha", session="s", event_type="ops.decision"):
    """Append an event and return its receipt."""
    return ask(
        *("append", "--event-id", event_id, "--scope", scope, "--session-id", session, "--agent-id", "lyria"),
        *("--type", event_type, "--summary", summary, *more),
    )


def at(days_before):
    """Return the option for the time of an event."""
    return ("--ts-ms", str(DAY - days_before * DAY_MS))


def names(receipt):
    return [item["event_id"] for item in receipt["items"]]
