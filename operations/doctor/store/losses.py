"""What the store should hold and does not: rows by session and kind, against what was noted when they were read."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents import holdings
from agents.holdings import Holding
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import dialect, statements

from ..findings import NOTE, Finding

IMPORT_AGAIN = "collect_again"  # the repair of findings that reading sources again mends
IDS = "ids"  # the kind of a loss that only the checksum tells: as many records as noted, and others
NAMED = 20  # sessions that findings name, of each agent; the list of losses tells more
LISTED = 500
# A record is a row with what it is known by: one without the other cannot be found, or read.
IS_KNOWN = "EXISTS (SELECT 1 FROM transcript_event_identities i WHERE i.session_id = e.session_id AND i.seq = e.seq)"
HELD = f"""
SELECT e.session_id, e.kind, {dialect.count_if(IS_KNOWN)} FROM transcript_events e GROUP BY e.session_id, e.kind
"""  # noqa: S608 - constants
KNOWN_IDS = """
SELECT i.session_id, i.event_id FROM transcript_event_identities i
WHERE EXISTS (SELECT 1 FROM transcript_events e WHERE e.session_id = i.session_id AND e.seq = i.seq)
ORDER BY i.session_id
"""


@dataclass(slots=True)
class Loss:
    """Records of one kind of one session: `noted` should be there, `held` are, `different` say something else.

    `in_sources` are those of the missing and different ones that a source still has; None: nobody has compared yet.
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
    """What was counted of the store: `sessions` and `records` compared."""

    sessions: int = 0
    records: int = 0
    losses: dict[tuple[str, str, str], Loss] = field(default_factory=dict)
    more: Counter[str] = field(default_factory=Counter)  # by agent: records that nobody noted
    not_noted: Counter[str] = field(default_factory=Counter)  # by agent: sessions without a note
    held: dict[str, dict[str, Holding]] = field(default_factory=dict)  # agent -> session -> its rows
    gone: set[str] = field(default_factory=set)  # agents without a file
    back: dict[str, list[str]] = field(default_factory=dict)  # agent -> sessions that were taken out and are here

    def get_agent_losses(self, agent_id: str) -> list[Loss]:
        """The losses of one agent."""
        return [loss for (agent, _session, _kind), loss in self.losses.items() if agent == agent_id]


def count_records(agent_id: str, db: str | None, counts: Counts) -> None:
    """Compare the rows of an agent's file with what was noted; without a file (`db` None) everything noted is lost."""
    noted = holdings.read_holdings(agent_id)
    held = counts.held[agent_id] = held_rows(db) if db else {}
    counts.gone.update([] if db else [agent_id])
    out = holdings.read_removed(agent_id).keys()  # were taken out on purpose: nothing that counts as imported
    not_noted = {session_id for session_id in held if session_id not in noted}
    counts.back[agent_id] = sorted(out & held.keys())
    not_noted -= out
    counts.not_noted[agent_id] += len(not_noted)
    for session_id, wanted in noted.items():
        if session_id in not_noted and not wanted.count:
            continue
        counts.sessions += 1
        counts.records += wanted.count
        _compare(agent_id, session_id, wanted, held.get(session_id, Holding()), counts)


def _compare(agent_id, session_id, noted, own, counts):
    if own.lacks(noted):
        missing = noted.kinds - own.kinds
        for kind, number in sorted(missing.items()):
            loss = Loss(agent_id, session_id, kind, noted.kinds[kind], own.kinds[kind], number)
            counts.losses[agent_id, session_id, kind] = loss
        if not missing:  # as many records, and others: at least one of those noted is gone
            counts.losses[agent_id, session_id, IDS] = Loss(agent_id, session_id, IDS, own.count, own.count - 1, 1)
    counts.more[agent_id] += max(0, own.count - noted.count)


def held_rows(db: str) -> dict[str, Holding]:
    """Session -> records in an agent's file that have what they are known by."""
    found: dict[str, Holding] = defaultdict(Holding)
    for session_id, kind, known in statements.iterate_rows(db, HELD):
        found[session_id].kinds += Counter({kind: known})
    for session_id, rows in groupby(statements.iterate_rows(db, KNOWN_IDS), itemgetter(0)):
        found[session_id].checksum = holdings.compute_checksum(str(record_id) for _session, record_id in rows)
    return found


