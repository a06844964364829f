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
MOST_LINES = 5
MOST_WORDS = 20  # characters of a line that may be a part of the fact
WORD = re.compile("[\u3400-\u9fff]|[^\\W_]{2,}")  # each Chinese character is one
MARKS = re.compile(r"^[\s>#*+-]+|^\s*\d+[.)]\s+", re.MULTILINE)  # before the words of a line
Sides = tuple[str | None, str]


@dataclass(slots=True)
class Evidence:
    """Searches versions for facts. Writes come in the order of time, so that few texts are held."""

    db: str
    texts: dict[str, str | None] = field(default_factory=dict)

    def find_additions(self, fact: str, changes: Sequence[Sides]) -> list[int]:
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


def find_lines(version: FileSnapshot | None, fact: str) -> list[tuple[int, str]] | None:
    """The lines of a version that say a fact, or most of its words, by number; None where it cannot be searched."""
    if version is None or version.size_bytes > MOST_BYTES:
        return None
    words = normalize(fact[:MOST_CHARACTERS]).rstrip(".")
    if not words:
        return None
    lines = [(number, text, normalize(text)) for number, text in enumerate(version.content.split("\n"), start=1)]
    exact = [
        (number, text) for number, text, said in lines if words in said or (len(said) > MOST_WORDS and said in words)
    ]
    if exact:
        return exact[:MOST_LINES]
    wanted = frozenset(WORD.findall(words))
    shared = [(len(wanted & frozenset(WORD.findall(said))), number, text) for number, text, said in lines]
    near = sorted(
        (entry for entry in shared if 2 * entry[0] >= len(wanted) > 1), key=lambda entry: (-entry[0], entry[1])
    )
    return [(number, text) for _count, number, text in near[:MOST_LINES]]


def read_facts(db: str, write_ids: Iterable[str]) -> dict[str, str]:
    """The facts of those of these writes that have one, by id."""
    return dict(_facts(db, list(write_ids)))


def _facts(db, ids) -> Iterator[tuple[str, str]]:
    rows = WriteGuardianAudit.objects.using(db).exclude(candidate_fact=None)
    for start in range(0, len(ids), AT_ONCE):
        some = rows.filter(id__in=ids[start : start + AT_ONCE])
        yield from some.values_list("id", Substr("candidate_fact", 1, MOST_CHARACTERS))
