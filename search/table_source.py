"""A source whose texts are the rows of one table, in the order of their arrival."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, Q

from openclaw_web.sqlite.fields import RowId
from openclaw_web.sqlite.word_index import Step, WordIndex

from .sources import Item, Key, Removed

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table of which rows arrive. `build` makes items of rows, with what hits need where they are hits.

    Rows that change are told to the index (`changes.note`). Where nobody tells, `read_version` returns a text without
    blanks that differs after a change: then the rows that `find_changed` returns for the earlier text are read again,
    or all rows.
    """

    name: str
    model: type[Model]
    columns: Sequence[str]
    build: Callable[[str, list[Row], bool], Iterable[Item]]
    is_global: bool = False
    key: str = "id"
    where: Q | None = None
    read_version: Callable[[str], str] = lambda _db: "-"
    find_changed: Callable[[str, str], list[Key]] | None = None
    at_once: int = 500  # rows

    def _select(self, db):
        rows = self.model._base_manager.using(db)
        return (rows.filter(self.where) if self.where else rows).annotate(place=RowId())

    def _read(self, rows):
        return list(rows.values(*dict.fromkeys(("place", self.key, *self.columns))))

    def read_new(self, db: str, index: WordIndex) -> Iterator[Step]:
        """Read rows that changed, and those that arrived since."""
        before, version = index.read_positions(self.name, [""]).get("", ""), self.read_version(db)
        place, count, is_anew, (keys, last) = -1, 0, False, index.read_changed(self.name)
        if before:
            known = before.split(" ", 3)
            place, count = int(known[0]), int(known[1])
            stored = self._select(db).filter(place__lte=place).count()
            is_same = count == 0 or self._select(db).filter(**{"place": place, self.key: known[3]}).exists()
            if stored < count or not is_same:  # another row may have the number of a removed one
                raise Removed
            is_anew = stored > count or (version != known[2] and not self.find_changed)
            keys += self.find_changed(db, known[2]) if version != known[2] and self.find_changed else []
            place, count = (-1, 0) if is_anew else (place, count)
        for start in range(0, 0 if is_anew else len(keys), self.at_once):
            again, after = keys[start : start + self.at_once], before
            if start + self.at_once >= len(keys):
                after = f"{place} {count} {version} {before.split(' ', 3)[3]}"
            rows = self._read(self._select(db).filter(**{f"{self.key}__in": again}))
            yield Step(self.name, "", before, after, self._build_entries(db, rows), again=again, changed_until=last)
            before = after
        while True:
            rows = self._read(self._select(db).filter(place__gt=place).order_by("place")[: self.at_once])
            if not rows and not is_anew:
                return
            place, count = rows[-1]["place"] if rows else place, count + len(rows)
            after = f"{place} {count} {version} {rows[-1][self.key] if rows else ''}"
            yield Step(self.name, "", before, after, self._build_entries(db, rows), is_anew)
            before, is_anew = after, False

    def _build_entries(self, db, rows):
        return [item.build_entries() for item in self.build(db, rows, False)]

    def count_rows(self, db: str) -> int:
        """Count the rows."""
        return self._select(db).count()

    def read_items(self, db: str, places: Collection[tuple[str, Key]]) -> dict[tuple[str, Key], Item]:
        """Read rows by key."""
        rows = self._read(self._select(db).filter(**{f"{self.key}__in": [key for _part, key in places]}).order_by())
        return {("", item.key): item for item in self.build(db, rows, True)}
