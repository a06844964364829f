"""Keeps copies of memory files as they were before a rollback.

They are plain files in the home of this site, for people in a hurry who have no site at hand. A rollback itself uses
the stored versions. The newest copies are kept.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web import clock, reasons
from openclaw_web.errors import Refused

from .steps import Step

FOLDER = "rollback-copies"
KEPT = 20  # of each file of an agent


class NoCopy(Refused):
    """A copy could not be written, so nothing else was."""


def store_copies(agent: Agent, steps: Sequence[Step]) -> list[Path]:
    """Copy what the files hold now and return the paths of the copies. Raises NoCopy."""
    folder, moment = settings.HOME_DIR / FOLDER / agent.agent_id, clock.now_ms()
    paths = []
    for step in steps:
        if step.now is not None:
            paths.append(_write_copy(folder, f"{step.name}.{moment}", step.now))
            _remove_old(folder, step.name)
    return paths


def _write_copy(folder, name, data):
    path = folder / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        words = {"path": path, "reason": reasons.describe_os_error(exc)}
        raise NoCopy(_("Nothing was rolled back: %(path)s was not written (%(reason)s).") % words) from exc
    return path


def _remove_old(folder, name):
    """Remove all but the newest copies of a file.

    Their names end with the time when they were made (ms).
    """
    paths = [path for path in folder.glob(f"{name}.*") if path.suffix[1:].isdigit()]
    for path in sorted(paths, key=lambda path: int(path.suffix[1:]))[:-KEPT]:
        path.unlink(missing_ok=True)
