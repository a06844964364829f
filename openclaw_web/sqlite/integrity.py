"""What the doctor looks for in an agent's file; the setting STORE_CHECKS names the declarations beside the tables."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy, ngettext_lazy

Words = str | Promise
Find = Callable[[str], Iterable[str]]

# What is wrong with `rows`, an amount of openclaw_web.amounts. A declaration with another fault has its own sentence.
MISSING = ngettext_lazy(
    "%(rows)s of agent %(agent)s names %(target)s that is missing: %(named)s.",
    "%(rows)s of agent %(agent)s name %(target)s that is missing: %(named)s.",
    "count",
)
LACKING = ngettext_lazy(
    "%(rows)s of agent %(agent)s has lost its %(target)s: %(named)s.",
    "%(rows)s of agent %(agent)s have lost their %(target)s: %(named)s.",
    "count",
)
DAMAGED = ngettext_lazy(
    "%(rows)s of agent %(agent)s is damaged: %(named)s.",
    "%(rows)s of agent %(agent)s are damaged: %(named)s.",
    "count",
)
DIFFERENT = ngettext_lazy(
    "%(rows)s of agent %(agent)s does not match %(target)s: %(named)s.",
    "%(rows)s of agent %(agent)s do not match %(target)s: %(named)s.",
    "count",
)
MISTYPED = ngettext_lazy(
    "%(rows)s of agent %(agent)s contains a value of the wrong type: %(named)s. Checks that read it were skipped.",
    "%(rows)s of agent %(agent)s contain values of the wrong type: %(named)s. Checks that read them were skipped.",
    "count",
)
REPAIRED = gettext_lazy("Repaired in agent %(agent)s: %(rows)s.")


def itself(value: str) -> tuple[str]:
    """What most columns say is there: their value."""
    return (value,)


class Lost(NamedTuple):
    """What is missing, and where a backup has it: `names` gives what a value of the column says is there."""

    table: str
    column: str
    missing: set[str]
    names: Callable[[str], Iterable[str | None]] = itself


@dataclass(frozen=True, slots=True)
class Refers:
    """A column of a table names rows of `target` by their `key`, without a foreign key or with one.

    `where` says which rows name something; with `within` only those count whose other reference leads to a row.
    """

    model: type[Model]
    column: str
    target: type[Model]
    key: str = "id"
    where: Q | None = None
    within: "Refers | None" = None

    def leads(self, db: str) -> Exists:
        """Whether a row of the table names a row that is there."""
        return Exists(self.target._base_manager.using(db).filter(**{self.key: OuterRef(self.column)}))

    def gone(self, db: str) -> QuerySet[Any, Any]:
        """The rows whose named row is not there."""
        more: list[Any] = [self.where] if self.where else []
        more += [self.within.leads(db)] if self.within else []
        rows = self.model._base_manager.using(db).filter(**{f"{self.column}__isnull": False})
        return rows.filter(*more, ~self.leads(db))

    def users(self, db: str) -> Exists:
        """Whether a row of the target is named."""
        return Exists(self.model._base_manager.using(db).filter(**{self.column: OuterRef(self.key)}))

    def name_gone(self, db: str) -> Iterator[str]:
        """The rows whose named row is not there, each with the id of that row. Hashes and handles say nothing."""
        for row, named in self.gone(db).order_by("pk").values_list("pk", self.column).iterator():
            yield f"{row} ({named})" if self.key == "id" and row != named else str(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that can be wrong with an agent's rows. `name` is a word that programs may rely on.

    `find(db)` gives names of the rows that are wrong, `find_deep(db)` those that only a deep look finds. `noun` is an
    amount, `target` what the sentence says they are compared with. `lost(db)` says what a backup may have of it.
    `repair(agent)` mends what was found, can be run twice, and answers how many rows it changed.
    """

    name: str
    sentence: Any
    noun: str = "rows"
    target: Words = ""
    find: Find | None = None
    find_deep: Find | None = None
    lost: Callable[[str], Lost] | None = None
    repair: Callable[[Any], int] | None = None
    is_note: bool = False

    def names(self, db: str, *, is_deep: bool) -> list[str]:
        """The rows that are wrong, each once."""
        finds = (self.find, self.find_deep if is_deep else None)
        return list(dict.fromkeys(name for find in finds if find for name in find(db)))


def missing(name: str, *references: Refers, target: Words, **more: Any) -> Check:
    """That rows name rows of one table, by one key, that are not there."""
    to = references[0]

    def lost(db):
        gone = {row for one in references for row in one.gone(db).values_list(one.column, flat=True)}
        return Lost(to.target._meta.db_table, to.key, gone)

    def find(db):
        return (row for one in references for row in one.name_gone(db))

    return Check(name=name, sentence=MISSING, target=target, find=find, lost=lost, **more)


def forgetting(reference: Refers) -> Callable[[Any], int]:
    """The repair that removes the rows whose named row is not there: whoever tells of it again is heard."""
    return lambda agent: reference.gone(agent.db).delete()[0]


def lacking(name: str, find: Find, model: type[Model], column: str, *, target: Words, **more: Any) -> Check:
    """That rows should be named by a column of another table, and are not. `names` is that of Lost."""
    names = more.pop("names", itself)

    def lost(db):
        return Lost(model._meta.db_table, column, set(find(db)), names)

    return Check(name=name, sentence=LACKING, target=target, find=find, lost=lost, **more)


def declared() -> dict[str, tuple[Check, ...]]:
    """What each app declares, by its label, in the order in which it is looked at."""
    return {label: import_string(path) for label, path in settings.STORE_CHECKS.items()}


def find_check(name: str) -> Check:
    """The check called so. Raises KeyError when there is none."""
    return {check.name: check for checks in declared().values() for check in checks}[name]
