"""Pages of a session's transcript: chunks of records, found by place, turn or record."""

from dataclasses import dataclass, field
from itertools import takewhile
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
LEAD = 40  # at most so many records before a requested one, so that it is read in its turn
COLUMNS = (
    *("seq", "event_id", "kind", "turn_number", "is_active", "is_failed", "is_synthetic", "created_at"),
    *("model", "total_tokens", "cost_usd", "repeat_of", "tool_call_count", "trim_json", "event_json"),
)
TURN_COLUMNS = (
    *("turn_number", "created_at", "is_active", "first_seq", "model", "latency_ms"),
    *("total_tokens", "cost_usd", "unpriced_tokens", "tool_call_count", "error_count", "record_count", "repeat_of"),
    *("asked_model", "answer_state", "delivery", "agent_metadata", "agent_message_content"),
)


@dataclass(slots=True)
class TranscriptPlace:
    """The place of a transcript's page.

    It begins `after` a record, or ends `before` one. `everything` shows hidden records too.
    """

    after: int = -1
    before: int | None = None
    record: str = ""
    branch: str = ""  # of reach.Reach
    everything: bool = False
    notice: str = ""


@dataclass(slots=True)
class TranscriptPage:
    """One chunk of a transcript.

    `earlier` and `later` are the records that the chunks around it border on. `filter_result` tells how many records a
    search read, when the page is filtered.
    """

    place: TranscriptPlace
    records: BranchRecords
    sections: list[timeline.Section] = field(default_factory=list)
    record_count: int = 0
    earlier: int | None = None
    later: int | None = None
    first_seq: int = -1
    last_seq: int = -1
    last_id: str = ""
    aside_count: int = 0  # records on other branches
    roots: list[forks.Branch] = field(default_factory=list)  # branches with a beginning of their own
    filter_result: record_filter.FilterResult | None = None

    @property
    def first_id(self):
        """The id of the first shown record."""
        return next((entry.record_id for section in self.sections for entry in section.entries), "")

    @property
    def sample_turns(self):
        """The turns that begin on it and may be samples, as a query: `turn=3&turn=4`."""
        return urlencode([("turn", section.number) for section in self.sections if section.may_be_sample])

    @property
    def begun_turns(self):
        """The turns that begin on it, as the same kind of query."""
        begun = [section for section in self.sections if section.turn and not section.is_continued]
        return urlencode([("turn", section.number) for section in begun])

    @property
    def last(self):
        """The section it ends with."""
        return self.sections[-1] if self.sections else None


def find_place(
    session: Session, *, after=None, before=None, turn=None, record="", branch="", everything=False
) -> TranscriptPlace:
    """The place that an address names.

    A place that does not exist (any more) leads to the nearest one, with a notice.
    """
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
    session: Session, place: TranscriptPlace, session_filter: record_filter.RecordFilter | None = None
) -> TranscriptPage:
    """The chunk at a place; with a filter, only the records that fit."""
    records = branch_records.find_branch_records(session, place.branch)
    if records is None:
        place.notice = place.notice or _("No branch of this session ends with %(id)s.") % {"id": place.branch[:80]}
        place.branch, records = "", BranchRecords(session)
    result = TranscriptPage(place, records)
    result.aside_count = session.events.filter(is_active=False).count()
    rows = _read_hits(result, session_filter) if session_filter else _read_chunk(result)
    if rows:
        result.sections = read_sections(
            records, rows, show_all=place.everything or bool(session_filter), keep=place.record
        )
        result.record_count, result.first_seq, result.last_seq = len(rows), rows[0]["seq"], rows[-1]["seq"]
        result.last_id = rows[-1]["record_id"]
    return result


def read_sections(records: BranchRecords, rows, *, show_all=False, keep=None) -> list[timeline.Section]:
    """Rows of COLUMNS, in order, as sections of a page."""
    parse_rows(rows)
    if records.is_aside:  # all records of the branch that is read are shown as active
        for row in rows:
            row["is_active"] = True
    numbers = {row["turn_number"] for row in rows} - {None}
    turn_rows = records.session.turns.filter(turn_number__in=numbers).values(*TURN_COLUMNS)
    turns = {row["turn_number"]: row for row in turn_rows}
    stashed = outputs.read_outputs(records.session.agent_id, rows)
    return timeline.build_sections(rows, turns, show_all=show_all, keep=keep, outputs=stashed)


