"""Checks of the store for the doctor.

The setting STORE_CHECKS lists the declarations beside the tables.
"""

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

# Sentences about wrong `rows` (an amount of openclaw_web.amounts) in `place`, an agent or the whole site.
# A declaration of another fault has its own sentence.
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
    """The value itself, as the only name of the missing thing."""
    return (value,)


@dataclass(frozen=True, slots=True)
class WrongRows:
    """The number of wrong rows, and the names of the first ones.

    The others are only counted, because a damaged file may have any number of them.
    """

    count: int
    first: list[str]


def count_rows(names: Iterable[str]) -> WrongRows:
    """Count names of rows, and keep only as many as a sentence names."""
    first: list[str] = []
    count = 0
    for count, name in enumerate(names, start=1):
        if count <= NAMED:
            first.append(name)
    return WrongRows(count, first)


def find_file_problem(path: Path, name: str, size: int | None, sha256: str = "") -> str:
    """Describe the fault of a file that a row refers to, or return "".

    `size` is in bytes, None if unknown. With `sha256` the whole file is read.
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
    """Rows that are missing from a table and may be in a backup.

    `names` gives the files or rows that a value of `column` refers to.
    """

    table: str
    column: str
    missing: set[str]
    names: Callable[[str], Iterable[str | None]] = itself


@dataclass(frozen=True, slots=True)
class Reference:
    """A column of a table that refers to rows of `target` by their `key`.

    There may be a foreign key, or none.

    `where` selects the rows that have a reference. With `within`, only rows count whose other reference has a target.
    """

    model: type[Model]
    column: str
    target: type[Model]
    key: str = "id"
    where: Q | None = None
    within: "Reference | None" = None

    def has_target(self, db: str) -> Exists:
        """Whether the row's reference has a target that exists."""
        return Exists(self.target._base_manager.using(db).filter(**{self.key: OuterRef(self.column)}))

    def missing_rows(self, db: str) -> QuerySet[Any, Any]:
        """The rows whose target is missing."""
        more: list[Any] = [self.where] if self.where else []
        more += [self.within.has_target(db)] if self.within else []
        rows = self.model._base_manager.using(db).filter(**{f"{self.column}__isnull": False})
        return rows.filter(*more, ~self.has_target(db))

    def has_referrers(self, db: str, *conditions: Exists) -> Exists:
        """Whether a row of `target` is referred to.

        With `conditions`, only by rows for which they are true.
        """
        return Exists(self.model._base_manager.using(db).filter(*conditions, **{self.column: OuterRef(self.key)}))

    def name_missing(self, db: str, earlier: Iterable["Reference"] = ()) -> Iterator[str]:
        """Yield the names of rows whose target is missing, each with the target's id.

        Hashes and handles are left out of the names.

        Rows that one of the `earlier` references of the same table named are skipped.
        """
        rows = self.missing_rows(db)
        for other in earlier:
            rows = rows.exclude(pk__in=other.missing_rows(db).values("pk")) if other.model is self.model else rows
        for row, named in rows.order_by("pk").values_list("pk", self.column).iterator():
            yield f"{row} ({named})" if self.key in ("id", "agent_id") and row != named else str(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One kind of fault in rows, or in the files they refer to.

    `name` is a word that programs may rely on.

    A check with `is_last` is repaired from rows that an import before it may bring back. `reads` is the app whose rows
    the check reads, if it is not the app that declares it. `advice` is what a person can do, where that is not to
    restore a backup.

    `find(db)` yields the name of each wrong row once; `find_deep(db)` replaces it in a deep check. `noun` is an amount,
    and `target` names what the rows are compared with. `lost(db)` says what a backup may hold. `repair(agent)` repairs
    the rows that were found and returns how many it changed; it can be run twice, and the agent is None for the global
    database.
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
        """Find the wrong rows."""
        find = self.find_deep if is_deep and self.find_deep else self.find
        return count_rows(find(db)) if find else WrongRows(0, [])


def build_reference_check(name: str, *references: Reference, target: Words, **more: Any) -> Check:
    """Build the check that the targets of references to one table exist.

    The references name the table's rows by one key.
    """
    to = references[0]

    def lost(db):
        columns = (refers.missing_rows(db).values_list(refers.column, flat=True) for refers in references)
        missing_keys = {name for column in columns for name in column}
        return LostRows(to.target._meta.db_table, to.key, missing_keys)

    def find(db):
        return (row for index, refers in enumerate(references) for row in refers.name_missing(db, references[:index]))

    return Check(name=name, sentence=MISSING, target=target, find=find, lost=lost, **more)


def build_damage_finder(model: type[Model], read: Callable[[Any], Any], *, chunk: int = 500) -> Find:
    """Build a finder of rows that `read` refuses because their bytes do not match their hash."""

    def find(db):
        for row in model._base_manager.using(db).order_by("pk").iterator(chunk_size=chunk):
            try:
                read(row)
            except Refused:
                yield row.pk

    return find


def build_row_removal(reference: Reference) -> Callable[[Any], int]:
    """Build the repair that removes rows whose target is missing.

    A later import can report them again.
    """
    return lambda agent: reference.missing_rows(agent.db).delete()[0]


def build_referrer_check(
    name: str, find: Find, model: type[Model], column: str, *, target: Words, **more: Any
) -> Check:
    """Build the check that rows are referred to by a column of another table.

    `names` is that of LostRows.
    """
    names = more.pop("names", itself)

    def lost(db):
        return LostRows(model._meta.db_table, column, set(find(db)), names)

    return Check(name=name, sentence=LACKING, target=target, find=find, lost=lost, **more)


def find_dangling(db: str) -> Iterator[str]:
    """Yield rows whose foreign key has no target."""
    for table, row, parent, _key in statements.iterate_rows(db, "PRAGMA foreign_key_check"):
        yield f"{table} {row} ({parent})"


def list_checks() -> Iterator[tuple[str, Check]]:
    """Yield every check with the app whose rows it reads, in the order of the doctor."""
    for path in settings.STORE_CHECKS:
        for check in import_string(path):
            yield check.reads or path.partition(".")[0], check


def find_check(name: str) -> Check:
    """The check with this name. Raises KeyError when there is none."""
    return {check.name: check for _label, check in list_checks()}[name]
