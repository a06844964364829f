"""Kinds of jobs for tests, and a command of openclaw-web that knows them.

`python -m tests.jobs.jobs_for_tests <command>`.
"""

import time
from dataclasses import replace
from pathlib import Path

from jobs.kinds import Kind, Schedule
from openclaw_web.errors import Refused


def lines(params, progress):
    """Number the lines of a file up to `count`, after the last complete line.

    With a `gate`, a file that contains a number, the job waits at that number until it has grown.
    """
    file = Path(params["file"])
    complete = file.read_bytes().rpartition(b"\n") if file.exists() else (b"", b"", b"")
    with file.open("ab") as output:
        output.truncate(len(complete[0]) + len(complete[1]))
        for number in range(complete[0].count(b"\n") + len(complete[1]), params["count"]):
            while "gate" in params and number >= int(Path(params["gate"]).read_text() or 0):
                time.sleep(0.01)
            progress.log(f"line {number}")
            output.write(f"{number}\n".encode())
            output.flush()
            progress.update(number + 1, params["count"], "Writing lines")
            time.sleep(params.get("pause", 0))
    return {"lines": params["count"]}


def refuses(params, progress):
    """Refuse, and name rows."""
    raise Refused("Nothing is approved yet. Approve a sample first.", reasons=[{"id": "sample-1", "reason": "pending"}])


def fails(params, progress):
    """Raise an exception with a person's words in its message."""
    raise ValueError("the words of a person")


def chatters(params, progress):
    """Write more log than is kept."""
    for number in range(params["count"]):
        progress.log(f"{number} " + "x" * params["width"])
    return {}


def stays_put(params, progress):
    """Reach the same progress in each attempt, and kill the process there."""
    import os
    import signal

    progress.update(1, 10)
    time.sleep(params["pause"])
    os.kill(os.getpid(), signal.SIGKILL)


def is_taken_over(params, progress):
    """Report progress after another worker got the run."""
    from jobs.models import JobRun

    JobRun.objects.update(worker="another worker")
    progress.is_lost = True  # as the heartbeat would set it
    progress.update(1, 1)
    return {"never": "written"}


def _kind(run):
    return Kind(run=run, label=run.__name__, audit_text=f"started {run.__name__}", cancel_text="Its lines are kept.")


LINES, REFUSES, FAILS, CHATTERS = _kind(lines), _kind(refuses), _kind(fails), _kind(chatters)
STAYS_PUT, IS_TAKEN_OVER = _kind(stays_put), _kind(is_taken_over)
TERMINAL_LINES = replace(LINES, ends_with_terminal=True)
NAMES = ("terminal_lines", "lines", "refuses", "fails", "chatters", "stays_put", "is_taken_over")
KINDS = {name: f"tests.jobs.jobs_for_tests.{name.upper()}" for name in NAMES}


def raise_unreadable():
    """Raise what a kind raises that cannot tell whether there is something to do."""
    raise Refused("MEMORY.md cannot be read.")


UNKNOWN = replace(_kind(lines), schedule=Schedule("schedule.signatureMinutes", 1, dict, raise_unreadable))


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
