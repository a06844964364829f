"""Samples that say nearly the same, exports of them, and what is in their files, for the tests of likeness."""

from itertools import combinations

import orjson

from datasets.exports import exports
from tests.datasets.exports.branches import body
from tests.factories import SampleFactory

STORY = [f"word{number}" for number in range(60)]


def near(*changed):
    """A text of 60 words with these words changed: one in the middle leaves a Jaccard of 51 of 61, 0.84."""
    return " ".join("other" if number in changed else word for number, word in enumerate(STORY))


def add(sample_id, reply, *, session="s1", turn=1, prompt="Tell me.", **columns):
    """An approved sample."""
    columns.setdefault("annotation_status", "approved")
    content = body(turn, userMessage=prompt, agentReply=reply)
    return SampleFactory(id=sample_id, session_id=session, turn_number=turn, content=content, **columns)


def rows(export):
    """The rows of each side that was written."""
    found = {}
    for file in exports.folder_of(export).glob("*.jsonl"):
        side = file.name.split(".")[1]
        found[side] = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    return found


def ids(export):
    """The samples of the rows of each side."""
    return {side: [row["sample_id"] for row in found] for side, found in rows(export).items()}


def jaccard(one, other):
    """Written once more, and plainly: how much of the five-word runs of either both have."""
    one, other = (_runs(text.lower().replace(".", "").split()) for text in (one, other))
    return len(one & other) / len(one | other)


def alike(texts):
    """The pairs of texts that are alike."""
    return [pair for pair in combinations(texts, 2) if jaccard(*pair) >= 0.8]


def _runs(words):
    return {" ".join(words[start : start + 5]) for start in range(max(1, len(words) - 4))}
