"""Verdicts on findings: which one counts, in the summary and for the places in agents' files."""

from importlib import import_module

import pytest
from django.db import connection

from datasets.finding_values import summary, verdicts
from datasets.models import FindingValue, FindingVerdict, ReviewAction
from datasets.review.actions import find_last_action
from findings import places
from findings.models import Finding
from openclaw_web.errors import Refused
from people.models.bookkeeping import AuditEntry
from tests.datasets.finding_values.finding_rows import MAIL, MAIL_HASH, find, states
from tests.factories import AgentFactory

pytestmark = pytest.mark.django_db
OTHER = "otto.brandt@bahnpost.de"


def judge(verdict, scope="value", **subject):
    return verdicts.decide(verdict, scope=scope, by="ann", **({"value_hash": MAIL_HASH} | subject))


def read_state(row, agent):
    place = places.find_place_id(row)
    return verdicts.read_decisions().find_state(row.kind, row.rule, row.value_hash, place, agent.agent_id)


def test_the_summary_counts_places_of_all_agents(ada, bob):
    for agent, session, number in ((ada, "s", 1), (ada, "s", 2), (bob, "t", 1)):
        find(agent, session, number, f"Write to {MAIL}", MAIL)
    value = FindingValue.objects.get()
    assert (value.places, value.agents, value.state, value.first_found_at) == (3, 2, "open", 1_001)
    Finding.objects.using(bob.db).all().delete()
    summary.refresh("bob", bob.db, [MAIL_HASH])
    value.refresh_from_db()
    assert (value.places, value.agents) == (2, 1)


def test_a_value_without_places_leaves_the_summary(ada):
    find(ada, "s", 1, f"Write to {MAIL}", MAIL)
    Finding.objects.using(ada.db).all().delete()
    assert FindingValue.objects.exists()
    assert summary.rebuild() == 1
    assert not FindingValue.objects.exists()


def test_a_verdict_reaches_every_file_and_places_to_come(ada, bob):
    rows = [find(agent, "s", 1, f"Write to {MAIL}", MAIL) for agent in (ada, bob)]
    judge("dismissed")
    assert (states(ada), states(bob)) == (["dismissed"], ["dismissed"])
    assert FindingValue.objects.values_list("state", "decided_by").get() == ("dismissed", "ann")
    assert [read_state(row, ada) for row in rows] == ["dismissed", "dismissed"]
    find(bob, "s", 2, f"Again {MAIL}", MAIL)
    assert states(bob) == ["dismissed", "dismissed"]


def test_a_place_counts_before_the_value_and_that_before_the_rule(ada):
    first, second = (find(ada, "s", number, f"Write to {MAIL}", MAIL) for number in (1, 2))
    other = find(ada, "s", 3, f"Write to {OTHER}", OTHER)
    judge("dismissed", "rule", rule="email_rule")
    assert states(ada) == ["dismissed", "dismissed", "dismissed"]
    judge("confirmed")
    assert states(ada) == ["confirmed", "confirmed", "dismissed"]
    judge("dismissed", "place", agent="ada", place=places.find_place_id(first))
    assert states(ada) == ["dismissed", "confirmed", "dismissed"]
    assert [read_state(row, ada) for row in (first, second, other)] == states(ada)
    assert set(FindingValue.objects.values_list("value_hash", "state")) == {
        (MAIL_HASH, "confirmed"),
        (other.value_hash, "dismissed"),
    }


def test_undoing_brings_back_the_verdict_before(ada):
    find(ada, "s", 1, f"Write to {MAIL}", MAIL)
    rule = judge("dismissed", "rule", rule="email_rule")
    first, second = judge("confirmed"), judge("dismissed")
    verdicts.take_back(second.id, by="bea")
    assert (states(ada), FindingValue.objects.get().state) == (["confirmed"], "confirmed")
    verdicts.take_back(first.id, by="ann")
    assert (states(ada), FindingValue.objects.get().state) == (["dismissed"], "dismissed")
    verdicts.take_back(rule.id, by="ann")
    value = FindingValue.objects.get()
    assert (states(ada), value.state, value.decided_by) == (["open"], "open", None)
    assert FindingVerdict.objects.count() == 6
    with pytest.raises(Refused):
        verdicts.take_back(rule.id, by="ann")


def test_undoing_an_overtaken_verdict_changes_nothing(ada):
    find(ada, "s", 1, f"Write to {MAIL}", MAIL)
    first = judge("dismissed")
    judge("confirmed")
    verdicts.take_back(first.id, by="ann")
    assert states(ada) == ["confirmed"]


def test_verdicts_are_in_the_audit_log(ada):
    find(ada, "s", 1, f"Write to {MAIL}", MAIL)
    verdicts.take_back(judge("confirmed").id, by="bea")
    entries = AuditEntry.objects.filter(object_type="finding").order_by("id")
    assert list(entries.values_list("actor", "action", "object_id")) == [
        ("ann", "finding_judged", MAIL_HASH),
        ("bea", "finding_undone", MAIL_HASH),
    ]


@pytest.mark.parametrize(
    "subject", [{"verdict": "undone"}, {"verdict": "maybe"}, {"scope": "place"}, {"scope": "rule"}, {"value_hash": ""}]
)
def test_verdicts_without_a_subject_are_refused(ada, subject):
    find(ada, "s", 1, f"Write to {MAIL}", MAIL)
    verdict = subject.pop("verdict", "dismissed")
    with pytest.raises(Refused):
        judge(verdict, **subject)
    assert not FindingVerdict.objects.exists()


def test_a_place_of_another_agent_is_not_dismissed(ada, bob):
    rows = [find(agent, "s", 1, f"Write to {MAIL}", MAIL) for agent in (ada, bob)]
    judge("dismissed", "place", agent="bob", place=places.find_place_id(rows[0]))
    assert (states(ada), states(bob)) == (["open"], ["dismissed"])
    assert (read_state(rows[0], ada), read_state(rows[1], bob)) == ("open", "dismissed")


def test_files_that_are_missing_are_left_out(ada):
    find(ada, "s", 1, f"Write to {MAIL}", MAIL)
    FindingValue.objects.filter(value_hash=MAIL_HASH).update(agents=2)
    AgentFactory(agent_id="lost")
    judge("confirmed")
    assert states(ada) == ["confirmed"]


def test_the_migration_adds_stored_verdicts_to_the_history(ada):
    """A home has verdicts of all scopes, one that was undone and one that somebody else undid."""
    rows = [judge("confirmed"), judge("dismissed", "rule", rule="email_rule"), judge("dismissed")]
    judge("dismissed", "place", agent="ada", place="record:s/1")
    for row, by in zip(rows[:2], ("ann", "bea"), strict=True):
        verdicts.take_back(row.id, by=by)
    columns = ("actor", "kind", "at", "state", "sample_id", "label_id", "bulk_id", "status", "sample_count")
    before = list(ReviewAction.objects.order_by("at").values_list(*columns))
    assert [row[3] for row in before] == ["undone", "undone", "done", "done"]
    ReviewAction.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(import_module("datasets.migrations.0002_a0348c8a").ADD)
    assert list(ReviewAction.objects.order_by("at").values_list(*columns)) == before
    assert find_last_action("ann").label_id == FindingVerdict.objects.get(scope="place").id
