"""Which records of a session a page shows: chunks of its transcript, found by place, turn or record."""

from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from openclaw_web.sqlite.json_columns import decode

from ..models import Session
from ..outputs import stashed_outputs as outputs
from ..transcripts import forks
from . import branch_records, record_filter, timeline
from .branch_records import BranchRecords

CHUNK = 80  # records
BUDGET = 150_000  # characters shown
LEAD = 40  # records before the one asked for, at most: it is read in its turn
COLUMNS = (
    *("seq", "kind", "turn_number", "is_active", "is_failed", "is_synthetic", "created_at"),
    *("model", "total_tokens", "cost_usd", "repeat_of", "tool_call_count", "trim_json", "event_json"),
)
TURN_COLUMNS = (
    *("turn_number", "created_at", "is_active", "first_seq", "model", "latency_ms"),
    *("total_tokens", "cost_usd", "unpriced_tokens", "tool_call_count", "error_count", "record_count", "repeat_of"),
)


@dataclass(slots=True)
class TranscriptPlace:
    """Where a page of the transcript begins (`after` a record) or ends (`before` one), and what it leaves out."""

    after: int = -1
    before: int | None = None
    record: str = ""
    branch: str = ""  # of reach.Reach
    everything: bool = False
    notice: str = ""


@dataclass(slots=True)
class TranscriptPage:
    """One chunk of a transcript; `earlier` and `later` are the records that the chunks around it border on.

    `found` says what a search looked at, when the page is narrowed to what fits a filter.
    """

    place: TranscriptPlace
    reach: BranchRecords
    sections: list[timeline.Section] = field(default_factory=list)
    record_count: int = 0
    earlier: int | None = None
    later: int | None = None
    first_seq: int = -1
    last_seq: int = -1
    last_id: str = ""
    aside_count: int = 0  # records on other branches
    roots: list[forks.Branch] = field(default_factory=list)  # branches with a beginning of their own
    found: record_filter.FilterResult | None = None

    @property
    def first_id(self):
        """The id of the first record that is shown."""
        return next((entry.record_id for section in self.sections for entry in section.entries), "")

    @property
    def sample_turns(self):
        """The turns that begin on it and may have become samples, as the end of an address: `turn=3&turn=4`."""
        return urlencode([("turn", section.number) for section in self.sections if section.may_be_sample])

    @property
    def begun_turns(self):
        """The turns that begin on it, in the same way."""
        begun = [section for section in self.sections if section.turn and not section.is_continued]
        return urlencode([("turn", section.number) for section in begun])

    @property
    def last(self):
        """The section it ends with."""
        return self.sections[-1] if self.sections else None


def find_place(
    session: Session, *, after=None, before=None, turn=None, record="", branch="", everything=False
) -> TranscriptPlace:
    """The place an address asks for. One that does not exist (any more) leads to the nearest, with a notice."""
    place = TranscriptPlace(branch=branch, everything=everything, record=record)
    if record:
        _go_to_record(session, place)
    elif turn is not None:
        _go_to_turn(session, place, turn)
    elif after is not None:
        place.after = after
    elif before is not None:
        place.before = before
    return place


def read_page(
    session: Session, place: TranscriptPlace, wanted: record_filter.RecordFilter | None = None
) -> TranscriptPage:
    """The chunk at a place; only what fits a filter, with one."""
    way = branch_records.find_branch_records(session, place.branch)
    if way is None:
        place.notice = place.notice or _("No branch of this session ends with %(id)s.") % {"id": place.branch[:80]}
        place.branch, way = "", BranchRecords(session)
    found = TranscriptPage(place, way)
    found.aside_count = session.events.filter(is_active=False).count()
    rows = _hits(found, wanted) if wanted else _chunk(found)
    if rows:
        found.sections = read_sections(way, rows, show_all=place.everything or bool(wanted), keep=place.record)
        found.record_count, found.first_seq, found.last_seq = len(rows), rows[0]["seq"], rows[-1]["seq"]
        found.last_id = rows[-1]["record_id"]
    return found


def read_sections(way: BranchRecords, rows, *, show_all=False, keep=None) -> list[timeline.Section]:
    """Rows of COLUMNS, in order, as a page shows them."""
    parse_rows(way.session, rows)
    if way.is_aside:  # nothing on the branch that is read is beside it
        for row in rows:
            row["is_active"] = True
    turns = _turns(way.session, {row["turn_number"] for row in rows} - {None})
    stashed = outputs.read_outputs(way.session.agent_id, rows)
    return timeline.build_sections(rows, turns, show_all=show_all, keep=keep, outputs=stashed)


