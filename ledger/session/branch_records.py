"""The records of a session on one branch: the active one, an abandoned one, or all."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from django.db.models import Q

from ..models import Session
from ..transcripts import forks

EVERYTHING = "all"
BATCH = 500
MANY = 20_000  # values that one query may hold
ANY = Q()


@dataclass(slots=True)
class BranchRecords:
    """The records on a branch of a session.

    `branch` is "" (the active one), "all", or the id of the record a branch ends with.
    """

    session: Session
    branch: str = ""
    fork_seq: int = -1
    own: list[int] = field(default_factory=list)

    @property
    def is_all(self):
        """Whether every record is read."""
        return self.branch == EVERYTHING

    @property
    def is_aside(self):
        """Whether it is an abandoned branch."""
        return bool(self.branch) and not self.is_all

    def holds(self, seq, is_active):
        """Whether a record is on the branch."""
        if self.is_aside:
            at = bisect_left(self.own, seq)
            return (is_active and seq <= self.fork_seq) or self.own[at : at + 1] == [seq]
        return self.is_all or is_active

    def events(self):
        """The records on the branch as one queryset.

        An abandoned branch has its first MANY own ones.
        """
        events = self.session.events.all()
        if self.is_aside:
            return events.filter(Q(is_active=True, seq__lte=self.fork_seq) | Q(seq__in=self.own[:MANY]))
        return events if self.is_all else events.filter(is_active=True)

    def after(self, seq, limit, *columns, only=ANY, until=None):
        """Values of the next `limit` records after `seq` that fit, up to `until`."""
        bounds = {"seq__gt": seq} | ({"seq__lte": until} if until is not None else {})
        own = self.own[bisect_right(self.own, seq) :]
        rows = []
        for piece in self._pieces(own, is_before=False):
            rows += piece.filter(only, **bounds).order_by("seq").values(*columns)[: limit - len(rows)]
            if len(rows) >= limit:
                break
        return rows

    def before(self, seq, limit, *columns, only=ANY, since=None):
        """Values of the last `limit` records before `seq` that fit, the last first.

        Records before `since` are left out.
        """
        bounds = {"seq__lt": seq} | ({"seq__gte": since} if since is not None else {})
        own = self.own[: bisect_left(self.own, seq)]
        rows = []
        for piece in self._pieces(own, is_before=True):
            rows += piece.filter(only, **bounds).order_by("-seq").values(*columns)[: limit - len(rows)]
            if len(rows) >= limit:
                break
        return rows

    def _pieces(self, own, *, is_before):
        """Consecutive querysets: the beginning on the active branch, then the branch's own records."""
        events = self.session.events.all()
        if not self.is_aside:
            return [self.events()]
        shared = Q(is_active=True, seq__lte=self.fork_seq)
        if self.own[0] < self.fork_seq:  # a damaged file, in which a record comes before its parent
            return [self.events()]
        if is_before:
            ends = range(len(own), 0, -BATCH)
            return [*(events.filter(seq__in=own[max(0, end - BATCH) : end]) for end in ends), events.filter(shared)]
        starts = range(0, len(own), BATCH)
        return [events.filter(shared), *(events.filter(seq__in=own[start : start + BATCH]) for start in starts)]


def find_branch_records(session: Session, branch: str) -> BranchRecords | None:
    """The records of the branch that an address names; None for an unknown one.

    `branch` is "", "all" or the id of a record off the active branch.
    """
    if branch in ("", EVERYTHING, session.leaf_record_id):
        return BranchRecords(session, branch if branch == EVERYTHING else "")
    path = forks.find_branch_path(session, branch)
    return BranchRecords(session, branch, path.fork_seq, path.own) if path else None
