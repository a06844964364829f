"""The texts of many places are read in a few queries, each with its excerpt."""

import pytest
from django.db import connections

from artifacts import services as artifacts
from findings import places
from findings.models import Finding
from gate.models import MemoryGateDecision
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, run
from tests.factories import DecisionFactory
from tests.findings.scan_helpers import MAIL, scan_everything, write_mails
from tests.homes import assistant, user

pytestmark = pytest.mark.django_db
ENVELOPE = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\n%s'


def read(findings, django_assert_max_num_queries, most):
    with django_assert_max_num_queries(most, connection=connections[MAIN]):
        return places.read_excerpts(MAIN, findings)


@pytest.mark.parametrize("count", [1, 10, 30])
def test_queries_do_not_grow_with_places(home, django_assert_max_num_queries, count):
    write_mails(home, 12)
    run(home)
    for number in range(12):
        DecisionFactory(db=MAIN, candidate_fact=f"Mail {number}: {MAIL}", decision="UPDATE_USER")
    scan_everything()
    rows = list(Finding.objects.using(MAIN).order_by("source_id", "id")[:count])
    excerpts = read(rows, django_assert_max_num_queries, 4)
    assert excerpts == [places.read_excerpts(MAIN, [row])[0] for row in rows]
    assert {excerpt.value for excerpt in excerpts} == {MAIL}
    assert len({(excerpt.before, excerpt.after) for excerpt in excerpts}) >= min(3, count)


def test_an_artifact_with_many_uses_hides_no_other(home):
    home.transcript(user("Hi"))
    run(home)
    for text, uses in ((f"first {MAIL}\n", 60), (f"second {MAIL}\n", 1)):
        for number in range(uses):
            artifacts.stash(MAIN, text, kind="note", place=artifacts.Place(session_id=f"s{number}"))
    scan_everything()
    rows = list(Finding.objects.using(MAIN).order_by("id"))
    assert [excerpt.before for excerpt in places.read_excerpts(MAIN, rows)] == ["first ", "second "]


def test_withheld_and_missing_texts_have_no_excerpt(home, django_assert_max_num_queries):
    words = [user(ENVELOPE % (name, f"I am {MAIL}")) for name in ("bob", "carol")]
    script = home.transcript(words[0], assistant("Hi"), words[1], assistant("Hi"))
    home.index({"agent:main:irc:group:#lab": {"sessionId": script.session}})
    run(home)
    gone = DecisionFactory(db=MAIN, candidate_fact=f"Mail: {MAIL}", decision="UPDATE_USER")
    scan_everything()
    rows = list(Finding.objects.using(MAIN).order_by("source", "source_id"))
    assert len(rows) == 3 and None not in places.read_excerpts(MAIN, rows)
    MemoryGateDecision.objects.using(MAIN).filter(id=gone.id).delete()
    configuration.put("collector.optedOutSenders", ["carol"])
    excerpts = read(rows, django_assert_max_num_queries, 8)
    assert [excerpt is None for excerpt in excerpts] == [True, False, True]
