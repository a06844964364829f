"""Writes to memory files that are not what their versions and histories say; rollbacks that were broken off."""

from collections.abc import Iterator

from django.utils.translation import ngettext

from agents.models import Agent
from guardian.recording import checking

from ..findings import Finding, about_rows
from . import lost_writes, ways_back


def look(agent: Agent, *, is_deep: bool) -> Iterator[Finding]:
    """What is wrong with the writes of an agent; `is_deep` reads every version and makes every diff again."""
    if mistyped := checking.of_other_types(agent.db):  # nothing else can be asked of such rows
        sentence = ngettext(
            "%(count)s row about writes of agent %(agent)s contains a value of the wrong type: %(named)s."
            " Its writes were not checked further.",
            "%(count)s rows about writes of agent %(agent)s contain values of the wrong type: %(named)s."
            " Its writes were not checked further.",
            len(mistyped),
        )
        yield ways_back.told(about_rows("guardian_types", sentence, agent, mistyped))
        return
    yield from _quick(agent)
    yield from lost_writes.look(agent, is_deep=is_deep)
    if is_deep:
        yield from _deep(agent)


def _quick(agent):
    if receipts := _ids(checking.lonely_receipts(agent.db)):
        sentence = ngettext(
            "%(count)s write that agent %(agent)s was told of is missing: %(named)s.",
            "%(count)s writes that agent %(agent)s was told of are missing: %(named)s.",
            len(receipts),
        )
        yield about_rows("guardian_receipts", sentence, agent, receipts, repair="guardian_receipts")
    if intents := _ids(checking.open_intents(agent.db)):
        sentence = ngettext(
            "%(count)s rollback of agent %(agent)s was interrupted and is neither finished nor undone: %(named)s.",
            "%(count)s rollbacks of agent %(agent)s were interrupted and are neither finished nor undone: %(named)s.",
            len(intents),
        )
        yield about_rows("guardian_intents", sentence, agent, intents, repair="guardian_intents")
    if statuses := _ids(checking.wrong_statuses(agent.db)):
        sentence = ngettext(
            "%(count)s write of agent %(agent)s has another status than its history says: %(named)s.",
            "%(count)s writes of agent %(agent)s have other statuses than their histories say: %(named)s.",
            len(statuses),
        )
        yield about_rows("guardian_statuses", sentence, agent, statuses, repair="guardian_statuses")


def _deep(agent):
    if damaged := list(checking.damaged_versions(agent.db)):
        sentence = ngettext(
            "%(count)s version of a memory file of agent %(agent)s is damaged: %(named)s.",
            "%(count)s versions of memory files of agent %(agent)s are damaged: %(named)s.",
            len(damaged),
        )
        yield ways_back.told(about_rows("guardian_versions", sentence, agent, damaged))
    if diffs := list(checking.wrong_diffs(agent.db)):
        sentence = ngettext(
            "The diff of %(count)s write of agent %(agent)s does not follow from its versions: %(named)s.",
            "The diffs of %(count)s writes of agent %(agent)s do not follow from their versions: %(named)s.",
            len(diffs),
        )
        yield about_rows("guardian_diffs", sentence, agent, diffs, repair="guardian_diffs")


def _ids(rows) -> list[str]:
    return list(rows.order_by("id").values_list("id", flat=True))