def build_loss_findings(agent_id: str, counts: Counts, *, is_deep: bool) -> Iterator[Finding]:
    """What is to be said of one agent: each session that lost something, how many more, and what was not compared."""
    by_session: dict[str, list[Loss]] = {}
    for loss in (
        counts.of_agent(agent_id) if agent_id not in counts.gone else ()
    ):  # of a file that is gone one is enough
        by_session.setdefault(loss.session_id, []).append(loss)
    for session_id, some in list(by_session.items())[:NAMED]:
        words = {"agent": agent_id, "session": session_id, "what": _kinds(some)}
        sentence = _("Session %(session)s of agent %(agent)s has lost records: %(what)s.") % dialect
        restorable, missing = restorable_of(some)
        if restorable < missing and all(loss.in_sources is not None for loss in some):
            words = {"count": f"{restorable:,}"}
            sentence += (
                " " + _("In its sources there are %(count)s of them; “Import and repair” searches backups.") % dialect
            )
        repair = IMPORT_AGAIN if restorable >= missing else ""
        yield Finding("lost", sentence, f"{agent_id}/{session_id}", repair=repair, agent=agent_id)
    if len(by_session) > NAMED:
        rest = len(by_session) - NAMED
        sentence = ngettext(
            "%(count)s more session of agent %(agent)s has lost records.",
            "%(count)s more sessions of agent %(agent)s have lost records.",
            rest,
        )
        words = {"count": f"{rest:,}", "agent": agent_id}
        restorable, missing = restorable_of([loss for some in [*by_session.values()][NAMED:] for loss in some])
        repair = IMPORT_AGAIN if restorable >= missing else ""
        yield Finding("lost", sentence % dialect, agent_id, repair=repair, agent=agent_id)
    for session_id in counts.back.get(agent_id, [])[:NAMED]:
        sentence = _(
            "Session %(session)s of agent %(agent)s was removed on purpose and is in the database again, for"
            " example after an older copy was restored. Importing again removes sessions of people who opted"
            " out; Retention removes old sessions."
        )
        words = {"session": session_id, "agent": agent_id}
        yield Finding("back", sentence % words, f"{agent_id}/{session_id}", agent=agent_id)
    yield from _notes(agent_id, counts, is_deep)


def restorable_of(some: list[Loss]) -> tuple[int, int]:
    """How many of the missing and different records are in a source, and how many there are."""
    return sum(loss.in_sources or 0 for loss in some), sum(loss.missing + loss.different for loss in some)


def _kinds(some):
    parts = []
    for loss in some:
        words = {"kind": loss.kind, "missing": f"{loss.missing:,}", "noted": f"{loss.noted:,}"}
        words["different"] = f"{loss.different:,}"
        if loss.kind == IDS:
            parts.append(_("at least 1 of %(noted)s missing, with other records in its place") % words)
        elif loss.missing:
            parts.append(_("%(kind)s: %(missing)s of %(noted)s missing") % words)
        if loss.different:
            parts.append(_("%(kind)s: %(different)s of %(noted)s different from the source") % words)
    return listed(parts)


def _notes(agent_id, counts, is_deep):
    if more := counts.more[agent_id]:
        sentence = ngettext(
            "Agent %(agent)s has %(count)s record more than expected. Nothing is lost.",
            "Agent %(agent)s has %(count)s records more than expected. Nothing is lost.",
            more,
        )
        yield Finding("more", sentence % {"count": f"{more:,}", "agent": agent_id}, level=NOTE, agent=agent_id)
    if not is_deep and (without := counts.not_noted[agent_id]):
        sentence = ngettext(
            "%(count)s session of agent %(agent)s is not counted yet: its import was interrupted.",
            "%(count)s sessions of agent %(agent)s are not counted yet: their import was interrupted.",
            without,
        )
        words = {"count": f"{without:,}", "agent": agent_id}
        yield Finding("uncounted", sentence % words, repair=IMPORT_AGAIN, level=NOTE, agent=agent_id)
