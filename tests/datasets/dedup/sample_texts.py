"""Nearly equal samples, their exports and the rows of those, for the tests of dedup."""

from itertools import combinations

import orjson

from datasets.exports import exports
from tests.datasets.exports.branches import body
from tests.factories import SampleFactory

STORY = [f"word{number}" for number in range(60)]


def near_text(*changed):
    """A text of 60 words, with the words at these places changed.

    One changed word in the middle leaves a Jaccard similarity of 51/61, 0.84.
    """
    return " ".join("other" if number in changed else word for number, word in enumerate(STORY))


def add_sample(sample_id, reply, *, session="s1", turn=1, prompt="Tell me.", **columns):
    """Add an approved sample."""
    columns.setdefault("annotation_status", "approved")
    content = body(turn, userMessage=prompt, agentReply=reply)
    return SampleFactory(id=sample_id, session_id=session, turn_number=turn, content=content, **columns)


def rows(export):
    """The rows of each side that was written."""
    by_side = {}
    for file in exports.folder_of(export).glob("ocl_*.jsonl"):
        side = file.name.split(".")[1]
        by_side[side] = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    return by_side


def ids(export):
    """The ids of the samples of each side's rows."""
    return {side: [row["sample_id"] for row in side_rows] for side, side_rows in rows(export).items()}


def jaccard(first, second):
    """The Jaccard similarity of the five-word runs of two texts, computed independently."""
    first, second = (_find_runs(text.lower().replace(".", "").split()) for text in (first, second))
    return len(first & second) / len(first | second)


def find_alike(texts):
    """The pairs of texts with a similarity of at least 0.8."""
    return [pair for pair in combinations(texts, 2) if jaccard(*pair) >= 0.8]


def _find_runs(words):
    return {" ".join(words[start : start + 5]) for start in range(max(1, len(words) - 4))}
