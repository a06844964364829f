"""Compares a release with its seal, its samples and the sides of its sessions."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from jobs import services as jobs
from jobs.kinds import Kind
from jobs.models import JobRun
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sentences import join_sentences

from .. import seals
from ..dedup.sample_hashes import HASHED, compute_content_hash
from ..models import DatasetSample, DatasetVersion, ReleaseSeal, SessionSide
from . import taints
from .members import MEMBER_COLUMNS, get_side_name, read_members

JOB_KIND = "dataset_verify"
LISTED, LISTED_PLACES = 200, 3
GONE, CONTENT, VERDICT, SIDE, MEMBERS = ("gone", "content", "verdict", "side", "members")
COLUMNS = (*MEMBER_COLUMNS, "agent_id", "session_id")


def verify(version: DatasetVersion, report_progress: Callable[[int], None] = lambda _count: None) -> dict[str, Any]:
    """Compare a release with its seal, with its samples and with the sides.

    Returns values of JSON: `is_intact` (release, members and sides are as released), `is_current` (samples are so too),
    `change` (the first difference from the seal, a sentence: the members are not compared then), `counts` by kind of
    difference, `taints` (members that should not be used any more, by reason), and the first `differences`. Kinds:
    `members` (there is a `change`), `side`, `gone`, `content` and `verdict` (the sample was removed, edited or judged
    since).
    """
    seal = ReleaseSeal.objects.defer("contents").filter(version=version).first()
    change = seals.find_change(version)
    counts, differences, members = Counter({MEMBERS: bool(change)}), list[dict[str, Any]](), 0
    tainted: taints.Found = set()
    for batch in read_members(version, COLUMNS) if not change else ():
        members += len(batch)
        for difference in _compare_batch(version, batch):
            counts[difference["kind"]] += 1
            if len(differences) < LISTED:
                differences.append(difference)
        rows = [(sample_id, agent_id, session_id) for sample_id, *_more, agent_id, session_id in batch]
        tainted |= taints.find_batch_taints(rows, version.options.get("include", ()))
        report_progress(members)
    is_intact = not counts[MEMBERS] and not counts[SIDE]
    result = {"version": version.id, "number": version.number, "members": members, "seal": seal and seal.sha256}
    result |= {"is_intact": is_intact, "is_current": not counts.total(), "counts": dict(+counts), "change": change}
    result["taints"] = dict(Counter(reason for _sample_id, reason in tainted))
    result["places"] = [place for place, _sha256 in seals.read_places(version)]
    message = _describe_result(members, counts, change)
    if not change:
        message = join_sentences(
            [
                message,
                _("Its SHA-256 is the same in %(places)s.") % {"places": listed(result["places"][:LISTED_PLACES])},
            ]
        )
    if seal and seal.is_later:
        message = join_sentences([message, _("Its seal was added after the release.")])
    if count := len({sample_id for sample_id, _reason in tainted}):
        message = join_sentences([message, taints.describe_tainted(count)])
    return {**result, "differences": differences, "message": message}


def _compare_batch(version, batch):
    rows = DatasetSample.objects.filter(id__in=[member[0] for member in batch])
    samples = {row["id"]: row for row in rows.values("id", "annotation_status", "label_id", *HASHED)}
    names = {get_side_name(member[5], member[6]) for member in batch}
    known = SessionSide.objects.filter(dataset_id=version.dataset_id, session_id__in=names)
    sides = dict(known.values_list("session_id", "side"))
    for sample_id, side, status, label_id, content_hash, agent_id, session_id in batch:
        if (now := sides.get(get_side_name(agent_id, session_id))) != side:
            yield {"sample": sample_id, "kind": SIDE, "before": side, "now": now}
        sample = samples.get(sample_id)
        if sample is None:
            yield {"sample": sample_id, "kind": GONE, "before": status, "now": None}
            continue
        if (current_hash := compute_content_hash(sample)) != content_hash:
            yield {"sample": sample_id, "kind": CONTENT, "before": content_hash, "now": current_hash}
        if (sample["annotation_status"], sample["label_id"]) != (status, label_id):
            yield {"sample": sample_id, "kind": VERDICT, "before": status, "now": sample["annotation_status"]}


def _describe_result(members, counts, change):
    if change:
        return _("The release was changed. %(change)s") % {"change": change}
    if counts[SIDE]:
        return _("The release is as it was, but sides of its sessions were changed.")
    compared = ngettext("%(count)s member is as released", "%(count)s members are as released", members)
    compared %= {"count": f"{members:,}"}
    if not counts.total():
        return _("%(compared)s, and so are their samples.") % {"compared": compared}
    later = {
        GONE: ngettext("%(count)s sample was removed", "%(count)s samples were removed", counts[GONE]),
        CONTENT: ngettext("%(count)s sample was edited", "%(count)s samples were edited", counts[CONTENT]),
        VERDICT: ngettext("%(count)s sample was judged again", "%(count)s samples were judged again", counts[VERDICT]),
    }
    since = ""
    for kind in filter(counts.get, later):
        since += (since and pgettext("between things of a list", ", ")) + later[kind] % {"count": f"{counts[kind]:,}"}
    return _("%(compared)s. Since then: %(since)s.") % {"compared": compared, "since": since}


def start_verify(version: DatasetVersion, *, by: str) -> JobRun:
    """Queue the comparison of a release, or return the job under way."""
    return jobs.start(JOB_KIND, {"version_id": version.id}, by=by)


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Compare the release `params["version_id"]`. Raises Refused when there is none."""
    released = DatasetVersion.State.RELEASED
    version = DatasetVersion.objects.filter(id=params["version_id"], state=released).first()
    if version is None:
        raise Refused(_("There is no such release. A release can be compared once it is complete."))
    return verify(version, lambda count: progress.update(count, version.member_count))


JOB = Kind(
    run=run,
    label=gettext_lazy("Check of a release"),
    audit_text=gettext_lazy("started the check of a release"),
    cancel_text=gettext_lazy("No result is recorded."),
)
