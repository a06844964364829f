"""Recall and precision of the detectors on labelled sets.

The first was known while patterns were written; the others were written before, or without sight of, the patterns. What
people really type and tools print is in the fifth and sixth: passwords with points, keys known by the vendor's name,
numbers of several countries, identities of WhatsApp, escapes of URLs."""

import json
from collections import Counter
from pathlib import Path

import pytest

from openclaw_web.detectors.detect import find_spans

HERE = Path(__file__).parent
SETS = ("labelled_first.jsonl", "labelled_second.jsonl", "labelled_third.jsonl", "labelled_fourth.jsonl")
RECALL = {
    **dict.fromkeys(["key", "jwt", "private_key", "email", "card", "iban", "id_number", "ip_address"], 0.98),
    "phone": 0.95,
    "password": 0.85,
    "secret": 0.85,
}
PRECISION = 0.95
# The sixth was scored once before its misses were mended, the seventh once when the rules of version 4 were ready.
TYPED = ("labelled_fifth.jsonl", "labelled_sixth.jsonl", "labelled_seventh.jsonl")
TYPED_RECALL = {"phone": 0.95, "password": 0.90, "secret": 0.85, "key": 0.95}
REACHED = {"labelled_fourth.jsonl": 0.96}  # once its classes were mended; 0.961 and 0.971 when it was unseen
LOOK_ALIKES = ("UUID", "sha256", "git SHA", "time", "version", "lock file", "date", "hash", "timestamp")


def read_cases(name):
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines() if line]


def count_hits(cases):
    """Count labels, those found with their kind, and findings without a label."""
    counts = {"labelled": Counter(), "found": Counter(), "false": Counter()}
    for case in cases:
        findings = find_spans(case["text"])
        for label in case["spans"]:
            counts["labelled"][label["kind"]] += 1
            counts["found"][label["kind"]] += any(overlaps(span, label) for span in findings)
        for span in findings:
            counts["false"][span.kind] += not any(overlaps(span, label) for label in case["spans"])
    return counts


def overlaps(span, label):
    return span.kind == label["kind"] and span.start < label["end"] and label["start"] < span.end


@pytest.mark.parametrize("name", SETS)
class TestLabelledSets:
    def test_recall_of_each_kind(self, name):
        counts = count_hits(read_cases(name))
        recall = {kind: counts["found"][kind] / labelled for kind, labelled in counts["labelled"].items()}
        assert set(recall) == set(RECALL)
        assert {kind: share for kind, share in recall.items() if share < max(RECALL[kind], REACHED.get(name, 0))} == {}

    def test_precision(self, name):
        counts = count_hits(read_cases(name))
        hits, false_alarms = sum(counts["found"].values()), sum(counts["false"].values())
        assert hits / (hits + false_alarms) >= max(PRECISION, REACHED.get(name, 0))

    def test_identifiers_hashes_times_and_versions_are_nothing(self, name):
        cases = [case for case in read_cases(name) if case["note"].startswith(LOOK_ALIKES) and not case["spans"]]
        assert len(cases) >= 20
        assert [case["text"] for case in cases if find_spans(case["text"])] == []

    def test_a_value_is_marked_whole(self, name):
        """Most of each labelled value is inside its finding, so that redaction leaves nothing of use."""
        for case in read_cases(name):
            for label in case["spans"]:
                hits = [span for span in find_spans(case["text"]) if overlaps(span, label)]
                covered = sum(min(span.end, label["end"]) - max(span.start, label["start"]) for span in hits)
                assert not hits or covered >= 0.8 * (label["end"] - label["start"]), case["text"]


@pytest.mark.parametrize("name", TYPED)
class TestTypedSets:
    def test_recall_of_each_kind(self, name):
        counts = count_hits(read_cases(name))
        recall = {kind: counts["found"][kind] / counts["labelled"][kind] for kind in TYPED_RECALL}
        assert {kind: share for kind, share in recall.items() if share < TYPED_RECALL[kind]} == {}

    def test_precision(self, name):
        counts = count_hits(read_cases(name))
        hits, false_alarms = sum(counts["found"].values()), sum(counts["false"].values())
        assert hits / (hits + false_alarms) >= 0.97
