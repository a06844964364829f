"""Rows about writes that others name and that are gone: nothing makes them again, only a backup has them."""

from collections.abc import Iterator
from dataclasses import replace

import orjson
from django.utils.translation import ngettext

from agents.models import Agent
from guardian.recording import checking

from ..findings import Finding, about_rows
from . import ways_back


def look(agent: Agent, *, is_deep: bool) -> Iterator[Finding]:
    """What is lost of an agent's writes, each with the backup that has it; `is_deep` searches the backups."""
    found = {}
    for check, make in KINDS.items():
        one = make(agent)
        if one is not None:
            found[check] = one
    if not found:
        return
    wanted = {check: wanted for check, (_finding, wanted) in found.items()}
    ways = ways_back.of_lost(agent.agent_id, wanted, is_deep=is_deep)
    for check, (finding, _wanted) in found.items():
        yield replace(finding, sentence=f"{finding.sentence} {ways[check]}")


def _versions(agent):
    writes = _ids(checking.without_version(agent.db))
    missing = checking.missing_versions(agent.db)
    if not missing:
        return None
    sentence = ngettext(
        "%(count)s version of a memory file of agent %(agent)s is missing, with what the file held: %(named)s.",
        "%(count)s versions of memory files of agent %(agent)s are missing, with what the files held: %(named)s.",
        len(missing),
    )
    told = about_rows("guardian_versions_gone", sentence, agent, sorted(missing))
    if writes:
        of_writes = ngettext(
            "%(count)s write names it and keeps its diff: %(named)s.",
            "%(count)s writes name them and keep their diffs: %(named)s.",
            len(writes),
        )
        told = replace(told, sentence=f"{told.sentence} {about_rows('', of_writes, agent, writes).sentence}")
    return told, ("file_snapshots", "id", _itself, missing)


def _rollbacks(agent):
    writes = _ids(checking.without_rollback(agent.db))
    sentence = ngettext(
        "The rollback of %(count)s write of agent %(agent)s is missing; the write remains rolled back: %(named)s.",
        "The rollbacks of %(count)s writes of agent %(agent)s are missing; the writes remain rolled back: %(named)s.",
        len(writes),
    )
    return _told("guardian_rollbacks", sentence, agent, writes, "rollbacks", "audit_id")


def _corrections(agent):
    sentence = ngettext(
        "%(count)s correction that decided about writes of agent %(agent)s is missing: %(named)s.",
        "%(count)s corrections that decided about writes of agent %(agent)s are missing: %(named)s.",
        len(missing := sorted(checking.missing_corrections(agent.db))),
    )
    return _told("guardian_corrections", sentence, agent, missing, "behavior_corrections", "id")


def _intents(agent):
    sentence = ngettext(
        "What this site was about to do is missing for %(count)s of its writes of agent %(agent)s: %(named)s.",
        "What this site was about to do is missing for %(count)s of its writes of agent %(agent)s: %(named)s.",
        len(writes := checking.without_intent(agent.db)),
    )
    return _told("guardian_intents_gone", sentence, agent, writes, "rollback_intents", "told_json", _own_id)


def _receipts(agent):
    writes = _ids(checking.without_receipt(agent.db))
    sentence = ngettext(
        "The receipt of %(count)s write that agent %(agent)s was told of is missing: %(named)s.",
        "The receipts of %(count)s writes that agent %(agent)s was told of are missing: %(named)s.",
        len(writes),
    )
    return _told("guardian_receipts_gone", sentence, agent, writes, "guardian_receipts", "audit_id")


def _told(check, sentence, agent, ids, table, column, names=None):
    """A finding and where to look for what is missing; None when nothing is."""
    return (about_rows(check, sentence, agent, ids), (table, column, names or _itself, set(ids))) if ids else None


def _itself(value):
    return (value,)


def _own_id(text):
    """The write that an intent is about to make."""
    return (orjson.loads(text).get("own_id"),)


def _ids(rows) -> list[str]:
    return list(rows.order_by("id").values_list("id", flat=True))


KINDS = {
    "guardian_versions_gone": _versions,
    "guardian_rollbacks": _rollbacks,
    "guardian_corrections": _corrections,
    "guardian_intents_gone": _intents,
    "guardian_receipts_gone": _receipts,
}
