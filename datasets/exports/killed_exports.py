"""Removes the unfinished files of killed exports when a command begins.

Every command calls this, and hardly one finds anything: `recovery`, which recovers an export, is loaded only then.
"""

import logging
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError
from django.utils.translation import gettext as _

from jobs.models import JobRun
from openclaw_web.disk import drafts

log = logging.getLogger(__name__)


def clear_killed_exports(say: Callable[[str], object], *, is_server: bool) -> None:
    """Remove what killed exports left behind; `say` gets a sentence about each.

    `is_server`: this process works on jobs. Files that a living process writes are not touched.
    """
    if not any((settings.HOME_DIR / name).exists() for name in ("exports", "state/openclaw.sqlite")):
        return  # a new home: opening its store would create it
    try:
        removed = drafts.remove_dead_drafts(settings.HOME_DIR / "exports")
        # Also those whose process had no draft yet, or none any more.
        running = JobRun.objects.filter(kind="export", state=JobRun.State.RUNNING)
        export_ids = {*removed, *(job.params["export_id"] for job in running if job.params)}
        if export_ids:
            from . import recovery

            recovery.recover_exports(sorted(export_ids), removed, say, is_server=is_server)
        if is_server:
            from . import recovery

            recovery.remove_stray_indexes()
    except DatabaseError as exc:  # new, not up to date, or damaged: the command itself reports it
        log.debug("exports that were killed could not be looked up: %s", exc)
    except OSError as exc:
        say(_("Unfinished files of exports could not be removed: %(why)s.") % {"why": exc})
