"""What is new in a session since a page of it was made: the answer to a poll of an open page."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.db.models import Q

from ..models import Session
from . import transcript_page
from .branch_records import EVERYTHING, BranchRecords
from .timeline import Entry, Section

BACK = 20  # records before the new ones that the call of a new result is looked for in


@dataclass(slots=True)
class LiveUpdate:
    """What a page has to show. `redo` is a record on the page that got results, `more` the records that continue the
    section the page ends with (`into`, an HTML id), `sections` what comes after it.

    `reload` says that what the page shows is no longer what the session is; `is_over` that no more is to come.
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
        """The address that the page asks next."""
        return urlencode(self.state)

    @property
    def first_id(self):
        """The id of the first record that is new."""
        entries = [*self.more, *(entry for section in self.sections for entry in section.entries)]
        return entries[0].record_id if entries else ""


def build_first_update(session: Session, page: transcript_page.TranscriptPage) -> LiveUpdate | None:
    """What a page that was just made asks first; None when nothing can come: a session that ended, an old branch."""
    if session.source_state != Session.State.LIVE or page.reach.is_aside or page.found or not page.sections:
        return None
    into = page.last.html_id if page.last.turn else ""
    return LiveUpdate(
        _state(session, page.place, page.last_seq, page.last_id, page.later is None, into, session.record_count)
    )


def compare_session(db: str, session_id: str, asked: dict) -> str:
    """Whether a session is what a page knows: "same", "changed" or "gone". One small read."""
    rows = Session.objects.using(db).filter(id=session_id)
    known = rows.values_list("record_count", "leaf_record_id", "source_state").first()
    if known is None:
        return "gone"
    return "same" if known == (asked["count"], asked["leaf"] or None, Session.State.LIVE) else "changed"


def build_gone_update() -> LiveUpdate:
    """What a page of a session that is no longer there has to show."""
    return LiveUpdate({}, reload=True, is_over=True)


def read_update(session: Session, asked: dict) -> LiveUpdate:
    """What a page that knows what `asked` says (session_forms.LiveForm) has to show."""
    way = BranchRecords(session, EVERYTHING if asked["branch"] else "")
    place = transcript_page.TranscriptPlace(branch=way.branch, everything=asked["all"])
    count = session.record_count - asked["count"]
    into = asked["into"]
    found = LiveUpdate(_state(session, place, asked["live"], asked["id"], asked["end"], into, asked["base"]), into=into)
    found.is_over = session.source_state != Session.State.LIVE
    if count < 0 or not _is_still_there(way, asked):
        found.reload = found.is_over = True
    elif not asked["end"]:
        found.count, found.waiting = count, session.record_count - asked["base"]
    elif count:
        _append(found, way, place, asked)
    return found


def _is_still_there(way, asked):
    """Whether the last record on the page is the one it was, on the branch that is read."""
    identity = way.session.identities.filter(seq=asked["live"]).values_list("event_id", flat=True).first()
    row = way.session.events.filter(seq=asked["live"]).values("is_active").first()
    return bool(row) and identity == asked["id"] and way.holds(asked["live"], row["is_active"])


def _append(found, way, place, asked):
    rows, has_more = transcript_page.read_rows_after(way, asked["live"])
    if not rows:
        return
    last, count = rows[-1]["seq"], len(rows)
    before = _asking(way, asked["live"]) if rows[0]["kind"] == "tool_result" else []
    sections = transcript_page.read_sections(way, before + rows, show_all=place.everything)
    found.count, found.later = count, last if has_more else None
    if before:
        found.redo = sections[0].entries.pop(0)
    if sections and sections[0].turn and asked["into"].split("-")[1:2] == [str(sections[0].number)]:
        found.turn, found.more = sections[0].turn, sections.pop(0).entries
    elif before and not sections[0].entries:
        sections.pop(0)
    found.sections = sections
    into = asked["into"] if not sections else sections[-1].html_id if sections[-1].turn else ""
    last_id = rows[-1]["record_id"]
    found.state = _state(way.session, place, last, last_id, not has_more, into, asked["base"])


def _asking(way, seq):
    """The record on the page whose calls new results answer, and the results that it already has."""
    rows = way.before(seq + 1, BACK, *transcript_page.COLUMNS, only=Q(tool_call_count__gt=0) | Q(kind="tool_result"))
    for number, row in enumerate(rows):
        if row["seq"] != seq - number:
            return []
        if row["tool_call_count"]:
            return rows[: number + 1][::-1]
    return []


def _state(session, place, last, record_id, is_end, into, base):
    state = {
        "live": str(last),
        "id": record_id or "",
        "count": str(session.record_count),
        "leaf": session.leaf_record_id or "",
    }
    state |= {"base": str(base)}
    marks = {"end": "1" if is_end else "", "into": into, "branch": place.branch, "all": "1" if place.everything else ""}
    return state | {name: value for name, value in marks.items() if value}
