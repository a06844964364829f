"""Compares sessions with what an import makes of their sources now: every row of `doctor --deep`."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from collecting import agent_reimport, collect
from ledger.collectors.database import DamagedDatabase
from ledger.rebuild import repeats
from ledger.rebuild.reimport import SessionComparison
from openclaw_web import amounts
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import tables
from openclaw_web.sqlite.integrity import WrongRows
from openclaw_web.sqlite.row_comparison import DIFFERENT, RowDifference

from ..findings import Finding, format_names, format_place
from ..store.losses import IDS, IMPORT_AGAIN, Counts, Loss

FILE = re.compile(r"[^#!]*")  # the file in a transcript's name; after it, # or ! begins the place in a database
BESIDE = ""  # the place of rows beside sessions
NAMED = 20  # rows that a sentence names
LISTED = 5_000  # rows in a receipt


@dataclass(slots=True)
class Comparison:
    """The extent of a comparison: sources, records, records that no source contains any more, and rows that differ."""

    sources: set[str] = field(default_factory=set)
    records: int = 0
    only_stored: int = 0
    sessions: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)  # source or session -> why
    skipped: Counter[str] = field(default_factory=Counter)  # sessions that were not compared, by reason
    row_counts: Counter[tuple[str, str]] = field(default_factory=Counter)  # rows that differ, by agent and session
    rows: dict[str, dict[str, list[RowDifference]]] = field(default_factory=dict)  # the first, by agent and session

    @property
    def row_count(self) -> int:
        """How many rows differ."""
        return self.row_counts.total()

    def add_rows(self, agent_id: str, session_id: str, rows: list[RowDifference]) -> None:
        """Count rows that differ, and keep those that a receipt still has room for, but one of every session."""
        of_session = self.rows[agent_id].setdefault(session_id, [])
        of_session += rows[: max(LISTED - self.row_count, 0 if of_session else 1)]
        self.row_counts[agent_id, session_id] += len(rows)

    def as_json(self) -> list[dict[str, Any]]:
        """The first LISTED rows that differ, each with its table, key and columns."""
        rows = (
            (agent_id, session_id, row)
            for agent_id, sessions in self.rows.items()
            for session_id, of_session in sessions.items()
            for row in of_session
        )
        return [
            {
                "agent": agent_id,
                "session_id": session_id,
                "table": row.table,
                "key": list(map(str, row.key)),
                "problem": row.problem,
                "columns": list(row.columns),
            }
            for agent_id, session_id, row in islice(rows, LISTED)
        ]


def compare_agent(collection: Any, home_agent: Any, agent_id: str, counts: Counts, compared: Comparison) -> None:
    """Compare every session of an agent; adds missing and different records to `counts.losses`.

    `home_agent` is None for an agent of another OpenClaw folder.
    """
    agent, report = Agent(agent_id=agent_id), collect.AgentReport()
    compared.rows.setdefault(agent_id, {})
    try:
        for session, parts in agent_reimport.compare_sessions(
            collection, home_agent, agent, report, compared.unreadable, compared.skipped
        ):
            compared.sources |= {FILE.match(part.transcript.file)[0] for part in parts}
            compared.sessions += bool(parts)
            compared.records += session.kinds.total()
            compared.only_stored += session.kept_count
            if session.rows:
                compared.add_rows(agent_id, session.session_id, session.rows)
            _add_losses(agent_id, session, counts)
        for session_id in repeats.find_wrongly_marked(agent.db):
            mark = RowDifference("transcript_events", (session_id,), DIFFERENT, ("repeat_of",))
            compared.add_rows(agent_id, session_id, [mark])
    except DamagedDatabase as exc:
        compared.unreadable[agent_id] = str(exc)


def count_restorable(
    collection: Any, home_agent: Any, agent_id: str, losses: list[Loss], unreadable: dict[str, str]
) -> None:
    """Set `in_sources` of each loss: how many of its records the agent's sources contain."""
    agent, chosen = Agent(agent_id=agent_id), {loss.session_id for loss in losses}
    try:
        for session, _parts in agent_reimport.compare_sessions(
            collection, home_agent, agent, collect.AgentReport(), unreadable, Counter(), chosen
        ):
            lacking = session.missing + session.different
            for loss in losses:
                if loss.session_id == session.session_id:
                    count = lacking.total() if loss.kind == IDS else lacking[loss.kind]
                    loss.in_sources = min(loss.missing, count)
    except DamagedDatabase as exc:
        unreadable[agent_id] = str(exc)


