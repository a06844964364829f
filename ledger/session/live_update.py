"""Changes of a session since a page was rendered, for polls of that page."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.db.models import Q

from ..models import Session
from . import transcript_page
from .branch_records import EVERYTHING, BranchRecords
from .timeline import Entry, Section

BACK = 20  # records before the new ones that are searched for the call of a new result


@dataclass(slots=True)
class LiveUpdate:
    """The changes that an open page has to show.

    `redo` is a record on the page that got results, `more` the records that continue the section the page ends with
    (`into`, an HTML id), `sections` the ones after it. `reload` is True when the page no longer shows the session as it
    is; `is_over` when no more changes will come.
    """

    state: dict[str, str]
    count: int = 0
    waiting: int = 0  # records after a page that does not go to the end
    into: str = ""
    turn: dict | None = None
    redo: Entry | None = None
    more: list[Entry] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    later: int | None = None
    reload: bool = False
    is_over: bool = False

    @property
    def query(self):
        """The query of the page's next poll."""
        return urlencode(self.state)

    @property
    def first_id(self):
        """The id of the first new record."""
        entries = [*self.more, *(entry for section in self.sections for entry in section.entries)]
        return entries[0].record_id if entries else ""


def build_first_update(session: Session, page: transcript_page.TranscriptPage) -> LiveUpdate | None:
    """The first poll of a page that was just rendered, or None.

    None means that no changes can come: the session ended, or the page shows an abandoned branch or a search.
    """
    if session.source_state != Session.State.LIVE or page.records.is_aside or page.filter_result or not page.sections:
        return None
    into = page.last.html_id if page.last.turn else ""
    return LiveUpdate(
        _build_state(session, page.place, page.last_seq, page.last_id, page.later is None, into, session.record_count)
    )


def compare_session(db: str, session_id: str, page_state: dict) -> str:
    """Whether a session is as a page knows it: "same", "changed" or "gone".

    It takes one small read.
    """
    rows = Session.objects.using(db).filter(id=session_id)
    known = rows.values_list("record_count", "leaf_record_id", "source_state").first()
    if known is None:
        return "gone"
    return "same" if known == (page_state["count"], page_state["leaf"] or None, Session.State.LIVE) else "changed"


def build_gone_update() -> LiveUpdate:
    """The update for a page of a session that no longer exists."""
    return LiveUpdate({}, reload=True, is_over=True)


def read_update(session: Session, page_state: dict) -> LiveUpdate:
    """The update for a page in the state `page_state` (session_forms.LiveForm)."""
    records = BranchRecords(session, EVERYTHING if page_state["branch"] else "")
    place = transcript_page.TranscriptPlace(branch=records.branch, everything=page_state["all"])
    count = session.record_count - page_state["count"]
    into = page_state["into"]
    update = LiveUpdate(
        _build_state(session, place, page_state["live"], page_state["id"], page_state["end"], into, page_state["base"]),
        into=into,
    )
    update.is_over = session.source_state != Session.State.LIVE
    if count < 0 or not _is_still_there(records, page_state):
        update.reload = update.is_over = True
    elif not page_state["end"]:
        update.count, update.waiting = count, session.record_count - page_state["base"]
    elif count:
        _append(update, records, place, page_state)
    return update


def _is_still_there(records, page_state):
    """Whether the last record on the page is unchanged, and on the branch that is read."""
    rows = records.session.events.filter(seq=page_state["live"], event_id=page_state["id"])
    is_active = rows.values_list("is_active", flat=True).first()
    return is_active is not None and records.holds(page_state["live"], is_active)


def _append(update, records, place, page_state):
    rows, has_more = transcript_page.read_rows_after(records, page_state["live"])
    if not rows:
        return
    last, count = rows[-1]["seq"], len(rows)
    before = _read_open_call(records, page_state["live"]) if rows[0]["kind"] == "tool_result" else []
    sections = transcript_page.read_sections(records, before + rows, show_all=place.everything)
    update.count, update.later = count, last if has_more else None
    if before:
        update.redo = sections[0].entries.pop(0)
    if sections and sections[0].turn and page_state["into"].split("-")[1:2] == [str(sections[0].number)]:
        update.turn, update.more = sections[0].turn, sections.pop(0).entries
    elif before and not sections[0].entries:
        sections.pop(0)
    update.sections = sections
    into = page_state["into"] if not sections else sections[-1].html_id if sections[-1].turn else ""
    last_id = rows[-1]["record_id"]
    update.state = _build_state(records.session, place, last, last_id, not has_more, into, page_state["base"])


def _read_open_call(records, seq):
    """The record whose calls new results answer, and its earlier results."""
    rows = records.before(
        seq + 1, BACK, *transcript_page.COLUMNS, only=Q(tool_call_count__gt=0) | Q(kind="tool_result")
    )
    for number, row in enumerate(rows):
        if row["seq"] != seq - number:
            return []
        if row["tool_call_count"]:
            return rows[: number + 1][::-1]
    return []


def _build_state(session, place, last, record_id, is_end, into, base):
    state = {
        "live": str(last),
        "id": record_id or "",
        "count": str(session.record_count),
        "leaf": session.leaf_record_id or "",
    }
    state |= {"base": str(base)}
    marks = {"end": "1" if is_end else "", "into": into, "branch": place.branch, "all": "1" if place.everything else ""}
    return state | {name: value for name, value in marks.items() if value}
