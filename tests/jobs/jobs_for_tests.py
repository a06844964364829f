"""Kinds of jobs that only tests have, and `python -m tests.jobs.jobs_for_tests <command>`: openclaw-web with them."""

import time
from dataclasses import replace
from pathlib import Path

from jobs.kinds import Kind, Schedule
from openclaw_web.errors import Refused


def lines(params, progress):
    """Number the lines of a file up to `count`, going on after the last whole line that is there.

    With a `gate`, a file that holds a number, it gets no further than that until the number has grown.
    """
    file = Path(params["file"])
    there = file.read_bytes().rpartition(b"\n") if file.exists() else (b"", b"", b"")
    with file.open("ab") as output:
        output.truncate(len(there[0]) + len(there[1]))
        for number in range(there[0].count(b"\n") + len(there[1]), params["count"]):
            while "gate" in params and number >= int(Path(params["gate"]).read_text() or 0):
                time.sleep(0.01)
            progress.log(f"line {number}")
            output.write(f"{number}\n".encode())
            output.flush()
            progress.update(number + 1, params["count"], "Writing lines")
            time.sleep(params.get("pause", 0))
    return {"lines": params["count"]}


def refuses(params, progress):
    """Say no, and name rows."""
    raise Refused("Nothing is approved yet. Approve a sample first.", reasons=[{"id": "sample-1", "reason": "pending"}])


def fails(params, progress):
    """A bug, with somebody's words in its message."""
    raise ValueError("the words of a person")


def chatters(params, progress):
    """More log than is kept."""
    for number in range(params["count"]):
        progress.log(f"{number} " + "x" * params["width"])
    return {}


def stays_put(params, progress):
    """Get as far as an attempt before it, and kill the process there."""
    import os
    import signal

    progress.update(1, 10)
    time.sleep(params["pause"])
    os.kill(os.getpid(), signal.SIGKILL)


def is_taken_over(params, progress):
    """Report on after another worker has been given the run."""
    from jobs.models import JobRun

    JobRun.objects.update(worker="another worker")
    progress.is_lost = True  # what the heartbeat would have found
    progress.update(1, 1)
    return {"never": "written"}


def _kind(run):
    return Kind(run=run, label=run.__name__, started=f"started {run.__name__}", kept="Its lines are kept.")


LINES, REFUSES, FAILS, CHATTERS = _kind(lines), _kind(refuses), _kind(fails), _kind(chatters)
STAYS_PUT, IS_TAKEN_OVER = _kind(stays_put), _kind(is_taken_over)
TERMINAL_LINES = replace(LINES, ends_with_terminal=True)
NAMES = ("terminal_lines", "lines", "refuses", "fails", "chatters", "stays_put", "is_taken_over")
KINDS = {name: f"tests.jobs.jobs_for_tests.{name.upper()}" for name in NAMES}


def cannot_be_looked_at():
    """What a kind says of which nobody can tell whether there is something to do."""
    raise Refused("MEMORY.md cannot be read.")


UNKNOWN = replace(_kind(lines), every=Schedule("schedule.signatureMinutes", 1, dict, cannot_be_looked_at))


def main():
    """Run a command of openclaw-web in a process that knows these kinds."""
    import os

    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    django.setup()
    from django.conf import settings

    from openclaw_web.commands import cli

    settings.JOB_KINDS.update(KINDS)
    cli.main()


if __name__ == "__main__":
    main()
