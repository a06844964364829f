"""Removes artifacts that no row, sample, export or other text mentions."""

import re
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from artifacts.store import garbage
from artifacts.store.garbage import GarbageResult
from jobs import services as jobs
from jobs.kinds import Kind, as_json
from jobs.models import JobRun
from jobs.progress import Progress
from openclaw_web.disk import reserve
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import size
from people.audit import log as audit

from .mentions import Mentions

JOB_KIND = "artifact_gc"
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


class WrongAge(Refused):
    """A text that is not an age."""


def collect_garbage(*, older_than: int, is_dry_run: bool, by: str, progress: Progress | None = None) -> GarbageResult:
    """Remove unused artifacts older than `older_than` seconds; with `is_dry_run`, only count them.

    Raises Refused when something that may refer to contents cannot be read; nothing is removed then.
    """
    if not is_dry_run:
        reserve.release(settings.HOME_DIR)
    mentions = Mentions(tell=_build_listener(progress))
    result = GarbageResult(is_dry_run)
    is_complete = False
    try:
        garbage.collect(result, older_than=older_than, also_kept=mentions.find_mentioned)
        is_complete = True
    finally:
        if not is_dry_run and (
            is_complete or result.removed
        ):  # also after an interruption: removed artifacts stay removed
            sums = {"removed": result.removed, "bytes": result.removed_bytes, "kept": result.kept_count}
            audit.record(by, "artifacts_cleared", object_type="artifact", older_than_seconds=older_than, **sums)
    return result


def start_job(*, older_than: int, is_dry_run: bool, by: str) -> JobRun:
    """Queue a garbage collection or its preview; returns the active job if there is one."""
    return jobs.start(JOB_KIND, {"older_than": older_than, "is_dry_run": is_dry_run, "by": by}, by=by)


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Run the job; its result is the receipt."""
    progress.update(0, None, _("Searching for unused artifacts"))
    result = collect_garbage(**params, progress=progress)
    return {"message": in_words(result), **result.as_receipt()}


def _build_listener(progress):
    if progress is None:
        return None
    return lambda agent: progress.update(
        progress.done + 1, None, _("Searching the records of %(agent)s for mentions") % {"agent": agent}
    )


def in_words(result: GarbageResult) -> str:
    """A sentence about removed and kept artifacts."""
    if result.is_dry_run:
        words = ngettext(
            "%(removed)s artifact would be removed (%(size)s), %(kept)s kept%(young)s.",
            "%(removed)s artifacts would be removed (%(size)s), %(kept)s kept%(young)s.",
            result.removed,
        )
    else:
        words = ngettext(
            "%(removed)s artifact removed (%(size)s), %(kept)s kept%(young)s.",
            "%(removed)s artifacts removed (%(size)s), %(kept)s kept%(young)s.",
            result.removed,
        )
    young = _(", %(count)s too recent") % {"count": f"{result.young:,}"} if result.young else ""
    texts = {"removed": f"{result.removed:,}", "size": size(result.removed_bytes), "kept": f"{result.kept_count:,}"}
    return words % (texts | {"young": young})


def parse_age(text: str) -> int:
    """Parse `90`, `90s`, `30m`, `12h`, `7d` or `2w` to seconds. Raises WrongAge."""
    match = re.fullmatch(r"([0-9]{1,9})([smhdw]?)", text, re.ASCII)
    if not match:
        raise WrongAge(_("Enter an age such as 90s, 30m, 12h, 7d or 2w."))
    return int(match[1]) * UNITS[match[2]]


JOB = Kind(
    run=run,
    label=gettext_lazy("Artifact store"),
    audit_text=gettext_lazy("started a cleanup of the artifact store, or a preview"),
    cancel_text=gettext_lazy("Artifacts already removed are not restored; the others are kept."),
    describe_result=as_json,
    page="operations:artifact_store",
)
