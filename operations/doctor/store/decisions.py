"""Decisions of memory_gate that lack something they name, and their sums."""

from collections.abc import Iterator

from django.utils.translation import ngettext

from agents.models import Agent
from gate.recording import checking
from gate.statistics import checking as whole_checks
from gate.statistics import quick_checks

from ..findings import NOTE, Finding, about_rows
from . import ways_back


def look(agent: Agent, *, is_deep: bool) -> Iterator[Finding]:
    """What is wrong with the decisions of an agent; `is_deep` reads every window and every decision."""
    if mistyped := checking.of_other_types(agent.db):  # nothing else can be asked of such rows
        sentence = ngettext(
            "%(count)s memory_gate decision or call of agent %(agent)s contains a value of the wrong type: %(named)s."
            " Its decisions were not checked further.",
            "%(count)s memory_gate decisions or calls of agent %(agent)s contain values of the wrong type: %(named)s."
            " Its decisions were not checked further.",
            len(mistyped),
        )
        yield ways_back.told(about_rows("gate_types", sentence, agent, mistyped))
    else:
        yield from _of_decisions(agent, is_deep)


def _of_decisions(agent, is_deep):
    yield from _windows(agent, is_deep)
    responses = [name for rows in checking.without_response(agent.db) for name in _ids(rows)]
    if responses:
        sentence = ngettext(
            "The raw response of %(count)s memory_gate decision or call of agent %(agent)s is an artifact that is"
            " missing: %(named)s.",
            "The raw responses of %(count)s memory_gate decisions or calls of agent %(agent)s are artifacts that are"
            " missing: %(named)s.",
            len(responses),
        )
        yield about_rows("gate_responses", sentence, agent, responses)
    if receipts := _ids(checking.lonely_receipts(agent.db)):
        sentence = ngettext(
            "%(count)s memory_gate decision that agent %(agent)s was told of is missing: %(named)s.",
            "%(count)s memory_gate decisions that agent %(agent)s was told of are missing: %(named)s.",
            len(receipts),
        )
        yield about_rows("gate_receipts", sentence, agent, receipts, repair="gate_receipts")
    if rows := _wrong_sums(agent.db, is_deep):
        sentence = ngettext(
            "%(count)s total of memory_gate decisions of agent %(agent)s does not match the decisions: %(named)s.",
            "%(count)s totals of memory_gate decisions of agent %(agent)s do not match the decisions: %(named)s.",
            len(rows),
        )
        yield about_rows("gate_sums", sentence, agent, rows, repair="gate_sums")
    if turns := _ids(checking.without_turn(agent.db)):
        sentence = ngettext(
            "%(count)s memory_gate decision of agent %(agent)s names a turn that its session does not have: %(named)s.",
            "%(count)s memory_gate decisions of agent %(agent)s name turns that their sessions do not have: %(named)s.",
            len(turns),
        )
        yield about_rows("gate_turns", sentence, agent, turns, level=NOTE)


def _wrong_sums(db, is_deep):
    """Rows of sums; what waits to be made is not wrong. `is_deep` compares histograms too, and takes much longer."""
    found = quick_checks.differences(db)
    if is_deep:
        others = [one for one in whole_checks.differences(db) if one.what != whole_checks.NOT_MADE]
        found += [name for one in others if (name := f"{one.table} {one.key}") not in found]
    return found


def _windows(agent, is_deep):
    if gone := _ids(checking.without_window(agent.db)):
        sentence = ngettext(
            "What memory_gate saw is missing for %(count)s decision of agent %(agent)s: %(named)s.",
            "What memory_gate saw is missing for %(count)s decisions of agent %(agent)s: %(named)s.",
            len(gone),
        )
        yield ways_back.told(about_rows("gate_window_gone", sentence, agent, gone))
    if is_deep and (damaged := list(checking.damaged_windows(agent.db))):
        sentence = ngettext(
            "%(count)s window of memory_gate of agent %(agent)s is damaged: %(named)s.",
            "%(count)s windows of memory_gate of agent %(agent)s are damaged: %(named)s.",
            len(damaged),
        )
        yield ways_back.told(about_rows("gate_window_damaged", sentence, agent, damaged))


def _ids(rows) -> list[str]:
    return list(rows.order_by("id").values_list("id", flat=True))
