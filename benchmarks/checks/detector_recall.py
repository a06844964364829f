"""Prints recall of each kind and precision of the detectors on labelled sets.

    python benchmarks/checks/detector_recall.py [--misses] [SET.jsonl ...]

Without a set: all sets of tests/openclaw_web/detectors. A label is a hit when a finding of its kind covers four fifths
of it; "any kind" counts findings of other kinds too. A finding that touches no label is false, and so is one that goes
more than two characters beyond its label.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from openclaw_web.detectors.detect import find_spans  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--misses", action="store_true", help="print missed labels and false findings")
    parser.add_argument("sets", nargs="*", type=Path)
    options = parser.parse_args()
    for path in options.sets or sorted((ROOT / "tests/openclaw_web/detectors").glob("labelled_*.jsonl")):
        cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        print_scores(path.stem, *score(cases, options.misses))


def score(cases, shows_misses):
    """Count labels, labels found with their kind and with any kind, true findings and false ones."""
    labelled, exact, other = Counter(), Counter(), Counter()
    true, false = 0, 0
    for case in cases:
        spans = find_spans(case["text"])
        for label in case["spans"]:
            hits = [span for span in spans if covers(span, label)]
            labelled[label["kind"]] += 1
            other[label["kind"]] += bool(hits)
            exact[label["kind"]] += any(span.kind == label["kind"] for span in hits)
            if shows_misses and not any(span.kind == label["kind"] for span in hits):
                others = [(span.kind, case["text"][span.start : span.end]) for span in hits]
                value = case["text"][label["start"] : label["end"]]
                print(f"missed {label['kind']} {value!r} of {case['text']!r} {others}")
        for span in spans:
            is_true = any(is_within(span, label) for label in case["spans"])
            true, false = true + is_true, false + (not is_true)
            if shows_misses and not is_true:
                print(f"false {span.kind} ({span.rule}) {case['text'][span.start : span.end]!r} of {case['text']!r}")
    return labelled, exact, other, true, false


def covers(span, label):
    covered = min(span.end, label["end"]) - max(span.start, label["start"])
    return covered >= 0.8 * (label["end"] - label["start"])


def is_within(span, label):
    touches = span.start < label["end"] and label["start"] < span.end
    return touches and label["start"] - span.start <= 2 and span.end - label["end"] <= 2


def print_scores(name, labelled, exact, other, true, false):
    print(f"\n## {name}: precision {true / max(true + false, 1):.3f} ({false} false)\n")
    print("| kind | values | recall | any kind |\n| --- | --- | --- | --- |")
    for kind in sorted(labelled):
        print(
            f"| {kind} | {labelled[kind]} | {exact[kind] / labelled[kind]:.2f} | {other[kind] / labelled[kind]:.2f} |"
        )
    total = sum(labelled.values())
    print(f"| all | {total} | {sum(exact.values()) / total:.3f} | {sum(other.values()) / total:.3f} |")


if __name__ == "__main__":
    main()
