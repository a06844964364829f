"""What the page of blame shows: the lines in runs of one write each, with its turn and message."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from agents.models import Agent
from ledger.models import ConversationTurn, Session
from ledger.session.evidence import get_speaker_name
from openclaw_web.diffs import text_excerpts

from ..models import WriteGuardianAudit
from . import rollback_chains
from .line_blame import Blame, Gap, Line

TURN = ("id", "session_id", "turn_number", "user_message_id", "user_message_content", "user_from", "user_metadata")
MARKS = " \t-*#"  # before the words of a line
MOST_HITS = 200  # lines of a search


@dataclass(frozen=True, slots=True)
class LineRun:
    """Lines one after another that one write put there, or nobody known (`gap`, or before the first write).

    `lines` are (number, what is shown, how many characters are left out).
    """

    lines: list[tuple[int, str, int]]
    audit: WriteGuardianAudit | None
    turn: ConversationTurn | None
    gap: Gap | None

    @property
    def speaker(self) -> str:
        """Who wrote the message; empty: nobody is known."""
        return get_speaker_name(self.turn) if self.turn else ""

    @property
    def fact(self) -> str:
        """What was to be remembered; empty where a line beside it says the same."""
        fact = (self.audit.candidate_fact if self.audit else None) or ""
        is_there = any(text.strip().lstrip(MARKS) == fact.strip().lstrip(MARKS) for _number, text, _left in self.lines)
        return "" if is_there else fact


@dataclass(frozen=True, slots=True)
class LineCounts:
    """How many lines come from known writes, from gaps, from before the first write; and from how many writes."""

    known: int
    unknown: int
    before: int
    writes: int


def count_lines(found: Blame) -> LineCounts:
    """What the lines of a file add up to."""
    known = [line.audit_id for line in found.lines if line.audit_id]
    unknown = sum(line.gap is not None for line in found.lines)
    return LineCounts(len(known), unknown, len(found.lines) - len(known) - unknown, len(set(known)))


def build_blame_context(agent: Agent, found: Blame, line: int, search: str = "") -> dict[str, Any]:
    """A piece of the file from a line on, in runs, or the lines that contain `search`.

    `titles` are of the sessions that are stored; `undoable`: what a rollback of each write takes back, by its id.
    """
    part = text_excerpts.cut_excerpt(found.version.content, line)
    hits = _hits(found, search)
    lines = hits[:MOST_HITS] if search else found.lines[part.first - 1 : part.last]
    rows = text_excerpts.build_rows((line.number, line.text.rstrip("\r\n")) for line in lines) if search else part.rows
    runs = list(_runs(agent.db, lines, list(rows)))
    session_ids = {run.audit.session_id for run in runs if run.audit and run.audit.session_id}
    session_ids |= {run.turn.session_id for run in runs if run.turn}
    audits = {run.audit.id: run.audit for run in runs if run.audit}
    return {
        "found": found,
        "piece": part,
        "search": search,
        "hit_count": len(hits),
        "most_hits": MOST_HITS,
        "numbers": count_lines(found),
        "runs": runs,
        "titles": read_titles(agent.db, session_ids),
        "taken": rollback_chains.read_subjects(
            agent.db, {name for name, row in audits.items() if row.origin == rollback_chains.ROLLBACK}
        ),
        "undoable": find_undoable(agent.db, audits),
    }


def find_undoable(db: str, audits: Mapping[str, WriteGuardianAudit]) -> dict[str, str]:
    """The write that a rollback of each of these writes takes back: itself, or the one that restored it."""
    undone = {name for name, row in audits.items() if row.status == WriteGuardianAudit.Status.ROLLED_BACK}
    restored = {
        name: chain.standing for name, chain in rollback_chains.read_chains(db, undone).items() if chain.standing
    }
    written = {name: name for name, row in audits.items() if row.status == WriteGuardianAudit.Status.WRITTEN}
    return written | restored


def _hits(found, search) -> list[Line]:
    """The lines that contain some words, in upper or lower case."""
    wanted = search.casefold()
    return [line for line in found.lines if wanted in line.text.casefold()] if wanted else []


def read_titles(db: str, session_ids: Collection[str]) -> dict[str, str]:
    """The titles of those of these sessions that are stored."""
    return dict(Session.objects.using(db).filter(id__in=session_ids).values_list("id", "title"))


def read_runs(db: str, found: Blame) -> Iterator[tuple[int, LineRun]]:
    """Every run with the number of its first line."""
    rows = [(line.number, "", 0) for line in found.lines]
    return ((run.lines[0][0], run) for run in _runs(db, found.lines, rows))


def _runs(db, lines: list[Line], rows: list[tuple[int, str, int]]) -> Iterator[LineRun]:
    """Lines of one write each, with it and its turn; `rows` are what is shown of the lines."""
    ids = {line.audit_id for line in lines if line.audit_id}
    audits = WriteGuardianAudit.objects.using(db).defer("diff", "hunks_json").in_bulk(ids)
    turn_ids = {row.turn_id for row in audits.values() if row.turn_id}
    turns = ConversationTurn.objects.using(db).only(*TURN).in_bulk(turn_ids)
    left = iter(rows)
    for (audit_id, gap), run in groupby(lines, lambda line: (line.audit_id, line.gap)):
        audit = audits.get(audit_id)
        yield LineRun([next(left) for _line in run], audit, turns.get(audit.turn_id) if audit else None, gap)
