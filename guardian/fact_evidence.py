"""Evidence that a change of a file added the words of a fact.

The texts of a few versions are searched, each read once.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models.functions import Substr

from openclaw_web.batches import in_batches

from .models import FileSnapshot, WriteGuardianAudit

MOST_BYTES = 256 * 1024  # of a version that is searched; for a longer one the time alone decides
MOST_CHARACTERS = 4_000  # of a fact
HELD = 8  # texts in the cache
AT_ONCE = 500
MOST_LINES = 5
MOST_WORDS = 20  # characters of a line that may be a part of the fact
WORD = re.compile("[\u3400-\u9fff]|[^\\W_]{2,}")  # each Chinese character is one
MARKS = re.compile(r"^[\s>#*+-]+|^\s*\d+[.)]\s+", re.MULTILINE)  # before the words of a line
Sides = tuple[str | None, str]


@dataclass(slots=True)
class Evidence:
    """Searches versions for facts.

    Writes come in the order of time, so that few texts are in memory.
    """

    db: str
    texts: dict[str, str | None] = field(default_factory=dict)

    def find_additions(self, fact: str, changes: Sequence[Sides]) -> list[int]:
        """Return the positions of the changes that added the words of a fact.

        Empty where a text is too long to search.
        """
        words = normalize(fact[:MOST_CHARACTERS]).rstrip(".")
        if not words:
            return []
        counts = [tuple(self._count(version_id, words) for version_id in sides) for sides in changes]
        if any(None in sides for sides in counts):
            return []
        return [position for position, (before, after) in enumerate(counts) if after > before]

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
    """Return the words of a text in lower case, without bullets and other marks before lines.

    Single blanks separate them.
    """
    return " ".join(MARKS.sub("", text).casefold().split())


def find_lines(version: FileSnapshot | None, fact: str) -> list[tuple[int, str]] | None:
    """Return the lines of a version that contain a fact or most of its words.

    By number; None where the version cannot be searched.
    """
    if version is None or version.size_bytes > MOST_BYTES:
        return None
    words = normalize(fact[:MOST_CHARACTERS]).rstrip(".")
    if not words:
        return None
    lines = [(number, text, normalize(text)) for number, text in enumerate(version.content.split("\n"), start=1)]
    exact = [
        (number, text)
        for number, text, line_words in lines
        if words in line_words or (len(line_words) > MOST_WORDS and line_words in words)
    ]
    if exact:
        return exact[:MOST_LINES]
    fact_words = frozenset(WORD.findall(words))
    matches = [
        (len(fact_words & frozenset(WORD.findall(line_words))), number, text) for number, text, line_words in lines
    ]
    near = sorted(
        (entry for entry in matches if 2 * entry[0] >= len(fact_words) > 1), key=lambda entry: (-entry[0], entry[1])
    )
    return [(number, text) for _count, number, text in near[:MOST_LINES]]


def read_facts(db: str, write_ids: Iterable[str]) -> dict[str, str]:
    """Return the facts of these writes by id, where they have one."""
    rows = WriteGuardianAudit.objects.using(db).exclude(candidate_fact=None)
    columns, facts = ("id", Substr("candidate_fact", 1, MOST_CHARACTERS)), {}
    for batch in in_batches(write_ids, AT_ONCE):
        facts.update(rows.filter(id__in=batch).values_list(*columns))
    return facts
