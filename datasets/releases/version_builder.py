"""Builds a version of a dataset: its members, their sides and its numbers."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, TextField, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.batches import in_batches
from openclaw_web.detectors.spans import RULES as DETECTOR_RULES
from openclaw_web.disk import drafts, room
from openclaw_web.errors import Refused
from openclaw_web.sqlite.write_queue import global_transaction
from people.audit import log as audit

from .. import seals
from ..dedup import signatures
from ..dedup.fixed_sides import NO_SIDE
from ..dedup.sample_hashes import compute_content_hash
from ..dedup.texts import compute_identity
from ..exports import words
from ..exports.options import BY_TIME
from ..exports.plan import SIDES, DaySides, build_export_plan
from ..exports.rows import UNREADABLE, read_fitting
from ..exports.source import COLUMNS, LISTED, DecisionVerdicts, Source, find_other_task, note_excluded
from ..exports.writer import CHANGED, RULES
from ..json_texts import escape_halves
from ..models import DatasetMember, DatasetSample, DatasetVersion, SessionSide
from .dataset_store import build_options
from .differences import compare
from .members import ReleasedSides, get_side_name, is_storable, read_members

BATCH = 1_000  # members in one transaction
RELEASE_RULES = 3  # the version of the rules by which members and sides are chosen


def build_version(version: DatasetVersion, progress: Any) -> None:
    """Add the members of a version, then mark it as released.

    It can be run again after any interruption: members and sides of an unfinished build are replaced. Raises Refused
    when no sample fits.
    """
    options = build_options(version.options)
    _remove_members(version)
    latest = version.dataset.versions.filter(state=DatasetVersion.State.RELEASED).order_by("-number").first()
    if version.remade_from is not None:
        _remake_version(version, latest, progress)
        return
    source = Source(options, columns=COLUMNS)
    excluded = source.count_excluded()
    total = source.chosen.count()
    folder = settings.HOME_DIR / "exports" / f"release-{version.id}"
    with room.refuse_when_full(folder.parent, _("Nothing was released.")), drafts.create_draft(folder) as draft:
        verdicts = DecisionVerdicts(options)
        day_sides = DaySides(options.split_day or "") if options.split_by == BY_TIME else None
        fixed = ReleasedSides(version.dataset, latest, day_sides)
        plan = build_export_plan(source, options, verdicts, draft, progress, total, fixed)
        members = _build_members(version, options, source, plan, verdicts, excluded)
        _insert_members(version, members, progress, total)
    # Remove members whose samples were judged since they were read. One statement finds them, so that the members have
    # the verdicts of one moment.
    same_label = Coalesce(OuterRef("label_id"), Value(""), output_field=TextField())
    samples = DatasetSample.objects.annotate(label=Coalesce("label_id", Value(""), output_field=TextField()))
    current = samples.filter(id=OuterRef("sample_id"), annotation_status=OuterRef("status"), label=same_label)
    ids = list(DatasetMember.objects.filter(~Exists(current), version=version).values_list("id", flat=True))
    for batch in in_batches(ids, BATCH):
        with global_transaction():
            DatasetMember.objects.filter(id__in=batch).delete()
    judged = len(ids)
    if not DatasetMember.objects.filter(version=version).exists():
        sentence = words.describe_nothing_left(
            excluded, is_scored=source.is_scored(), other_task=find_other_task(options)
        )
        raise Refused(sentence, reasons=words.describe_left_out(excluded)[:LISTED])
    progress.update(total, total, _("Comparing with the release before"))
    _finish(version, latest, excluded, judged)


def discard_version(version: DatasetVersion) -> None:
    """Remove an unfinished version with its members and the sides that it set."""
    _remove_members(version)
    DatasetVersion.objects.filter(id=version.id, state=DatasetVersion.State.BUILDING).delete()


def _build_members(version, options, source, plan, verdicts, excluded) -> Iterator[DatasetMember]:
    """The members of a release.

    Samples that fit no more, or that the plan leaves out, are counted in `excluded`.
    """
    rows = (row for _agent_id, _session_id, session_rows in source.read_sessions() for row in session_rows)
    for row in rows:
        reason, assignment = read_fitting(options.shape, row, verdicts), None
        if not isinstance(reason, str):
            assignment = plan.find_assignment(row["id"], compute_identity(*signatures.read_pair(reason)))
            reason = CHANGED if assignment is None else assignment[1]
        if assignment is None or reason:
            note_excluded(excluded, reason, row["id"])
            continue
        yield DatasetMember(
            version=version,
            sample_id=row["id"],
            agent_id=row["agent_id"],
            session_id=row["session_id"],
            turn_number=row["turn_number"],
            side=SIDES[assignment[0]],
            status=row["annotation_status"],
            label_id=row["label_id"],
            content_hash=compute_content_hash(row),
        )


def _copy_members(version, changed, excluded) -> Iterator[DatasetMember]:
    """The members of a changed release as they stand, once each, on the sides of their sessions.

    Those with a text that is no UTF-8 are counted in `excluded`.
    """
    others = {"id", "version_id", "sample_id"}
    names = ("sample_id", *(name for name in seals.list_columns(DatasetMember) if name not in others))
    sides, last = ReleasedSides(version.dataset, None), None
    for row in chain.from_iterable(read_members(changed, names)):
        if not is_storable(row):
            note_excluded(excluded, UNREADABLE, escape_halves(str(row[0])))
        elif row[0] != last:
            member, last = DatasetMember(version=version, **dict(zip(names, row, strict=True))), row[0]
            side = sides.find_side(member.agent_id, member.session_id)
            member.side = member.side if side == NO_SIDE else SIDES[side]
            yield member


def _remake_version(version, latest, progress):
    """Release anew from the members of a changed release. Raises Refused for one that was not changed."""
    changed = version.dataset.versions.filter(number=version.remade_from, state=DatasetVersion.State.RELEASED).first()
    change = seals.find_change(changed) if changed else ""
    if not change:
        raise Refused(_("This release is as it was released: there is nothing to release anew."))
    excluded: dict[str, dict[str, Any]] = {}
    _insert_members(version, _copy_members(version, changed, excluded), progress, changed.member_count)
    if not version.members.exists():
        raise Refused(_("This release has no members any more."))
    words = _("Released anew from the members of release %(number)s, on the sides of their sessions. %(change)s")
    version.notes = f"{version.notes}\n{words % {'number': changed.number, 'change': change}}".strip()
    _finish(version, latest, excluded, 0)


def _insert_members(version, members, progress, total):
    done = 0
    for batch in in_batches(members, BATCH):
        names = {get_side_name(member.agent_id, member.session_id): member.side for member in batch}
        with global_transaction():
            DatasetMember.objects.bulk_create(batch)
            SessionSide.objects.bulk_create(
                [
                    SessionSide(dataset=version.dataset, session_id=name, side=side, since=version.number)
                    for name, side in names.items()
                ],
                ignore_conflicts=True,
            )
        done += len(batch)
        progress.update(done, total, _("Adding members"))


def _remove_members(version):
    """Remove the members of an unfinished version, in short transactions, then the sides that it set."""
    rows = DatasetMember.objects.filter(version=version)
    while ids := list(rows.order_by("sample_id").values_list("id", flat=True)[:BATCH]):
        with global_transaction():
            rows.filter(id__in=ids).delete()
    sides = SessionSide.objects.filter(dataset=version.dataset, since=version.number)
    while ids := list(sides.order_by("id").values_list("id", flat=True)[:BATCH]):
        with global_transaction():
            sides.filter(id__in=ids).delete()


def _finish(version, latest, excluded, judged):
    digest, sides, statuses = hashlib.sha256(), Counter[str](), Counter[str]()
    for batch in read_members(version):
        for member in batch:
            line = "\t".join("" if value is None else value for value in member)
            digest.update(line.encode(errors="surrogatepass") + b"\n")
        sides.update(member[1] for member in batch)
        statuses.update(member[2] for member in batch)
    version.checksum, version.member_count = digest.hexdigest(), sides.total()
    version.counts = {
        "sides": {side: sides[side] for side in SIDES},
        "statuses": dict(statuses),
        "excluded": [{"reason": reason, **group} for reason, group in excluded.items()],
        "judged_meanwhile": judged,
        "difference": compare(latest, version) if latest else None,
    }
    version.rules = {
        "app": settings.VERSION,
        "release": RELEASE_RULES,
        "rows": RULES,
        "signatures": signatures.RULE,
        "detectors": DETECTOR_RULES,
    }
    version.state, version.released_at = DatasetVersion.State.RELEASED, clock.now_ms()
    seal = seals.seal_release(version)
    with global_transaction():
        version.save()
        seal.save(force_insert=True)
        details = {"number": version.number, "samples": version.member_count}
        details |= {"version": version.id, "seal": seal.sha256}
        audit.record(version.released_by, "released", object_type="dataset", object_id=version.dataset_id, **details)
