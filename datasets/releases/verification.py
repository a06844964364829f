"""Compares a release with its checksum, its samples and the sides of its sessions."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ..dedup.sample_hashes import HASHED, compute_content_hash
from ..models import DatasetSample, DatasetVersion, SessionSide
from .members import MEMBER_COLUMNS, MembersChecksum, get_side_name, read_members

LISTED = 200
GONE, CONTENT, VERDICT, SIDE, MEMBERS = ("gone", "content", "verdict", "side", "members")
COLUMNS = (*MEMBER_COLUMNS, "agent_id", "session_id")


def verify(version: DatasetVersion, report_progress: Callable[[int], None] = lambda _count: None) -> dict[str, Any]:
    """Compare a release with what was released, with its samples and with the sides.

    Returns values of JSON: `is_intact` (members and sides are as released), `is_current` (samples are so too),
    `counts` by kind of difference, and the first `differences`. Kinds: `members` (the checksum differs), `side`,
    `gone`, `content` and `verdict` (the sample was removed, edited or judged since).
    """
    checksum, counts, differences = MembersChecksum(), Counter[str](), list[dict[str, Any]]()
    members = 0
    for batch in read_members(version, COLUMNS):
        checksum.add(batch)
        members += len(batch)
        for difference in _compare_batch(version, batch):
            counts[difference["kind"]] += 1
            if len(differences) < LISTED:
                differences.append(difference)
        report_progress(members)
    if (computed := checksum.finish()) != version.checksum or members != version.member_count:
        counts[MEMBERS] += 1
        differences.insert(0, _describe_members(version, members, computed))
    is_intact = not counts[MEMBERS] and not counts[SIDE]
    result = {"version": version.id, "number": version.number, "members": members, "checksum": computed}
    result |= {"is_intact": is_intact, "is_current": not counts.total(), "counts": dict(+counts)}
    return {**result, "differences": differences, "message": _describe_result(members, counts, is_intact=is_intact)}


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


def _describe_members(version, members, computed):
    if members != version.member_count:
        return {"sample": None, "kind": MEMBERS, "before": str(version.member_count), "now": str(members)}
    return {"sample": None, "kind": MEMBERS, "before": version.checksum, "now": computed}


def _describe_result(members, counts, *, is_intact):
    if not is_intact:
        return _("The release was changed: its members or their sides are not those that were released.")
    compared = ngettext("%(count)s member is as released", "%(count)s members are as released", members) % {
        "count": f"{members:,}"
    }
    if not counts.total():
        return _("%(compared)s, and so are their samples.") % {"compared": compared}
    later = {
        GONE: ngettext("%(count)s sample was removed", "%(count)s samples were removed", counts[GONE]),
        CONTENT: ngettext("%(count)s sample was edited", "%(count)s samples were edited", counts[CONTENT]),
        VERDICT: ngettext("%(count)s sample was judged again", "%(count)s samples were judged again", counts[VERDICT]),
    }
    since = ", ".join(words % {"count": f"{counts[kind]:,}"} for kind, words in later.items() if counts[kind])
    return _("%(compared)s. Since then: %(since)s.") % {"compared": compared, "since": since}
