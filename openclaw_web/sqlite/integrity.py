"""What the doctor looks for in the store; the setting STORE_CHECKS names the declarations beside the tables."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ..amounts import ngettext_lazy
from ..errors import Refused
from . import statements

Words = str | Promise
Find = Callable[[str], Iterable[str]]
NAMED = 3  # rows that a sentence names

# What is wrong with `rows`, an amount of openclaw_web.amounts, in `place`: an agent, or the whole site. A declaration
# with another fault has its own sentence.
MISSING = ngettext_lazy(
    "%(rows)s of %(place)s names %(target)s that is missing: %(named)s.",
    "%(rows)s of %(place)s name %(target)s that is missing: %(named)s.",
    "count",
)
LACKING = ngettext_lazy(
    "%(rows)s of %(place)s has lost its %(target)s: %(named)s.",
    "%(rows)s of %(place)s have lost their %(target)s: %(named)s.",
    "count",
)
DAMAGED = ngettext_lazy(
    "%(rows)s of %(place)s is damaged: %(named)s.",
    "%(rows)s of %(place)s are damaged: %(named)s.",
    "count",
)
DIFFERENT = ngettext_lazy(
    "%(rows)s of %(place)s does not match %(target)s: %(named)s.",
    "%(rows)s of %(place)s do not match %(target)s: %(named)s.",
    "count",
)
MISTYPED = ngettext_lazy(
    "%(rows)s of %(place)s contains a value of the wrong type: %(named)s. Checks that read it may have been skipped.",
    "%(rows)s of %(place)s contain values of the wrong type: %(named)s. Checks that read them may have been skipped.",
    "count",
)
REPAIRED = gettext_lazy("Repaired in %(place)s: %(rows)s.")


def itself(value: str) -> tuple[str]:
    """What most columns say is there: their value."""
    return (value,)


@dataclass(frozen=True, slots=True)
class WrongRows:
    """How many rows are wrong, and the names of the first: nobody knows how many a damaged file has."""

    count: int
    first: list[str]


def count_rows(names: Iterable[str]) -> WrongRows:
    """Count names of rows without keeping more than a sentence says."""
    first: list[str] = []
    count = 0
    for count, name in enumerate(names, start=1):
        if count <= NAMED:
            first.append(name)
    return WrongRows(count, first)


def find_file_problem(path: Path, name: str, size: int | None, sha256: str = "") -> str:
    """What is wrong with a file that a row promises, in a few words; empty when nothing is.

    `size` is in bytes, None when nobody knows it; with `sha256` the whole file is read.
    """
    if not path.is_file():
        return _("%(file)s is missing") % {"file": name}
    if size is not None and path.stat().st_size != size:
        return _("%(file)s has a different size") % {"file": name}
    if sha256:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                return _("%(file)s has different content") % {"file": name}
    return ""


class LostRows(NamedTuple):
    """What is missing, and where a backup has it: `names` gives what a value of the column says is there."""

    table: str
    column: str
    missing: set[str]
    names: Callable[[str], Iterable[str | None]] = itself


@dataclass(frozen=True, slots=True)
class Reference:
    """A column of a table names rows of `target` by their `key`, without a foreign key or with one.

    `where` says which rows name something; with `within` only those count whose other reference leads to a row.
    """

    model: type[Model]
    column: str
    target: type[Model]
    key: str = "id"
    where: Q | None = None
    within: "Reference | None" = None

    def has_target(self, db: str) -> Exists:
        """Whether a row of the table names a row that is there."""
        return Exists(self.target._base_manager.using(db).filter(**{self.key: OuterRef(self.column)}))

    def missing_rows(self, db: str) -> QuerySet[Any, Any]:
        """The rows whose named row is not there."""
        more: list[Any] = [self.where] if self.where else []
        more += [self.within.leads(db)] if self.within else []
        rows = self.model._base_manager.using(db).filter(**{f"{self.column}__isnull": False})
        return rows.filter(*more, ~self.has_target(db))

    def has_referrers(self, db: str, *which: Exists) -> Exists:
        """Whether a row of the target is named, with `which` by a row of which that is true."""
        return Exists(self.model._base_manager.using(db).filter(*which, **{self.column: OuterRef(self.key)}))

    def name_missing(self, db: str, earlier: Iterable["Reference"] = ()) -> Iterator[str]:
        """The rows whose named row is not there, each with the id of that row. Hashes and handles say nothing.

        A row that one of the `earlier` references of its table named already is passed over.
        """
        rows = self.missing_rows(db)
        for other in earlier:
            rows = rows.exclude(pk__in=other.gone(db).values("pk")) if other.model is self.model else rows
        for row, named in rows.order_by("pk").values_list("pk", self.column).iterator():
            yield f"{row} ({named})" if self.key in ("id", "agent_id") and row != named else str(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that can be wrong with rows, or with what they promise. `name` is a word that programs may rely on.

    `find(db)` gives the name of each row that is wrong once, `find_deep(db)` does so instead when the look is a deep
    one. `noun` is an amount, `target` what the sentence says they are compared with. `lost(db)` says what a backup may
    have of it. `repair(agent)` mends what was found, can be run twice, and answers how many rows it changed; the agent
    is None for the global database. One that `is_last` is mended from what an import may bring back before. `reads` is
    the app whose rows it reads, when that is another one than declares it: in the file of an agent, when its rows are
    there. `advice` is what a person can do, where that is not to restore a backup.
    """

    name: str
    sentence: Any
    noun: str = "rows"
    target: Words = ""
    find: Find | None = None
    find_deep: Find | None = None
    lost: Callable[[str], LostRows] | None = None
    repair: Callable[[Any], int] | None = None
    is_note: bool = False
    is_last: bool = False
    reads: str = ""
    advice: Words | None = None

    def rows(self, db: str, *, is_deep: bool) -> WrongRows:
        """The rows that are wrong."""
        find = self.find_deep if is_deep and self.find_deep else self.find
        return count_rows(find(db)) if find else WrongRows(0, [])


