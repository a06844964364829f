"""A workspace file as a document: its passages, each with the writes, turns and people behind it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from agents.models import Agent
from ledger import consent
from ledger.markup.documents import Block, render_blocks
from ledger.models import ConversationTurn, Session
from ledger.session.evidence import get_speaker_name
from openclaw_web.diffs import line_pieces, text_excerpts

from ..models import WriteGuardianAudit
from .line_blame import Blame, Gap, Line, Owner

TURN = ("id", "session_id", "turn_number", "user_message_id", "user_message_content", "user_from", "user_metadata")
MOST_HITS = 200  # lines of a search
MOST_JUDGED = 100  # writes whose verdicts the page asks for


@dataclass(frozen=True, slots=True)
class Origin:
    """Where lines come from: a write with its turn, a gap, or neither from before the first write.

    `is_withheld`: somebody who opted out may have said the words.
    """

    audit: WriteGuardianAudit | None
    turn: ConversationTurn | None
    gap: Gap | None
    is_withheld: bool = False

    @property
    def speaker(self) -> str:
        """Who wrote the message; empty: not known."""
        return get_speaker_name(self.turn) if self.turn and not self.is_withheld else ""


@dataclass(frozen=True, slots=True)
class Passage:
    """Neighbouring lines of the same origins, as blocks of Markdown or as exact text.

    `lines` are (number, text on the page, number of characters that are left out).
    """

    origins: list[Origin]
    blocks: list[Block]
    lines: list[tuple[int, str, int]]


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


def build_document_context(agent: Agent, blame: Blame, line: int, search: str, *, is_text: bool) -> dict[str, Any]:
    """Build the context of a document: a piece of the file with `line`, or the lines that contain `search`.

    `is_text`: as exact text. Text that is costly to read as Markdown, or has very long lines, is exact as well.
    """
    piece = text_excerpts.cut_excerpt(blame.version.content)
    if line > piece.last:
        piece = text_excerpts.cut_excerpt(blame.version.content, line)
    lines = blame.lines[piece.first - 1 : piece.last]
    folded_search = search.casefold()
    hits = [line for line in blame.lines if folded_search in line.text.casefold()] if search else []
    is_long = any(len(text) > line_pieces.LONGEST for text in piece.lines)
    blocks = [] if search or is_text or is_long else render_blocks(piece.lines)
    if blocks:
        passages = list(_build_passages(agent.db, lines, blocks))
    else:
        passages = list(_build_text_passages(agent.db, hits[:MOST_HITS] if search else lines))
    audits = dict.fromkeys(origin.audit.id for passage in passages for origin in passage.origins if origin.audit)
    return {
        "blame": blame,
        "piece": piece,
        "search": search,
        "hit_count": len(hits),
        "most_hits": MOST_HITS,
        "numbers": count_lines(blame),
        "is_text": is_text,
        "is_exact": not blocks and any(text.strip() for text in piece.lines),
        "passages": passages,
        "judged": [{"id": audit_id} for audit_id in audits][:MOST_JUDGED],
    }


def read_titles(db: str, session_ids: Collection[str]) -> dict[str, str]:
    return dict(Session.objects.using(db).filter(id__in=session_ids).values_list("id", "title"))


def read_runs(db: str, blame: Blame) -> Iterator[tuple[int, int, Origin]]:
    """Yield the neighbouring lines of each origin: the numbers of the first and the last, and the origin."""
    for passage in _build_text_passages(db, blame.lines):
        yield passage.lines[0][0], passage.lines[-1][0], passage.origins[0]


def _build_passages(db, lines: list[Line], blocks: list[Block]) -> Iterator[Passage]:
    """Yield runs of blocks whose lines have the same origins, the newest write first."""
    origins, first = _read_origins(db, lines), lines[0].number

    def find_owners(block):
        own_lines = (line for line in lines[block.first - 1 : block.last] if line.text.strip())
        owners = dict.fromkeys((line.audit_id, line.gap) for line in own_lines)
        return sorted(owners, key=lambda owner: _get_time(origins[owner]), reverse=True)

    for owners, run in groupby(blocks, find_owners):
        blocks = [block._replace(first=block.first + first - 1, last=block.last + first - 1) for block in run]
        yield Passage([origins[owner] for owner in owners], blocks, [])


def _build_text_passages(db, lines: list[Line]) -> Iterator[Passage]:
    origins = _read_origins(db, lines)
    for owner, run in groupby(lines, lambda line: (line.audit_id, line.gap)):
        rows = text_excerpts.build_rows((line.number, line.text.rstrip("\r\n")) for line in run)
        yield Passage([origins[owner]], [], list(rows))


def _read_origins(db, lines: list[Line]) -> dict[Owner, Origin]:
    owners = {(line.audit_id, line.gap) for line in lines}
    ids = {audit_id for audit_id, _gap in owners if audit_id}
    audits = WriteGuardianAudit.objects.using(db).defer("diff", "hunks_json").in_bulk(ids)
    turn_ids = {row.turn_id for row in audits.values() if row.turn_id}
    turns = ConversationTurn.objects.using(db).only(*TURN).in_bulk(turn_ids)
    hidden = consent.find_withheld_keys(db, turn_ids)
    origins = {}
    for audit_id, gap in owners:
        audit = audits.get(audit_id)
        turn = turns.get(audit.turn_id) if audit else None
        origins[audit_id, gap] = Origin(audit, turn, gap, is_withheld=turn is not None and turn.id in hidden)
    return origins


def _get_time(origin: Origin) -> int:
    return origin.audit.created_at if origin.audit else origin.gap.since if origin.gap else 0
