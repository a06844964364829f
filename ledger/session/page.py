"""Template contexts of a session's pages: map, filters, branches, origin, and tables."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from openclaw_web.lists.paging import page_of

from ..models import Session
from ..savings import views as savings_views
from ..transcripts import forks, origins
from . import live_update, minimap, session_metadata, steps, transcript_page

TURNS = 100
TURN_COLUMNS = (
    *("turn_number", "user_message_content", "created_at", "is_active", "model", "latency_ms", "input_tokens"),
    *("output_tokens", "cache_read_tokens", "total_tokens", "cost_usd", "tool_call_count", "error_count"),
    *("unpriced_tokens", "repeat_of"),
)
FORKS = 60  # branches named on one page


def build_session_context(session: Session) -> dict[str, Any]:
    """The context of every session view above its content."""
    return {
        "session": session,
        "session_url": session.get_absolute_url(),
        "session_metadata": session_metadata.build_session_metadata(session),
        "origin": origins.read_origin(session),
        "sources": _read_sources(session),
        "outline": minimap.read_outline(session),
    }


@dataclass(frozen=True, slots=True)
class Source:
    """Another session from which records of this one were copied."""

    session_id: str
    title: str
    count: int


def _read_sources(session):
    """The sessions from which records of a session were copied, most records first.

    Most sessions name no parent, and need no query.
    """
    if not session.parents:
        return []
    rows = (
        session.events.filter(repeat_of__isnull=False).order_by().values_list("repeat_of").annotate(count=Count("seq"))
    )
    counts = dict(rows.order_by("-count", "repeat_of")[:FORKS])
    titles = dict(Session.objects.using(session._state.db).filter(id__in=counts).values_list("id", "title"))
    return [Source(name, titles.get(name) or name, count) for name, count in counts.items()]


def build_transcript_context(session: Session, form, outline) -> dict[str, Any]:
    """The chunk of the transcript at an address, with its map and its first poll."""
    place = transcript_page.find_place(session, **form.read_place())
    page = transcript_page.read_page(session, place, form.read_filter())
    steps.add_durations(session, page.sections)
    if not page.filter_result:
        show_forks(session, page)
    strip = minimap.build_strip(outline, page.place.branch, page.first_seq, page.last_seq) if has_map(session) else None
    return {
        "page": page,
        "aside_count": page.aside_count,
        "form": form,
        "chips": list(form.chips()),
        "map": strip,
        "update": live_update.build_first_update(session, page),
    }


def build_turns_context(session: Session, *, branch: str, after: str, before: str) -> dict[str, Any]:
    """A page of the turns of a session as a table; of every branch with `branch="all"`."""
    rows = session.turns.all() if branch == "all" else session.turns.active()
    rows = rows.only(*TURN_COLUMNS, "session_id").order_by("turn_number")
    page = page_of(rows, order=("turn_number",), after=after, before=before, size=TURNS)
    return _count_abandoned(session) | {"turns": page}


def build_branches_context(session: Session) -> dict[str, Any]:
    """The abandoned branches of a session, the latest first, and their number.

    At most forks.MAX_BRANCHES are listed.
    """
    abandoned = forks.find_branches(session)
    return _count_abandoned(session) | {
        "branches": forks.describe_branches(session, abandoned[: forks.MAX_BRANCHES]),
        "branch_count": len(abandoned),
        "active_count": session.events.filter(is_active=True).count(),
    }


def build_steps_context(session: Session, *, after: str, before: str) -> dict[str, Any]:
    """A page of the steps of a session's runs."""
    page = steps.read_page(session, after=after, before=before)
    return _count_abandoned(session) | {"steps": page, "rows": [(step, steps.describe_step(step)) for step in page]}


def build_savings_context(session: Session, *, after: str, before: str) -> dict[str, Any]:
    """The context of a session's savings; the cursors are those of its turns."""
    return _count_abandoned(session) | savings_views.build_session_savings_context(session, after=after, before=before)


def _count_abandoned(session):
    """The number of records on abandoned branches; with some, the session has a tab for them."""
    return {"aside_count": session.events.filter(is_active=False).count()}


def has_map(session: Session) -> bool:
    """Whether a session is long enough for a map."""
    return session.record_count >= minimap.MIN_RECORDS


def show_forks(session: Session, page: transcript_page.TranscriptPage) -> None:
    """Add to a page's records the branches that continue from them, when these are few."""
    if not 0 < page.aside_count <= forks.MAX_ASIDE_RECORDS:
        return
    nearby = [
        branch
        for branch in forks.find_branches(session)
        if page.first_seq <= branch.fork_seq <= page.last_seq or (branch.fork_seq < 0 and page.earlier is None)
    ]
    nearby = [branch for branch in nearby if branch.leaf_id != page.place.branch][:FORKS]
    if not nearby and not page.records.is_aside:
        return
    nearby = forks.describe_branches(session, nearby)
    places = {entry.record_id: entry for section in page.sections for entry in section.entries}
    for entry in list(places.values()):
        places |= {call.result.record_id: entry for call in entry.calls if call.result}
    for branch in nearby:
        if branch.fork_seq < 0:
            page.roots.append(branch)
        elif entry := places.get(branch.fork_id):
            entry.branches.append(branch)
    # On an abandoned branch, add the way back to the active branch to the fork.
    if not page.records.is_aside:
        return
    fork = session.events.filter(seq=page.records.fork_seq).values_list("event_id", flat=True).first()
    if fork in places:
        places[fork].branches.insert(0, forks.Branch("", -1, -1, page.records.fork_seq, fork, 0))
