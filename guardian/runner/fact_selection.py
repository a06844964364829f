"""Selects the facts that the built-in guardian handles.

These are the facts of decisions that count for their turn and that nobody has acted on yet.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.db.models import Count, Exists, OuterRef
from django.utils.translation import gettext as _

from agents.models import Agent
from agents.runners.choice import Choice
from gate import decisions
from gate.models import MemoryGateDecision
from gate.runner.turn_selection import BATCH_SIZE, filter_by_choice
from ledger import consent
from openclaw_web.batches import in_batches
from openclaw_web.errors import Refused

from .. import services, versions
from ..corrections import rules
from ..detail import line_blame, opted_out_lines
from ..files import FILE_OF
from ..models import GuardianRun, WriteGuardianAudit
from ..recording.reports import CHANGED
from ..rollbacks import rollback_plan


class Memory:
    """The files, each read once."""

    def __init__(self, agent: Agent):
        self._agent = agent
        self._read: dict[str, bytes | None] = {}
        self._unreadable: dict[str, Refused] = {}
        self._hidden: dict[str, bool] = {}

    def read_file(self, name: str) -> bytes | None:
        """Return what a file holds; None if there is none.

        Raises MayNotWrite and NotWritten for a file that nobody may touch.
        """
        if name in self._unreadable:
            raise self._unreadable[name]
        if name not in self._read:
            try:
                self._read[name] = rollback_plan.read_memory_file(self._agent, name)
            except Refused as refused:
                self._unreadable[name] = refused
                raise
        return self._read[name]

    def can_read(self, name: str) -> bool:
        """Return whether a file can be read, or does not exist."""
        try:
            self.read_file(name)
        except Refused:
            return False
        return True

    def is_hidden(self, name: str) -> bool:
        """Return whether nothing of a file may be sent.

        It is hidden when a line leads to no turn whose words may be used. The authors of lines are known only for the
        newest version: a file that holds anything else is hidden as a whole. A file that nobody can read is not hidden,
        since nothing of it is sent.
        """
        if name not in self._hidden:
            self._hidden[name] = (
                bool(consent.read_opted_out()) and self.can_read(name) and self._has_withheld_lines(name)
            )
        return self._hidden[name]

    def _has_withheld_lines(self, name):
        content = self._read[name]
        if content is None or not content.strip():
            return False
        newest = versions.find_newest(self._agent, name)
        if newest is None or newest.content_hash != services.hash_content(content):
            return True
        return opted_out_lines.has_withheld_lines(
            self._agent.db, [line_blame.FileBlame(self._agent.db, name).blame_snapshot(newest)]
        )


class PastMemory:
    """The memory files as they were before a write."""

    def __init__(self, db: str, audit: WriteGuardianAudit):
        self._db, self._audit = db, audit
        if audit.status not in CHANGED and audit.before_snapshot_id is None:
            audit.before_snapshot = services.find_version_at(db, audit.target_file or "", audit.created_at)

    def read_file(self, name: str) -> bytes | None:
        """Return what a file held; None if there was none. Raises Refused where nobody knows what the target held."""
        is_target, version = name == self._audit.target_file, self._audit.before_snapshot
        if is_target and version is None and self._audit.after_snapshot_id is None:
            raise Refused(_("Nobody knows what %(file)s held before this write.") % {"file": name})
        version = version if is_target else services.find_version_at(self._db, name, self._audit.created_at)
        return services.read_version_bytes(version) if version else None

    def is_hidden(self, name: str) -> bool:
        """Return whether nothing of a file, or of the fact for it, may be sent.

        While somebody has opted out, that is all of the other files.
        """
        if not consent.read_opted_out():
            return False
        if name != self._audit.target_file or rules.is_withheld(self._db, self._audit):
            return True
        blame = line_blame.FileBlame(self._db, name).blame_before(self._audit)
        return opted_out_lines.has_withheld_lines(self._db, [blame])


State = GuardianRun.State


@dataclass(frozen=True, slots=True)
class FactChoice(Choice):
    """The facts that somebody wants handled.

    `files` limits them to facts for these files, each of decisions since a moment (ms). `give_up_after` leaves out
    facts of which this many runs stopped.
    """

    files: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True)
class FactSelection:
    """Decisions whose facts are handled, the oldest first, and how many more are withheld."""

    decisions: list[MemoryGateDecision] = field(default_factory=list)
    withheld: int = 0


def select_facts(agent: Agent, choice: FactChoice) -> FactSelection:
    """Select the decisions whose facts are to be handled. Raises NoSuchSession."""
    memory, selection = Memory(agent), FactSelection()
    rows = _find_decisions(agent.db, choice).iterator(chunk_size=BATCH_SIZE)
    for row, is_withheld in _mark_withheld(agent.db, _filter_relevant(agent.db, rows, choice), memory):
        if is_withheld:
            selection.withheld += 1
        else:
            selection.decisions.append(row)
        if len(selection.decisions) == choice.limit:
            break
    selection.decisions.reverse()
    return selection


def get_target_file(decision: MemoryGateDecision) -> str:
    return FILE_OF[decision.decision]


def is_open(db: str, decision: MemoryGateDecision) -> bool:
    """Return whether nobody has acted on a decision yet."""
    return next(_filter_relevant(db, _find_open_decisions(db).filter(id=decision.id), FactChoice()), None) is not None


def _find_open_decisions(db):
    rows = MemoryGateDecision.objects.using(db).filter(decision__in=FILE_OF, candidate_fact__gt="")
    runs = GuardianRun.objects.using(db).filter(decision_id=OuterRef("id")).exclude(state=State.STOPPED)
    audits = WriteGuardianAudit.objects.using(db).filter(decision_id=OuterRef("id"))
    return rows.exclude(Exists(audits)).exclude(Exists(runs)).defer("raw_response")


def _find_decisions(db, choice):
    """Return the matching decisions, newest first."""
    rows = filter_by_choice(db, _find_open_decisions(db), choice)
    if choice.give_up_after is not None:
        runs = GuardianRun.objects.using(db).filter(decision_id=OuterRef("id"), state=State.STOPPED)
        given_up = runs.values("decision_id").annotate(number=Count("id")).filter(number__gte=choice.give_up_after)
        rows = rows.exclude(Exists(given_up))
    return rows.placed().order_by("-created_at", "-place")


def _filter_relevant(db, rows: Iterable[MemoryGateDecision], choice) -> Iterator[MemoryGateDecision]:
    """Yield decisions that count for their turn and were not acted on.

    A decision was acted on when its turn has a write to the same file under the name of another decision.
    """
    since = dict(choice.files)
    for batch in in_batches(rows, BATCH_SIZE):
        turn_ids = {row.turn_id for row in batch if row.turn_id}
        counting = decisions.find_by_turn(db, turn_ids) if turn_ids else {}
        acted = set(
            WriteGuardianAudit.objects.using(db).filter(turn_id__in=turn_ids).values_list("turn_id", "target_file")
        )
        for row in batch:
            is_counting = row.turn_id is None or counting[row.turn_id].id == row.id
            is_chosen = not since or row.created_at >= since.get(get_target_file(row), row.created_at + 1)
            if is_counting and is_chosen and (row.turn_id, get_target_file(row)) not in acted:
                yield row


def _mark_withheld(db, rows, memory: Memory) -> Iterator[tuple[MemoryGateDecision, bool]]:
    for batch in in_batches(rows, BATCH_SIZE):
        hidden = consent.find_withheld_keys(db, [row.turn_id for row in batch])
        for row in batch:
            yield row, row.turn_id in hidden or memory.is_hidden(get_target_file(row))