def build_reference_check(name: str, *references: Reference, target: Words, **more: Any) -> Check:
    """That rows name rows of one table, by one key, that are not there."""
    to = references[0]

    def lost(db):
        gone = {name for refers in references for name in refers.gone(db).values_list(refers.column, flat=True)}
        return LostRows(to.target._meta.db_table, to.key, gone)

    def find(db):
        return (row for place, refers in enumerate(references) for row in refers.name_gone(db, references[:place]))

    return Check(name=name, sentence=MISSING, target=target, find=find, lost=lost, **more)


def build_damage_finder(model: type[Model], read: Callable[[Any], Any], *, chunk: int = 500) -> Find:
    """Find the rows of a table that `read` refuses, because their bytes are not what their hash says."""

    def find(db):
        for row in model._base_manager.using(db).order_by("pk").iterator(chunk_size=chunk):
            try:
                read(row)
            except Refused:
                yield row.pk

    return find


def build_row_removal(reference: Reference) -> Callable[[Any], int]:
    """The repair that removes the rows whose named row is not there: whoever tells of it again is heard."""
    return lambda agent: reference.gone(agent.db).delete()[0]


def build_referrer_check(
    name: str, find: Find, model: type[Model], column: str, *, target: Words, **more: Any
) -> Check:
    """That rows should be named by a column of another table, and are not. `names` is that of Lost."""
    names = more.pop("names", itself)

    def lost(db):
        return LostRows(model._meta.db_table, column, set(find(db)), names)

    return Check(name=name, sentence=LACKING, target=target, find=find, lost=lost, **more)


def find_dangling(db: str) -> Iterator[str]:
    """Rows whose foreign key names a row that is not there."""
    for table, row, parent, _key in statements.iterate_rows(db, "PRAGMA foreign_key_check"):
        yield f"{table} {row} ({parent})"


def list_checks() -> Iterator[tuple[str, Check]]:
    """Every check that an app declares, in the order in which they are made, with the app whose rows it reads."""
    for path in settings.STORE_CHECKS:
        for check in import_string(path):
            yield check.reads or path.partition(".")[0], check


def find_check(name: str) -> Check:
    """The check called so. Raises KeyError when there is none."""
    return {check.name: check for _label, check in list_checks()}[name]
