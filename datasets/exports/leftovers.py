"""What exports that were killed left: unfinished files are removed when a command begins, and that is said.

Every command comes here, and hardly one finds anything: what settles an export is loaded only then.
"""

import logging
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError
from django.utils.translation import gettext as _

from jobs.models import JobRun
from openclaw_web.disk import drafts

log = logging.getLogger(__name__)


def clear_leftovers(say: Callable[[str], object], *, is_server: bool) -> None:
    """Remove what killed exports left; `say` gets a sentence about each. `is_server`: this process works on jobs.

    Nothing that a living process writes is touched.
    """
    if not any((settings.HOME_DIR / name).exists() for name in ("exports", "state/openclaw.sqlite")):
        return  # a new home: to look into its store would create it
    try:
        removed = drafts.remove_dead_drafts(settings.HOME_DIR / "exports")
        # Also those whose process had no draft yet, or none any more.
        running = JobRun.objects.filter(kind="export", state=JobRun.State.RUNNING)
        found = {*removed, *(job.params["export_id"] for job in running if job.params)}
        if found:
            from . import export_recovery

            export_recovery.recover_exports(sorted(found), removed, say, is_server=is_server)
    except DatabaseError as exc:  # new, not up to date, or damaged: the command itself says what can be said
        log.debug("exports that were killed could not be looked up: %s", exc)
    except OSError as exc:
        say(_("Unfinished files of exports could not be removed: %(why)s.") % {"why": exc})
