"""Counts lost rows: stored rows by session and kind, compared with counts noted at import."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.utils.translation import gettext as _

from agents import holdings
from agents.holdings import Holding
from openclaw_web.amounts import format_plural
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import statements

from ..findings import NOTE, Finding

IMPORT_AGAIN = "collect_again"  # the repair of findings that a repeated import resolves
IDS = "ids"  # the kind of a loss that only the checksum shows: as many records as noted, but others
NAMED = 20  # maximum of sessions that findings name, per agent; the list of losses is longer

# A record without its id cannot be found.
HELD = "SELECT session_id, kind, count(event_id) FROM transcript_events GROUP BY session_id, kind"
KNOWN_IDS = "SELECT session_id, event_id FROM transcript_events WHERE event_id IS NOT NULL ORDER BY session_id"


@dataclass(slots=True)
class Loss:
    """Lost records of one kind in one session.

    `noted` should be stored, `held` are, `different` have another content. `in_sources` counts the missing and
    different ones that a source still contains; None: not compared yet.
    """

    agent: str
    session_id: str
    kind: str
    noted: int
    held: int
    missing: int
    different: int = 0
    in_sources: int | None = None
    where: str = ""

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Counts:
    """Counts of the store: compared `sessions` and `records`, and losses."""

    sessions: int = 0
    records: int = 0
    losses: dict[tuple[str, str, str], Loss] = field(default_factory=dict)
    more: Counter[str] = field(default_factory=Counter)  # by agent: records that are not in the noted counts
    not_noted: Counter[str] = field(default_factory=Counter)  # by agent: sessions without a note
    held: dict[str, dict[str, Holding]] = field(default_factory=dict)  # agent -> session -> its rows
    gone: set[str] = field(default_factory=set)  # agents without a file
    back: dict[str, list[str]] = field(default_factory=dict)  # agent -> removed sessions that are stored again

    def get_agent_losses(self, agent_id: str) -> list[Loss]:
        """The losses of one agent."""
        return [loss for (agent, _session, _kind), loss in self.losses.items() if agent == agent_id]


def count_records(agent_id: str, db: str | None, counts: Counts) -> None:
    """Compare the rows of an agent's file with the noted counts.

    Without a file (`db` None) all noted records are lost.
    """
    noted = holdings.read_holdings(agent_id)
    held = counts.held[agent_id] = held_rows(db) if db else {}
    counts.gone.update([] if db else [agent_id])
    removed = holdings.read_removed(agent_id).keys()  # removed on purpose, so they do not count as imported
    not_noted = {session_id for session_id in held if session_id not in noted}
    counts.back[agent_id] = sorted(removed & held.keys())
    not_noted -= removed
    counts.not_noted[agent_id] += len(not_noted)
    for session_id, holding in noted.items():
        if session_id in not_noted and not holding.count:
            continue
        counts.sessions += 1
        counts.records += holding.count
        _compare(agent_id, session_id, holding, held.get(session_id, Holding()), counts)


def _compare(agent_id, session_id, noted, own, counts):
    if own.lacks(noted):
        missing = noted.kinds - own.kinds
        for kind, number in sorted(missing.items()):
            loss = Loss(agent_id, session_id, kind, noted.kinds[kind], own.kinds[kind], number)
            counts.losses[agent_id, session_id, kind] = loss
        if not missing:  # as many records, but others: at least one noted record is lost
            counts.losses[agent_id, session_id, IDS] = Loss(agent_id, session_id, IDS, own.count, own.count - 1, 1)
    counts.more[agent_id] += max(0, own.count - noted.count)


def held_rows(db: str) -> dict[str, Holding]:
    """Records in an agent's file by session. Those without an id do not count."""
    held: dict[str, Holding] = defaultdict(Holding)
    for session_id, kind, known in statements.iterate_rows(db, HELD):
        held[session_id].kinds += Counter({kind: known})
    for session_id, rows in groupby(statements.iterate_rows(db, KNOWN_IDS), itemgetter(0)):
        held[session_id].checksum = holdings.compute_checksum(str(record_id) for _session, record_id in rows)
    return held


