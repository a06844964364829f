"""The blame page: runs of lines of one write each, with its turn and message."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from agents.models import Agent
from ledger.models import ConversationTurn, Session
from ledger.session.evidence import get_speaker_name
from openclaw_web.diffs import text_excerpts

from ..models import WriteGuardianAudit
from . import related_writes
from .line_blame import Blame, Gap, Line

TURN = ("id", "session_id", "turn_number", "user_message_id", "user_message_content", "user_from", "user_metadata")
MARKS = " \t-*#"  # before the first word of a line
MOST_HITS = 200  # lines of a search


@dataclass(frozen=True, slots=True)
class LineRun:
    """Neighbouring lines from one write, from a gap, or from before the first write.

    `lines` are (number, text on the page, number of characters that are left out).
    """

    lines: list[tuple[int, str, int]]
    audit: WriteGuardianAudit | None
    turn: ConversationTurn | None
    gap: Gap | None

    @property
    def speaker(self) -> str:
        """Who wrote the message; empty: not known."""
        return get_speaker_name(self.turn) if self.turn else ""

    @property
    def fact(self) -> str:
        """The fact of the write; empty where one of the lines says the same."""
        fact = (self.audit.candidate_fact if self.audit else None) or ""
        is_there = any(
            text.strip().lstrip(MARKS) == fact.strip().lstrip(MARKS) for _number, text, _left_out in self.lines
        )
        return "" if is_there else fact


@dataclass(frozen=True, slots=True)
class LineCounts:
    """How many lines come from known writes, gaps and earlier times, and from how many writes."""

    known: int
    unknown: int
    before: int
    writes: int


def count_lines(blame: Blame) -> LineCounts:
    known = [line.audit_id for line in blame.lines if line.audit_id]
    unknown = sum(line.gap is not None for line in blame.lines)
    return LineCounts(len(known), unknown, len(blame.lines) - len(known) - unknown, len(set(known)))


def build_blame_context(agent: Agent, blame: Blame, line: int, search: str = "") -> dict[str, Any]:
    """Build the context of the page: a piece of the file, or the lines with `search`.

    The piece begins at `line`. `titles` are of the sessions that are stored; `undoable` is the write that a rollback of
    each write takes back, by its id.
    """
    piece = text_excerpts.cut_excerpt(blame.version.content, line)
    folded_search = search.casefold()
    hits = [line for line in blame.lines if folded_search in line.text.casefold()] if folded_search else []
    lines = hits[:MOST_HITS] if search else blame.lines[piece.first - 1 : piece.last]
    rows = text_excerpts.build_rows((line.number, line.text.rstrip("\r\n")) for line in lines) if search else piece.rows
    runs = list(_build_runs(agent.db, lines, list(rows)))
    session_ids = {run.audit.session_id for run in runs if run.audit and run.audit.session_id}
    session_ids |= {run.turn.session_id for run in runs if run.turn}
    audits = {run.audit.id: run.audit for run in runs if run.audit}
    return {
        "blame": blame,
        "piece": piece,
        "search": search,
        "hit_count": len(hits),
        "most_hits": MOST_HITS,
        "numbers": count_lines(blame),
        "runs": runs,
        "titles": read_titles(agent.db, session_ids),
        "rollback_subjects": related_writes.read_subjects(
            agent.db, {name for name, row in audits.items() if row.origin == related_writes.ROLLBACK}
        ),
        "undoable": find_undoable(agent.db, audits),
    }


def find_undoable(db: str, audits: Mapping[str, WriteGuardianAudit]) -> dict[str, str]:
    """Return the write that a rollback of each write takes back: itself, or its restoration."""
    rolled_back_ids = {name for name, row in audits.items() if row.status == WriteGuardianAudit.Status.ROLLED_BACK}
    restored = {
        name: chain.standing
        for name, chain in related_writes.read_chains(db, rolled_back_ids).items()
        if chain.standing
    }
    written = {name: name for name, row in audits.items() if row.status == WriteGuardianAudit.Status.WRITTEN}
    return written | restored


def read_titles(db: str, session_ids: Collection[str]) -> dict[str, str]:
    return dict(Session.objects.using(db).filter(id__in=session_ids).values_list("id", "title"))


def read_runs(db: str, blame: Blame) -> Iterator[tuple[int, LineRun]]:
    """Return every run with the number of its first line."""
    rows = [(line.number, "", 0) for line in blame.lines]
    return ((run.lines[0][0], run) for run in _build_runs(db, blame.lines, rows))


def _build_runs(db, lines: list[Line], rows: list[tuple[int, str, int]]) -> Iterator[LineRun]:
    """Yield runs of lines of one write, with it and its turn.

    `rows` are the lines as the page has them.
    """
    ids = {line.audit_id for line in lines if line.audit_id}
    audits = WriteGuardianAudit.objects.using(db).defer("diff", "hunks_json").in_bulk(ids)
    turn_ids = {row.turn_id for row in audits.values() if row.turn_id}
    turns = ConversationTurn.objects.using(db).only(*TURN).in_bulk(turn_ids)
    remaining_rows = iter(rows)
    for (audit_id, gap), run in groupby(lines, lambda line: (line.audit_id, line.gap)):
        audit = audits.get(audit_id)
        yield LineRun([next(remaining_rows) for _line in run], audit, turns.get(audit.turn_id) if audit else None, gap)
