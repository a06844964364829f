"""Evidence that a change of a file added the words of a fact: the texts of a few versions, each read once."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db.models.functions import Substr

from .models import FileSnapshot, WriteGuardianAudit

MOST_BYTES = 256 * 1024  # of a version that is searched; in a longer one the time alone decides
MOST_CHARACTERS = 4_000  # of a fact
HELD = 8  # texts that are remembered
AT_ONCE = 500
MARKS = re.compile(r"^[\s>#*+-]+|^\s*\d+[.)]\s+", re.MULTILINE)  # before the words of a line
Sides = tuple[str | None, str]


@dataclass(slots=True)
class Evidence:
    """Searches versions for facts. Writes come in the order of time, so that few texts are held."""

    db: str
    texts: dict[str, str | None] = field(default_factory=dict)

    def added_by(self, fact: str, changes: Sequence[Sides]) -> list[int]:
        """The places of those changes that added the words of a fact; none where a text is too long to search."""
        words = normalize(fact[:MOST_CHARACTERS]).rstrip(".")
        if not words:
            return []
        counts = [tuple(self._count(version_id, words) for version_id in sides) for sides in changes]
        if any(None in sides for sides in counts):
            return []
        return [place for place, (before, after) in enumerate(counts) if after > before]

    def _count(self, version_id, words):
        if version_id is None:
            return 0
        text = self._text(version_id)
        return None if text is None else text.count(words)

    def _text(self, version_id):
        if version_id not in self.texts:
            rows = FileSnapshot.objects.using(self.db).filter(id=version_id, size_bytes__lte=MOST_BYTES)
            content = rows.values_list("content", flat=True).first()
            if len(self.texts) >= HELD:
                del self.texts[next(iter(self.texts))]
            self.texts[version_id] = None if content is None else normalize(content)
        return self.texts[version_id]


def normalize(text: str) -> str:
    """The words of a text in lower case with single blanks, without bullets and other marks before lines."""
    return " ".join(MARKS.sub("", text).casefold().split())


def read_facts(db: str, write_ids: Iterable[str]) -> dict[str, str]:
    """The facts of those of these writes that have one, by id."""
    return dict(_facts(db, list(write_ids)))


def _facts(db, ids) -> Iterator[tuple[str, str]]:
    rows = WriteGuardianAudit.objects.using(db).exclude(candidate_fact=None)
    for start in range(0, len(ids), AT_ONCE):
        some = rows.filter(id__in=ids[start : start + AT_ONCE])
        yield from some.values_list("id", Substr("candidate_fact", 1, MOST_CHARACTERS))