def describe_extent(compared: Comparison, *, has_unread: bool) -> str:
    """Say whether every row of sessions was compared, and which sessions were not.

    `has_unread`: findings name files of agents that could not be read.
    """
    rewritten, moved, undecided, older = (compared.skipped[reason] for reason in agent_reimport.SKIPPED)
    others = [
        (rewritten, _("%(sessions)s with sources that were rewritten and are not imported yet")),
        (moved, _("%(sessions)s with files that belong to other sessions now")),
        (undecided, _("%(sessions)s that no session index names, because somebody opted out")),
        (older, _("turns of %(sessions)s that were read by the rules of an older version")),
    ]
    named = [text % {"sessions": amounts.format_amount("sessions", count)} for count, text in others if count]
    named += [_("what findings name as not compared")] if compared.unreadable or has_unread else []
    if not named:
        return _("Every row of sessions was compared with what an import gives.")
    return _("Rows of sessions were compared with what an import gives, but not %(others)s.") % {
        "others": listed(named)
    }


def _add_losses(agent_id, session: SessionComparison, counts):
    for kind in sorted(session.missing.keys() | session.different.keys()):
        missing, different, number = session.missing[kind], session.different[kind], session.kinds[kind]
        known = counts.losses.get((agent_id, session.session_id, kind))
        if known is None:
            known = Loss(agent_id, session.session_id, kind, number, number - missing, missing)
            counts.losses[agent_id, session.session_id, kind] = known
        known.missing = max(missing, known.missing - session.renamed[kind])
        known.different = different
        known.in_sources = missing + different
    for loss in counts.get_agent_losses(agent_id):
        if loss.session_id == session.session_id and loss.in_sources is None:
            loss.in_sources = 0
    if session.missing:  # the sources give more detail than the checksum
        counts.losses.pop((agent_id, session.session_id, IDS), None)


def build_findings(compared: Comparison, counts: Counts) -> Iterator[Finding]:
    """A finding for each agent with rows that differ, besides those of sessions that lost records."""
    lost = {(loss.agent, loss.session_id) for loss in counts.losses.values()}
    for agent_id, sessions in compared.rows.items():
        others = {name: rows for name, rows in sessions.items() if name != BESIDE and (agent_id, name) not in lost}
        if rows := sessions.get(BESIDE):
            yield _build_source_finding(agent_id, rows, compared.row_counts[agent_id, BESIDE])
        if others:
            count = sum(compared.row_counts[agent_id, name] for name in others)
            named = _format_rows([*chain.from_iterable(others.values())], count)
            words = {"agent": agent_id, "rows": amounts.format_amount("rows", count), "named": named}
            sentence = ngettext(
                "In agent %(agent)s, %(rows)s differs from what its sources and records give: %(named)s.",
                "In agent %(agent)s, %(rows)s differ from what its sources and records give: %(named)s.",
                count,
            )
            yield Finding(tables.OF_SESSIONS, sentence % words, agent_id, repair=IMPORT_AGAIN, agent=agent_id)
    for name, why in compared.unreadable.items():
        words = {"path": name, "why": why.rstrip(".")}
        yield Finding("unreadable", _("%(path)s was not compared: %(why)s.") % words if why else name, name)


def _build_source_finding(agent_id, rows, count):
    words = {"place": format_place(agent_id), "named": _format_rows(rows, count)}
    words["rows"] = amounts.format_amount("rows", count)
    sentence = ngettext(
        "%(rows)s of %(place)s beside sessions differs from what its source gives: %(named)s.",
        "%(rows)s of %(place)s beside sessions differ from what their sources give: %(named)s.",
        count,
    )
    return Finding(tables.OF_SOURCES, sentence % words, agent_id, repair=IMPORT_AGAIN, agent=agent_id)


def _format_rows(rows: list[RowDifference], count: int):
    return format_names(WrongRows(count, [str(row) for row in rows[:NAMED]]))