def _read_chunk(result):
    place = result.place
    backwards = place.before is not None
    rows, has_more = (
        _read_rows_before(result.records, place.before) if backwards else read_rows_after(result.records, place.after)
    )
    if rows:
        result.earlier = rows[0]["seq"] if (has_more if backwards else place.after >= 0) else None
        more = result.records.after(rows[-1]["seq"], 1, "seq") if backwards else has_more
        result.later = rows[-1]["seq"] if more else None
    return rows


def _read_hits(result, session_filter):
    place = result.place
    result.filter_result = record_filter.find_records(
        result.records, session_filter, COLUMNS, after=place.after, before=place.before
    )
    result.earlier, result.later = result.filter_result.earlier, result.filter_result.later
    return result.filter_result.rows


def read_rows_after(records: BranchRecords, after: int):
    """The values of a chunk of records after a place, and whether there are more."""
    rows = records.after(after, CHUNK + 1, *COLUMNS)
    chunk = take_fitting(rows[:CHUNK])
    has_more = len(chunk) < len(rows)
    if has_more:
        # Leave a call for the next page when its results only follow there.
        answers = _count_leading_results(reversed(chunk))
        last = len(chunk) - answers - 1
        chunk = chunk[:last] if last > 0 and chunk[last]["tool_call_count"] > answers else chunk
    return chunk, has_more


def _read_rows_before(records, before):
    rows = records.before(before, CHUNK + 1, *COLUMNS)
    chunk = take_fitting(rows[:CHUNK])[::-1]
    has_more = len(chunk) < len(rows)
    if has_more:  # results whose call would be on the page before go there with it
        chunk = chunk[_count_leading_results(chunk) :] or chunk
    return chunk, has_more


def take_fitting(rows, budget: int = BUDGET):
    """The first rows that fit in a budget of shown characters, at least one."""
    remaining = budget
    for number, row in enumerate(rows):
        remaining -= timeline.estimate_length(row)
        if remaining < 0 and number:
            return rows[:number]
    return rows


def _count_leading_results(rows):
    return len(list(takewhile(lambda row: row["kind"] == "tool_result", rows)))


def parse_rows(rows) -> None:
    """Parse the records of rows, and set their ids."""
    for row in rows:
        row["record"], row["record_id"] = decode(row["event_json"]), row["event_id"] or ""


def _go_to_turn(session, place, number):
    turns = session.turns.all() if place.branch else session.turns.active()
    columns = ("turn_number", "first_seq", "is_active")
    exact = session.turns.filter(turn_number=number).values(*columns).first()
    nearest = exact or turns.filter(turn_number__lt=number).order_by("-turn_number").values(*columns).first()
    if nearest is None:
        place.notice = _("There is no turn %(number)s in this session.") % {"number": number}
        return
    if exact is None:
        numbers = {"number": number, "nearest": nearest["turn_number"]}
        place.notice = _("There is no turn %(number)s. This is the nearest earlier turn, %(nearest)s.") % numbers
    _open_branch(session, place, nearest["first_seq"], nearest["is_active"])
    place.after = nearest["first_seq"] - 1


def _go_to_record(session, place):
    event = session.events.filter(event_id=place.record).values("seq", "is_active", "turn_number").first()
    if not event:
        place.notice = _("This session has no record %(id)s.") % {"id": place.record[:80]}
        return
    turn = session.turns.filter(turn_number=event["turn_number"]).values("first_seq").first()
    _open_branch(session, place, event["seq"], event["is_active"])
    begin = turn["first_seq"] if turn else event["seq"]
    place.after = max(begin, event["seq"] - LEAD) - 1


def _open_branch(session, place, seq, is_active):
    """Read every branch when the requested one does not have the place."""
    records = branch_records.find_branch_records(session, place.branch)
    if records is None or not records.holds(seq, is_active):
        place.branch = branch_records.EVERYTHING
