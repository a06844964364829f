"""What the pages of a session show: map, filters, branches, origin, and tables of them."""

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
    """What every view of a session shows above its content."""
    return {
        "session": session,
        "here": session.get_absolute_url(),
        "about": session_metadata.build_session_metadata(session),
        "origin": origins.read_origin(session),
        "sources": _sources(session),
        "outline": minimap.read_outline(session),
    }


@dataclass(frozen=True, slots=True)
class Source:
    """Another session that records of this one are from."""

    session_id: str
    title: str
    count: int


def _sources(session):
    """Sessions that records of a session are from, those with most of them first. Most sessions name no parent."""
    if not session.parents:
        return []
    rows = (
        session.events.filter(repeat_of__isnull=False).order_by().values_list("repeat_of").annotate(count=Count("seq"))
    )
    counts = dict(rows.order_by("-count", "repeat_of")[:FORKS])
    titles = dict(Session.objects.using(session._state.db).filter(id__in=counts).values_list("id", "title"))
    return [Source(name, titles.get(name) or name, count) for name, count in counts.items()]


def build_transcript_context(session: Session, form, outline) -> dict[str, Any]:
    """The chunk of the transcript that an address asks for, with its map and what a live page asks next."""
    page = transcript_page.read_page(session, transcript_page.find_place(session, **form.asked()), form.filter())
    origins.link_children(session, page.sections)
    if not page.found:
        show_forks(session, page)
    strip = minimap.build_strip(outline, page.place.branch, page.first_seq, page.last_seq) if has_map(session) else None
    return {
        "page": page,
        "aside_count": page.aside_count,
        "form": form,
        "chips": list(form.chips()),
        "map": strip,
        "news": live_update.build_first_update(session, page),
    }


def build_turns_context(session: Session, *, branch: str, after: str, before: str) -> dict[str, Any]:
    """A page of the turns of a session as a table; of every branch with `branch="all"`."""
    rows = session.turns.all() if branch == "all" else session.turns.active()
    rows = rows.only(*TURN_COLUMNS, "session_id").order_by("turn_number")
    page = page_of(rows, order=("turn_number",), after=after, before=before, size=TURNS)
    return _aside(session) | {"turns": page}


def build_branches_context(session: Session) -> dict[str, Any]:
    """The branches of a session that were left, the latest first; at most forks.SHOWN, with how many there are."""
    found = forks.find_branches(session)
    return _aside(session) | {
        "branches": forks.describe_branches(session, found[: forks.MAX_BRANCHES]),
        "branch_count": len(found),
        "active_count": session.events.filter(is_active=True).count(),
    }


def build_steps_context(session: Session, *, after: str, before: str) -> dict[str, Any]:
    """A page of the steps of a session's runs."""
    page = steps.read_page(session, after=after, before=before)
    return _aside(session) | {"steps": page, "rows": [(step, steps.describe_step(step)) for step in page]}


def build_savings_context(session: Session, *, after: str, before: str) -> dict[str, Any]:
    """What keeping big outputs off the prompt would save; the cursors are those of its turns."""
    return _aside(session) | savings_views.build_session_savings_context(session, after=after, before=before)


def _aside(session):
    """How many records are on branches that were left: with some, the session has a tab for them."""
    return {"aside_count": session.events.filter(is_active=False).count()}


def has_map(session: Session) -> bool:
    """Whether a session is long enough for a map."""
    return session.record_count >= minimap.MIN_RECORDS


def show_forks(session: Session, page: transcript_page.TranscriptPage) -> None:
    """Give the records on a page the branches that go on from them, when those are few enough to look for."""
    if not 0 < page.aside_count <= forks.MAX_ASIDE_RECORDS:
        return
    shown = [
        branch
        for branch in forks.find_branches(session)
        if page.first_seq <= branch.fork_seq <= page.last_seq or (branch.fork_seq < 0 and page.earlier is None)
    ]
    shown = [branch for branch in shown if branch.leaf_id != page.place.branch][:FORKS]
    if not shown and not page.reach.is_aside:
        return
    shown = forks.describe_branches(session, shown)
    places = {entry.record_id: entry for section in page.sections for entry in section.entries}
    for entry in list(places.values()):
        places |= {call.result.record_id: entry for call in entry.calls if call.result}
    for branch in shown:
        if branch.fork_seq < 0:
            page.roots.append(branch)
        elif entry := places.get(branch.fork_id):
            entry.branches.append(branch)
    _offer_the_active(session, page, places)


def _offer_the_active(session, page, places):
    """On a branch that was left, the fork also leads back to the branch the session ended with."""
    if not page.reach.is_aside:
        return
    fork = session.identities.filter(seq=page.reach.fork_seq).values_list("event_id", flat=True).first()
    if fork in places:
        places[fork].branches.insert(0, forks.Branch("", -1, -1, page.reach.fork_seq, fork, 0))
