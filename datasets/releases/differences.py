"""Compares the members of two releases."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..models import DatasetVersion
from .members import MEMBER_COLUMNS, read_members

LISTED = 20  # samples of each kind of difference
ADDED, GONE, CHANGED, JUDGED, MOVED = KINDS = ("added", "gone", "changed", "judged_again", "moved")
SAMPLE, SIDE, STATUS, LABEL, CONTENT = range(len(MEMBER_COLUMNS))
Member = tuple[Any, ...]


def compare(version: DatasetVersion, other: DatasetVersion) -> dict[str, Any]:
    """The differences from a release to a later one, as values of JSON.

    `added`, `gone`, `changed` (other content), `judged_again` (another verdict) and `moved` (on another side) have a
    `count` and the first `samples`; a sample can be in several. `same` counts the samples without a difference.
    """
    difference: dict[str, Any] = {
        "from": {"id": version.id, "number": version.number},
        "to": {"id": other.id, "number": other.number},
        **{kind: {"count": 0, "samples": []} for kind in KINDS},
        "same": 0,
    }
    for before, after in _pair_members(version, other):
        kinds = find_kinds(before, after)
        difference["same"] += not kinds
        for kind in kinds:
            group = difference[kind]
            group["count"] += 1
            if len(group["samples"]) < LISTED:
                group["samples"].append((after or before or ("",))[SAMPLE])
    return difference


def find_difference(version: DatasetVersion, other: int | None) -> dict[str, Any]:
    """The differences of a release from another one of its dataset; None: the one before.

    Raises Refused when there is none.
    """
    stored = version.counts.get("difference")
    if stored and other in (None, stored["from"]["number"]):
        return stored
    released = DatasetVersion.objects.filter(dataset_id=version.dataset_id, state=DatasetVersion.State.RELEASED)
    before = released.filter(number=other).first() if other is not None else None
    if before is None:
        raise Refused(_("There is no other release to compare with."))
    return compare(before, version)


def find_kinds(before: Member | None, after: Member | None) -> list[str]:
    """The kinds of differences of a member in two releases.

    None where it is not in a release.
    """
    if before is None or after is None:
        return [ADDED if before is None else GONE]
    pairs = {CHANGED: (CONTENT,), JUDGED: (STATUS, LABEL), MOVED: (SIDE,)}
    return [kind for kind, places in pairs.items() if any(before[place] != after[place] for place in places)]


def list_samples(version: DatasetVersion, other: DatasetVersion, kind: str, *, after_sample: str = "") -> Iterator[str]:
    """Yield the ids of the samples with one kind of difference, sorted, those after `after_sample`."""
    for before, after in _pair_members(version, other, after_sample):
        if kind in find_kinds(before, after):
            yield (after or before or ("",))[SAMPLE]


def _pair_members(version, other, after_sample="") -> Iterator[tuple[Member | None, Member | None]]:
    """Both members of each sample, in one pass over both releases."""
    first, second = _iterate(version, after_sample), _iterate(other, after_sample)
    before, after = next(first, None), next(second, None)
    while before is not None or after is not None:
        if after is None or (before is not None and before[SAMPLE] < after[SAMPLE]):
            yield before, None
            before = next(first, None)
        elif before is None or after[SAMPLE] < before[SAMPLE]:
            yield None, after
            after = next(second, None)
        else:
            yield before, after
            before, after = next(first, None), next(second, None)


def _iterate(version, after_sample):
    for batch in read_members(version, after=after_sample):
        yield from batch
