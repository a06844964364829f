"""Every text ends within its budget, whatever it repeats; one over it is a finding as a whole."""

import sys

import pytest

from benchmarks.checks.attack_texts import FAMILIES, UNITS
from openclaw_web.detectors.custom_patterns import compile_patterns
from openclaw_web.detectors.detect import find_spans, find_spans_in_value
from openclaw_web.detectors.scan_text import STEPS_GIVEN_BACK_OF_CHAR, STEPS_OF_CHAR, STEPS_OF_TEXT
from openclaw_web.detectors.spans import NOT_FULLY_SCANNED

CALLS_OF_STEP = 4  # of functions, also those of the interpreter
DENSE = "password=edA_KEY=" * 2_000


def count_calls(run):
    """How many functions something calls."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def is_whole(text, spans):
    return [(span.start, span.end, span.kind) for span in spans] == [(0, len(text), NOT_FULLY_SCANNED)]


class TestWholeTexts:
    def test_a_text_over_its_budget_is_one_finding(self):
        assert is_whole(DENSE, find_spans(DENSE))

    def test_the_same_text_is_over_its_budget_in_every_run(self):
        assert {is_whole(DENSE, find_spans(DENSE)) for _run in range(3)} == {True}

    def test_in_a_value_only_the_string_that_is_over_its_budget_is_one(self):
        value = {"a": "mail bob@acme.io", "b": [DENSE]}
        kinds = {path: (span.kind, span.start, span.end) for path, span in find_spans_in_value(value)}
        assert kinds == {"$.a": ("email", 5, 16), "$.b[0]": (NOT_FULLY_SCANNED, 0, len(DENSE))}

    def test_ordinary_texts_are_not(self):
        logs = "2026-02-11T08:11:22Z INFO 78.47.216.133 - GET /index.html HTTP/1.1 200 1234 curl/8.5.0\n" * 4_000
        assert not any(span.kind == NOT_FULLY_SCANNED for span in find_spans(logs))

    @pytest.mark.parametrize(
        "line",
        [
            "- Lena Vogt, Tel. +49 30 {0:07}, mobil +46 70 {0:07}",
            "+4930{0:07}",
            "王芳 手机 139{0:08}",
            "Lena Vogt,lena.vogt{0}@brunnenhof.de,+49 30 {0:07},Berlin",
            '{{"name": "Lena Vogt", "phone": "+49 30 {0:07}", "email": "lena{0}@brunnenhof.de"}}',
        ],
    )
    def test_nor_are_long_lists_of_nothing_but_contacts(self, line):
        text = "".join(line.format(2_345_671 + 3 * number) + "\n" for number in range(3_000))
        spans = find_spans(text)
        assert {span.kind for span in spans} <= {"phone", "email"}
        assert len(spans) >= 3_000

    def test_a_custom_pattern_reads_on_in_windows(self):
        custom = compile_patterns(["x[^q]*q|x"])
        text = "ab x " * 20_000
        assert is_whole(text, find_spans(text, custom))


@pytest.mark.nightly
class TestAttacks:
    @pytest.mark.parametrize("name", sorted(FAMILIES))
    def test_the_work_is_in_proportion_to_the_length(self, name):
        text = FAMILIES[name](200_000)
        steps = STEPS_OF_TEXT + (STEPS_OF_CHAR + STEPS_GIVEN_BACK_OF_CHAR) * len(text)
        assert count_calls(lambda: find_spans(text)) <= CALLS_OF_STEP * steps

    def test_there_are_many_families(self):
        assert len(UNITS) >= 60