def build_loss_findings(agent_id: str, counts: Counts, *, is_deep: bool) -> Iterator[Finding]:
    """Findings about one agent: its sessions with losses, and sessions that were not compared."""
    by_session: dict[str, list[Loss]] = {}
    for loss in (
        counts.get_agent_losses(agent_id) if agent_id not in counts.gone else ()
    ):  # for a missing file, one finding is enough
        by_session.setdefault(loss.session_id, []).append(loss)
    for session_id, session_losses in list(by_session.items())[:NAMED]:
        words = {"agent": agent_id, "session": session_id, "what": _describe_kinds(session_losses)}
        sentence = _("Session %(session)s of agent %(agent)s has lost records: %(what)s.") % words
        restorable, missing = restorable_of(session_losses)
        if restorable < missing and all(loss.in_sources is not None for loss in session_losses):
            words = {"count": f"{restorable:,}"}
            sentence += (
                " " + _("In its sources there are %(count)s of them; “Import and repair” searches backups.") % words
            )
        repair = IMPORT_AGAIN if restorable >= missing else ""
        yield Finding("lost", sentence, f"{agent_id}/{session_id}", repair=repair, agent=agent_id)
    if rest := [*by_session.values()][NAMED:]:
        sentence = format_plural(
            "%(count)s more session of agent %(agent)s has lost records.",
            "%(count)s more sessions of agent %(agent)s have lost records.",
            len(rest),
            agent=agent_id,
        )
        restorable, missing = restorable_of([loss for session_losses in rest for loss in session_losses])
        repair = IMPORT_AGAIN if restorable >= missing else ""
        yield Finding("lost", sentence, agent_id, repair=repair, agent=agent_id)
    for session_id in counts.back.get(agent_id, [])[:NAMED]:
        sentence = _(
            "Session %(session)s of agent %(agent)s was removed on purpose and is in the database again, for"
            " example after an older copy was restored. Importing again removes sessions of people who opted"
            " out; Retention removes old sessions."
        )
        words = {"session": session_id, "agent": agent_id}
        yield Finding("back", sentence % words, f"{agent_id}/{session_id}", agent=agent_id)
    yield from _build_notes(agent_id, counts, is_deep)


def restorable_of(losses: list[Loss]) -> tuple[int, int]:
    """The number of missing and different records in sources, and of all of them."""
    return sum(loss.in_sources or 0 for loss in losses), sum(loss.missing + loss.different for loss in losses)


def _describe_kinds(losses):
    parts = []
    for loss in losses:
        words = {"kind": loss.kind, "missing": f"{loss.missing:,}", "noted": f"{loss.noted:,}"}
        words["different"] = f"{loss.different:,}"
        if loss.kind == IDS:
            parts.append(_("at least 1 of %(noted)s missing, with other records in its place") % words)
        elif loss.missing:
            parts.append(_("%(kind)s: %(missing)s of %(noted)s missing") % words)
        if loss.different:
            parts.append(_("%(kind)s: %(different)s of %(noted)s different from the source") % words)
    return listed(parts)


def _build_notes(agent_id, counts, is_deep):
    if more := counts.more[agent_id]:
        sentence = format_plural(
            "Agent %(agent)s has %(count)s record more than expected. Nothing is lost.",
            "Agent %(agent)s has %(count)s records more than expected. Nothing is lost.",
            more,
            agent=agent_id,
        )
        yield Finding("more", sentence, level=NOTE, agent=agent_id)
    if not is_deep and (uncounted := counts.not_noted[agent_id]):
        sentence = format_plural(
            "%(count)s session of agent %(agent)s is not counted yet: its import was interrupted.",
            "%(count)s sessions of agent %(agent)s are not counted yet: their import was interrupted.",
            uncounted,
            agent=agent_id,
        )
        yield Finding("uncounted", sentence, repair=IMPORT_AGAIN, level=NOTE, agent=agent_id)
