"""Compares the members of two releases."""

import shlex
import time
from collections.abc import Iterator
from typing import Any

from django.db.models import Exists, OuterRef, TextField, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.lists.paging import WINDOW, Page

from ..json_texts import escape_halves
from ..models import DatasetMember, DatasetVersion
from .members import MEMBER_COLUMNS, read_members

LISTED = 20  # samples of each kind of difference
PAGE = 100  # samples of a page of differences
SEARCH_SECONDS = 1.0  # for a page
MOST_COMPARED = 200_000  # members of two releases, while somebody waits for the answer
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
                group["samples"].append(escape_halves(str((after or before or ("",))[SAMPLE])))
    return difference


def find_difference(version: DatasetVersion, other: int | None) -> dict[str, Any]:
    """The differences of a release from another one of its dataset; None: the one before.

    Raises Refused when there is none, and when both together are too large to be compared while somebody waits.
    """
    stored = version.counts.get("difference")
    if stored and other in (None, stored["from"]["number"]):
        return stored
    released = DatasetVersion.objects.filter(dataset_id=version.dataset_id, state=DatasetVersion.State.RELEASED)
    before = released.filter(number=other).exclude(id=version.id).first() if other is not None else None
    if before is None:
        raise Refused(_("There is no other release to compare with."))
    if before.member_count + version.member_count > MOST_COMPARED:
        raise Refused(_describe_too_large(before, version))
    return compare(before, version)


def _describe_too_large(*versions):
    first, last = sorted(version.number for version in versions)
    command = f"openclaw-web reflection dataset diff {shlex.quote(versions[0].dataset.name)} --from {first} --to {last}"
    sentence = _(
        "Releases %(first)s and %(last)s are too large to be compared here. Compare them in a terminal: %(command)s"
    )
    return sentence % {"first": first, "last": last, "command": command}


def find_kinds(before: Member | None, after: Member | None) -> list[str]:
    """The kinds of differences of a member in two releases.

    None where it is not in a release.
    """
    if before is None or after is None:
        return [ADDED if before is None else GONE]
    pairs = {CHANGED: (CONTENT,), JUDGED: (STATUS, LABEL), MOVED: (SIDE,)}
    return [kind for kind, places in pairs.items() if any(before[place] != after[place] for place in places)]


def list_samples(version: DatasetVersion, kind: str, *, after: str = "") -> tuple[Page, int]:
    """A page of the samples with one kind of difference from the release before, by id.

    With it, the number of members that were searched. `after`: the `next` of the page before. A page is searched for
    SEARCH_SECONDS at most, and begins with the first sample that was found when the difference was stored. Raises
    Refused without a release before.
    """
    difference = find_difference(version, None)
    page, group = Page(), difference[kind]
    if group["count"] <= len(group["samples"]):
        page[:] = [sample for sample in group["samples"] if sample > after]
        return page, len(page)
    if not after:
        page[:] = group["samples"][:1]
    before_id = difference["from"]["id"]
    own, other = (before_id, version.id) if kind == GONE else (version.id, before_id)
    members = DatasetMember.objects.filter(version=own).order_by("sample_id")
    return page, _search(members, _build_condition(kind, other), page, after or page[-1])


def _search(members, condition, page, after):
    """Fill a page with members after a sample; return how many were searched."""
    until, searched, end = time.monotonic() + SEARCH_SECONDS, 0, after
    while end is not None and page.next is None:
        ahead = members.filter(sample_id__gt=end).values_list("sample_id", flat=True)
        end = ahead[WINDOW - 1 : WINDOW].first()
        window = ahead if end is None else ahead.filter(sample_id__lte=end)
        page.extend(window.filter(condition)[: PAGE + 1 - len(page)])
        searched += WINDOW
        if len(page) > PAGE:
            del page[PAGE:]
            page.next = page[-1]
        elif end is not None and time.monotonic() >= until:
            page.next, page.is_partial = end, True
    return searched


def _build_condition(kind, other_id):
    """Whether a member has a kind of difference from a release, as `find_kinds` says."""
    label = Coalesce("label_id", Value(""), output_field=TextField())
    own_label = Coalesce(OuterRef("label_id"), Value(""), output_field=TextField())
    pair = DatasetMember.objects.filter(version=other_id, sample_id=OuterRef("sample_id")).alias(label=label)
    equal = {
        CHANGED: {"content_hash": OuterRef("content_hash")},
        JUDGED: {"status": OuterRef("status"), "label": own_label},
        MOVED: {"side": OuterRef("side")},
    }
    if kind not in equal:
        return ~Exists(pair)
    return Exists(pair) & ~Exists(pair.filter(**equal[kind]))


def _pair_members(version, other) -> Iterator[tuple[Member | None, Member | None]]:
    """Both members of each sample, in one pass over both releases."""
    first, second = _iterate(version), _iterate(other)
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


def _iterate(version):
    for batch in read_members(version):
        yield from batch
