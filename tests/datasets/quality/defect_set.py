"""The set of turns with one planted defect each, beside clean ones that were written as traps."""

import hashlib
import json
from pathlib import Path

from datasets.quality.all_signals import find_answers
from datasets.quality.signal import State
from datasets.quality.turn_texts import CallTexts, TurnTexts

FILE = Path(__file__).with_name("defects.jsonl")
SIGNAL_OF = {
    "empty": "empty_reply",
    "cut_off": "cut_off",
    "language": "other_language",
    "same_call": "repeated_call",
    "failures": "silent_failures",
    "number": "number_without_source",
    "path": "path_without_source",
    "person": "other_person",
    "machine_text": "machine_text",
    "repeats": "repeated_answer",
}


def read_lines(*, is_odd):
    """The half of the lines whose id has a hash with an odd, or even, first digit."""
    lines = map(json.loads, FILE.read_text().splitlines())
    return [line for line in lines if int(hashlib.sha256(line["id"].encode()).hexdigest()[0], 16) % 2 == is_odd]


def build_texts(line):
    """A line as signals see a turn."""
    earlier = []
    for message in line["earlier"]:
        if message["role"] == "user" or not earlier:
            earlier.append(TurnTexts())
        setattr(earlier[-1], "question" if message["role"] == "user" else "reply", message["text"])
    calls = [
        CallTexts(f"c{number}", call["name"], call["arguments"], "r1", call["result"], call["failed"])
        for number, call in enumerate(line["calls"])
    ]
    texts = TurnTexts(line["id"], at=1_772_000_000_000, question=line["question"], calls=calls, earlier=earlier)
    texts.set_reply(line["reply"])
    texts.senders, texts.stop, texts.next_question = [line["sender"]], line["stop"], line["next"] or None
    texts.find_people = lambda _at: line["people"]
    return texts


def measure(*, is_odd):
    """By signal: the area under the curve, its defect against the clean lines; recall and false alarms."""
    lines = read_lines(is_odd=is_odd)
    answers = {line["id"]: find_answers(build_texts(line)) for line in lines}
    figures = {}
    for defect, signal in SIGNAL_OF.items():
        shares = []
        for name in (defect, "clean"):
            chosen = [answers[line["id"]][signal].state == State.YES for line in lines if line["defect"] == name]
            shares.append(sum(chosen) / len(chosen))
        # A score of two values has one point on its curve.
        figures[signal] = ((1 + shares[0] - shares[1]) / 2, *shares)
    return figures