def _chunk(found):
    place = found.place
    backwards = place.before is not None
    rows, has_more = _rows_before(found.reach, place.before) if backwards else read_rows_after(found.reach, place.after)
    if rows:
        found.earlier = rows[0]["seq"] if (has_more if backwards else place.after >= 0) else None
        more = found.reach.after(rows[-1]["seq"], 1, "seq") if backwards else has_more
        found.later = rows[-1]["seq"] if more else None
    return rows


def _hits(found, wanted):
    place = found.place
    found.found = record_filter.find_records(found.reach, wanted, COLUMNS, after=place.after, before=place.before)
    found.earlier, found.later = found.found.earlier, found.found.later
    return found.found.rows


def read_rows_after(way: BranchRecords, after: int):
    """The values of a chunk of records after a place, and whether there are more."""
    rows = way.after(after, CHUNK + 1, *COLUMNS)
    kept = take_fitting(rows[:CHUNK])
    has_more = len(kept) < len(rows)
    if has_more:
        kept = _without_open_calls(kept)
    return kept, has_more


def _rows_before(way, before):
    rows = way.before(before, CHUNK + 1, *COLUMNS)
    kept = take_fitting(rows[:CHUNK])[::-1]
    has_more = len(kept) < len(rows)
    if has_more:  # results whose call would be on the page before go there with it
        kept = kept[_results_at_start(kept) :] or kept
    return kept, has_more


def take_fitting(rows, budget: int = BUDGET):
    """As many rows from the beginning as the budget (characters shown) allows; one at least."""
    left = budget
    for number, row in enumerate(rows):
        left -= timeline.estimate_length(row)
        if left < 0 and number:
            return rows[:number]
    return rows


def _without_open_calls(rows):
    """Leave an assistant to the next page when results of its calls only follow there."""
    answers = _results_at_start(reversed(rows))
    last = len(rows) - answers - 1
    return rows[:last] if last > 0 and rows[last]["tool_call_count"] > answers else rows


def _results_at_start(rows):
    return len(list(takewhile(lambda row: row["kind"] == "tool_result", rows)))


def parse_rows(session: Session, rows) -> None:
    """Parse the records of rows and name them. A record without an id of its own is named in another table."""
    for row in rows:
        row["record"] = decode(row["event_json"])
        own = row["record"].get("id")
        row["record_id"] = own if isinstance(own, str) else ""
    if nameless := {row["seq"]: row for row in rows if not row["record_id"]}:
        identities = session.identities.filter(seq__in=nameless).values_list("seq", "event_id")
        for seq, event_id in identities:
            nameless[seq]["record_id"] = event_id


def _turns(session, numbers) -> dict[int, dict[str, Any]]:
    rows = session.turns.filter(turn_number__in=numbers).values(*TURN_COLUMNS)
    return {row["turn_number"]: row for row in rows}


def _go_to_turn(session, place, number):
    turns = session.turns.all() if place.branch else session.turns.active()
    columns = ("turn_number", "first_seq", "is_active")
    exact = session.turns.filter(turn_number=number).values(*columns).first()
    nearest = exact or turns.filter(turn_number__lt=number).order_by("-turn_number").values(*columns).first()
    if nearest is None:
        place.notice = _("There is no turn %(number)s in this session.") % {"number": number}
        return
    if exact is None:
        said = {"number": number, "nearest": nearest["turn_number"]}
        place.notice = _("There is no turn %(number)s. This is the nearest earlier turn, %(nearest)s.") % said
    _open_branch(session, place, nearest["first_seq"], nearest["is_active"])
    place.after = nearest["first_seq"] - 1


def _go_to_record(session, place):
    identity = session.identities.filter(event_id=place.record).first()
    columns = ("seq", "is_active", "turn_number")
    event = identity and session.events.filter(seq=identity.seq).values(*columns).first()
    if not event:
        place.notice = _("This session has no record %(id)s.") % {"id": place.record[:80]}
        return
    turn = session.turns.filter(turn_number=event["turn_number"]).values("first_seq").first()
    _open_branch(session, place, event["seq"], event["is_active"])
    begin = turn["first_seq"] if turn else event["seq"]
    place.after = max(begin, event["seq"] - LEAD) - 1


def _open_branch(session, place, seq, is_active):
    """Read every branch when the one that was asked for does not hold the place."""
    way = branch_records.find_branch_records(session, place.branch)
    if way is None or not way.holds(seq, is_active):
        place.branch = branch_records.EVERYTHING
