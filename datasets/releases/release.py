"""Releases datasets: a job builds the next version."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from ulid import ULID

from jobs import services as jobs
from jobs.kinds import Kind
from jobs.models import JobRun
from jobs.progress import Listener
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sentences import join_sentences

from ..exports.options import check_options
from ..models import Dataset, DatasetVersion
from . import version_builder
from .dataset_store import build_options

JOB_KIND = "dataset_release"
LONGEST_NOTES = 2_000


def start_release(dataset: Dataset, *, by: str, notes: str = "", remade_from: int | None = None) -> JobRun:
    """Queue the job that releases the next version, or return the same one under way.

    `remade_from`: the number of a changed release, whose members it gets. Raises Refused for options that can no longer
    be used, and while another release, of somebody else or with other notes, is under way.
    """
    with transaction.atomic():
        version = _prepare_version(dataset, by, notes, remade_from)
        return jobs.start(JOB_KIND, {"version_id": version.id}, by=by)


def release_here(
    dataset: Dataset, *, by: str, notes: str = "", remade_from: int | None = None, listener: Listener | None = None
) -> DatasetVersion:
    """Release the next version in this process. Raises Refused when nothing was released."""
    with transaction.atomic():  # if this process is killed, the version has a job that says so
        version = _prepare_version(dataset, by, notes, remade_from)
        started = jobs.start(JOB_KIND, {"version_id": version.id}, by=by)
    job = jobs.run_started(started, listener)
    released = DatasetVersion.objects.filter(id=version.id, state=DatasetVersion.State.RELEASED).first()
    if released is None:
        raise Refused(job.message or _("The release was not completed."))
    return released


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Build the version `params["version_id"]`; return its numbers as values of JSON.

    Raises Refused when no sample fits; the number of the version is free again.
    """
    version = DatasetVersion.objects.filter(id=params["version_id"]).select_related("dataset").first()
    if version is None:
        raise Refused(_("This release does not exist any more. Start a new release."))
    if version.state != DatasetVersion.State.RELEASED:
        try:
            version_builder.build_version(version, progress)
        except Refused:
            version_builder.discard_version(version)
            raise
    return {
        "version_id": version.id,
        "dataset_id": version.dataset_id,
        "number": version.number,
        "counts": version.counts,
        "message": describe_release(version),
    }


def describe_release(version: DatasetVersion) -> str:
    """The sentence about a version that was released."""
    sentence = ngettext(
        "Release %(number)s has %(count)s member.", "Release %(number)s has %(count)s members.", version.member_count
    ) % {"number": version.number, "count": f"{version.member_count:,}"}
    judged = version.counts.get("judged_meanwhile", 0)
    if not judged:
        return sentence
    meanwhile = ngettext(
        "%(count)s sample was judged or edited while the release was built: the next release can have it.",
        "%(count)s samples were judged or edited while the release was built: the next release can have them.",
        judged,
    )
    return join_sentences([sentence, meanwhile % {"count": f"{judged:,}"}])


def _prepare_version(dataset, by, notes, remade_from):
    """The version to build: a new one, or the one whose build did not end."""
    if len(notes) > LONGEST_NOTES:
        raise Refused(_("The notes may have at most %(count)s characters.") % {"count": f"{LONGEST_NOTES:,}"})
    check_options(build_options(dataset.options))
    notes = notes.strip()
    unfinished = dataset.versions.filter(state=DatasetVersion.State.BUILDING).first()
    if unfinished:
        return _take_over(unfinished, released_by=by, notes=notes, remade_from=remade_from)
    latest = dataset.versions.order_by("-number").first()
    return DatasetVersion.objects.create(
        id=str(ULID()),
        dataset=dataset,
        number=latest.number + 1 if latest else 1,
        options=dataset.options,
        notes=notes,
        remade_from=remade_from,
        released_by=by,
        released_at=clock.now_ms(),
    )


def _take_over(version, **request):
    """The unfinished version for a new request, unless another one is under way."""
    if request == {name: getattr(version, name) for name in request}:
        return version
    # Whether a job builds a version, or waits to do so.
    job = jobs.find_last(JOB_KIND, {"version_id": version.id})
    if job is not None and not job.has_ended and not (job.state == JobRun.State.RUNNING and jobs.is_lost(job)):
        sentence = _("A release of this dataset is under way, started by %(name)s.")
        raise Refused(sentence % {"name": version.released_by})
    for name, value in request.items():
        setattr(version, name, value)
    version.save(update_fields=list(request))
    return version


def _give_up(params):
    version = DatasetVersion.objects.filter(id=params.get("version_id", "")).first()
    if version and version.state == DatasetVersion.State.BUILDING:
        version_builder.discard_version(version)


JOB = Kind(
    run=run,
    label=gettext_lazy("Release of a dataset"),
    audit_text=gettext_lazy("started a release"),
    cancel_text=gettext_lazy("The unfinished release is removed, and its number is free again."),
    undo=_give_up,
)
