"""The words for a job's schedule."""

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from automation import schedule_words
from automation.schedule_words import cron_in_words, in_words

CRON = {
    "0 7 * * *": "Every day at 07:00",
    "30 6 * * 0,2-6": "Every day except Monday at 06:30",
    "0 9,12,18 * * *": "Every day at 09:00, 12:00 and 18:00",
    "5 */6 * * *": "Every day at 00:05, 06:05, 12:05 and 18:05",
    "0 */2 * * *": "Every 2 hours",
    "7 */2 * * *": "Every 2 hours at minute 7",
    "0 9 * * 1-5": "On weekdays at 09:00",
    "0 9 * * MON-FRI": "On weekdays at 09:00",
    "0 8 ? * 6,7": "On weekends at 08:00",
    "0 8 * * 1,3,5": "On Monday, Wednesday and Friday at 08:00",
    "0 8 * * 2-4,0": "On Tuesday to Thursday and Sunday at 08:00",
    "0 0 * * 7": "On Sunday at 00:00",
    "0 8 * * MON#1": "On the first Monday of the month at 08:00",
    "0 8 * * 5L": "On the last Friday of the month at 08:00",
    "0 0 1 * *": "On day 1 of the month at 00:00",
    "0 0 1,15 * *": "On days 1 and 15 of the month at 00:00",
    "0 0 L * *": "On the last day of the month at 00:00",
    "0 0 */2 * *": "Every 2 days from the first of the month at 00:00",
    "0 0 1 * MON": "On day 1 of the month or on Monday at 00:00",
    "0 12 1 JAN *": "On day 1 of the month at 12:00 in January",
    "0 0 1 1-3,7 *": "On day 1 of the month at 00:00 in January to March and July",
    "* * * * *": "Every minute",
    "*/15 * * * *": "Every 15 minutes",
    "0/15 * * * *": "Every 15 minutes",
    "*/7 * * * *": "Every hour at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56",
    "0,30 * * * *": "Every hour at minutes 0 and 30",
    "0 * * * *": "Every hour",
    "5 * * * *": "Every hour at minute 5",
    "*/15 9-17 * * 1-5": "Every 15 minutes from 09:00 to 17:45 on weekdays",
    "* 9 * * *": "Every minute from 09:00 to 09:59",
    "10-20 5 * * *": "Every minute from 05:10 to 05:20",
    "0 9-17 * * *": "Every hour from 09:00 to 17:00",
    "0 1-23/2 * * *": "At minute 0 of hours 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21 and 23",
    "*/30 1,5,9,13 * * *": "Every 30 minutes during hours 1, 5, 9 and 13",
    "@daily": "Every day at 00:00",
    "@Weekly": "On Sunday at 00:00",
    "0 0 7 * * *": "Every day at 07:00",
    "  0   7  *  * * ": "Every day at 07:00",
}
NOT_IN_WORDS = [
    "",
    "@reboot",
    "soon",
    "a b c d e",
    "60 * * * *",
    "* 24 * * *",
    "0 0 32 * *",
    "0 0 0 * *",
    "0 0 * 13 *",
    "0 0 * * 8",
    "0 22-2 * * *",
    "*/0 * * * *",
    "30 0 7 * * *",
    "1 2 3 4 5 6 7",
    "0 0 15W * *",
    "0 0 * * MON#6",
    "0 0 * * 1-2#1",
    "0 7 * *",
    ", * * * *",
    "1- * * * *",
    "٣ * * * *",
    "0 " * 4 + "9" * 5_000,
]
AT = "Once, on 2027-01-01 at 01:00 UTC"


@pytest.mark.parametrize("expression", CRON)
def test_it_works(expression):
    assert cron_in_words(expression) == CRON[expression]


@pytest.mark.parametrize("expression", NOT_IN_WORDS)
def test_what_is_no_plain_cron_is_shown_as_it_is(expression):
    assert cron_in_words(expression) is None
    words = in_words({"kind": "cron", "expr": expression, "tz": "Asia/Shanghai"})
    assert words == (expression[:200] or "–") + ("…" if len(expression) > 200 else "")


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ({"kind": "cron", "expr": "0 7 * * *", "tz": "Asia/Shanghai"}, "Every day at 07:00 (Asia/Shanghai)"),
        ({"kind": "cron", "expr": "0 7 * * *"}, "Every day at 07:00 (local time)"),
        ({"kind": "cron", "expr": "0 7 * * *", "tz": 3}, "Every day at 07:00 (local time)"),
        ({"kind": "every", "everyMs": 900_000, "anchorMs": 1}, "Every 15 minutes"),
        ({"kind": "every", "everyMs": 60_000}, "Every minute"),
        ({"kind": "every", "everyMs": 86_400_000}, "Every day"),
        ({"kind": "every", "everyMs": 5_400_000}, "Every 90 minutes"),
        ({"kind": "every", "everyMs": 30_000.0}, "Every 30 seconds"),
        ({"kind": "every", "everyMs": 1_500}, "Every 1.5 s"),
        ({"kind": "at", "at": "2027-01-01T01:00:00.000Z"}, AT),
        ({"kind": "at", "at": "2027-01-01T09:00:00+08:00"}, AT),
        ({"kind": "at", "at": "2027-01-01T01:00"}, AT),
        ({"kind": "at", "atMs": 1_798_765_200_000}, AT),
    ],
)
def test_each_kind_has_words(schedule, words):
    assert in_words(schedule) == words


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ({}, "–"),
        (None, "–"),
        ([], "–"),
        ({"kind": "every", "everyMs": 0}, '{"kind":"every","everyMs":0}'),
        ({"kind": "every", "everyMs": True}, '{"kind":"every","everyMs":true}'),
        ({"kind": "every", "everyMs": 10**15}, '{"kind":"every","everyMs":1000000000000000}'),
        ({"kind": "at", "at": "tomorrow"}, '{"kind":"at","at":"tomorrow"}'),
        ({"kind": "at", "at": 10**18}, '{"kind":"at","at":1000000000000000000}'),
        ({"kind": "at"}, '{"kind":"at"}'),
        ({"kind": "cron", "expr": ["0"]}, '{"kind":"cron","expr":["0"]}'),
        ({"kind": ["cron"]}, '{"kind":["cron"]}'),
        ({"kind": "on-exit", "command": "x"}, '{"kind":"on-exit","command":"x"}'),
    ],
)
def test_damaged_schedules_are_shown_as_they_are(schedule, expected):
    assert in_words(schedule) == expected


FIELD = st.text(alphabet="0123456789*/-,LW#?", min_size=1, max_size=6)


@given(st.lists(FIELD, min_size=5, max_size=6).map(" ".join))
def test_no_expression_is_too_strange(expression):
    words = cron_in_words(expression)
    assert words is None or words[0].isupper()


VALUES = st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.text(), st.lists)


@given(st.dictionaries(st.sampled_from(["kind", "expr", "tz", "everyMs", "at", "atMs"]), VALUES))
def test_no_schedule_is_too_strange(schedule):
    for kind in ("cron", "every", "at"):
        assert in_words({**schedule, "kind": kind})
    assert in_words(schedule)


def test_words_are_made_anew_for_each_language():
    with translation.override("de"):
        assert schedule_words.in_words({"kind": "every", "everyMs": 60_000})
