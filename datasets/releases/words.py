"""Texts of datasets and releases, for pages."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.db import DatabaseError
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases
from ledger.models import Session
from openclaw_web.lists.list_counts import RowCount
from openclaw_web.pages import glyphs

from ..exports.options import BY_TIME, CAPS, translate_stored
from ..exports.plan import SIDES as SIDE_NAMES
from ..exports.words import CAP_WORDS, DUPLICATE_WORDS, INCLUDED_WORDS, TASK_WORDS
from ..models import Benchmark, DatasetMember, DatasetSample, DatasetVersion, VersionTaint
from . import taints, verification
from .dataset_store import DEFAULTS

SIDES = {
    "train": gettext_lazy("Training"),
    "validation": gettext_lazy("Validation"),
    "test": gettext_lazy("Testing"),
}
DIFFERENCES = {
    "added": gettext_lazy("Added samples"),
    "gone": gettext_lazy("No longer in it"),
    "changed": gettext_lazy("With other content"),
    "judged_again": gettext_lazy("Judged again"),
    "moved": gettext_lazy("On another side"),
}
UNNAMED = {VersionTaint.Reason.REMOVED.value, VersionTaint.Reason.OPTED_OUT.value}  # no words of these samples
TAINTED = gettext_lazy("Members that should not be used any more")
TAINTS = {
    VersionTaint.Reason.REMOVED.value: gettext_lazy("Session removed"),
    VersionTaint.Reason.OPTED_OUT.value: gettext_lazy("Opted out"),
    VersionTaint.Reason.ROLLED_BACK.value: gettext_lazy("Write rolled back"),
    VersionTaint.Reason.REJECTED.value: gettext_lazy("Rejected since"),
    VersionTaint.Reason.CHANGED.value: gettext_lazy("Turn has other words now"),
}
# What a comparison with the samples found, by the kinds of `verification`.
COMPARED = {
    verification.GONE: gettext_lazy("Sample removed"),
    verification.CONTENT: gettext_lazy("With other content"),
    verification.VERDICT: gettext_lazy("Judged again"),
    verification.SIDE: gettext_lazy("On another side"),
}
RULES = {
    "app": gettext_lazy("OpenClaw Web"),
    "release": gettext_lazy("Releases"),
    "rows": gettext_lazy("Rows"),
    "signatures": gettext_lazy("Duplicates"),
    "detectors": gettext_lazy("Findings"),
}


def describe_options(options: dict[str, Any]) -> list[tuple[str, str]]:
    """The options of a dataset as labels and values; those that it lacks have their defaults."""
    options = DEFAULTS | translate_stored(options)
    facts = [
        (_("Task"), TASK_WORDS.get(options["task"], options["task"])),
        (_("Which samples"), options["sample_filter"] or options["agent"] or _("All agents")),
        (_("Samples"), _("Approved only") if options["only_approved"] else _("All except rejected")),
        (_("Split"), _describe_split(options)),
        (_("Duplicates"), DUPLICATE_WORDS.get(options["duplicates"], options["duplicates"])),
    ]
    if options["min_quality"] is not None:
        facts.append((_("Minimum quality"), options["min_quality"]))
    facts += [(CAP_WORDS[name], f"{options[name]:,}") for name in CAPS if options[name] is not None]
    if options["benchmark"]:
        name = Benchmark.objects.filter(id=options["benchmark"]).values_list("name", flat=True).first()
        facts.append((_("Without the samples in"), name or options["benchmark"]))
    facts += [(INCLUDED_WORDS[kind], _("Included")) for kind in options["include"]]
    return [(str(label), str(value)) for label, value in facts]


def describe_difference(difference: dict[str, Any] | None) -> dict[str, Any] | None:
    """The stored difference from the release before: its number, and label and count of each kind."""
    if not difference:
        return None
    kinds = [(kind, label, difference[kind]["count"]) for kind, label in DIFFERENCES.items()]
    return {"number": difference["from"]["number"], "kinds": kinds, "same": difference["same"]}


def name_samples(sample_ids: Iterable[str]) -> dict[str, str]:
    """The question of each of these samples, or its fact.

    Those without a text, removed ones, and those of people who opted out are left out.
    """
    samples = DatasetSample.objects.filter(id__in=list(sample_ids)).for_reading()
    rows = samples.values_list("id", "agent_id", "session_id", "user", "fact")
    unnamed = {name for name, reason in taints.find_batch_taints([row[:3] for row in rows]) if reason in UNNAMED}
    texts = {name: user or fact for name, _agent, _session, user, fact in rows if name not in unnamed}
    return {name: glyphs.to_one_line(text) for name, text in texts.items() if text}


def read_sessions(members: Iterable[DatasetMember]) -> dict[tuple[str, str], Session]:
    """The stored sessions of members, by agent and id, each with its title and its day."""
    names = defaultdict(set)
    for member in members:
        names[member.agent_id].add(member.session_id)
    sessions = {}
    for agent_id, session_ids in names.items():
        if db := databases.find_alias(agent_id):
            rows = Session.objects.using(db).filter(id__in=session_ids).only("id", "title", "last_activity_at")
            with suppress(DatabaseError):  # members are shown without the names of their sessions
                sessions |= {(agent_id, session.id): session for session in rows}
    return sessions


def describe_compared(result: dict[str, Any] | None) -> list[tuple[str, str | None]]:
    """The differences that a comparison lists, in words, each with its sample (None: of all members)."""
    differences = (result or {}).get("differences", ())
    return [(str(COMPARED.get(entry["kind"], entry["kind"])), entry["sample"]) for entry in differences]


def build_side_tabs(version: DatasetVersion, side: str) -> list[dict[str, Any]]:
    """The tabs of a release's members: all, and each side."""
    address = reverse("datasets:member_list", args=[version.dataset_id, version.number])
    counts = {"": version.member_count, **version.counts.get("sides", {})}
    return [
        {
            "href": f"{address}?side={name}" if name else address,
            "label": SIDES[name] if name else _("All"),
            "amount": RowCount(counts.get(name, 0), False),
            "is_current": name == (side if side in SIDE_NAMES else ""),
        }
        for name in ("", *SIDE_NAMES)
    ]


def _describe_split(options):
    if options["split_by"] == BY_TIME:
        return _("By time: training before %(day)s (UTC), testing after") % {"day": options["split_day"]}
    shares = {"train": options["train_split"], "validation": options["validation_split"], "seed": options["seed"]}
    return _("%(train)s for training, %(validation)s for validation, seed %(seed)s") % shares
