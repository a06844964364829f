"""Rules on their page, in the API and in a terminal: counts, switches, checks of facts."""

import html
import json
import re

import pytest
from django.core.management import call_command

from guardian.corrections import rule_trial, rules
from guardian.models import BehaviorCorrection
from people.models.bookkeeping import AuditEntry
from tests.factories import TurnFactory
from tests.guardian.write_rows import create_write
from tests.ledger.transcript_records import get_text

from .correction_rows import create_correction

pytestmark = pytest.mark.django_db
DB = "agent_ada"
PAGE = "/agents/ada/writes/rules/"
API = "/api/v1/agents/ada/guardian/rules"


@pytest.fixture
def rule(ada):
    create_write(DB, 1, None, b"Likes tea.\n")
    return create_correction(apply_to_future=True)


@pytest.mark.parametrize("name", ["a/b", "../try", "rollback/do/x", "?a#b%2f", "<b>", "try"])
def test_a_rule_has_whatever_id_its_database_gave_it(as_operator, rule, name):
    BehaviorCorrection.objects.using(DB).filter(id=rule.id).update(id=name)
    page = as_operator.get(PAGE)
    (address,) = re.findall(r'action="([^"]+/switch/)"', page.content.decode())
    assert as_operator.post(html.unescape(address), {"to": "off"}).status_code == 302
    assert BehaviorCorrection.objects.using(DB).get().switched_off_by == "otto"


def add_flagged_write(number, rule):
    return create_write(DB, number, b"a", b"%d" % number, candidate_fact="likes tea", rule_id=rule.id)


def test_numbers(rule):
    for number in (2, 3, 4):
        add_flagged_write(number, rule)
    create_correction("w2", status="written", reason="True now.")
    create_correction("w3", status="written", reason="Perhaps.")
    create_correction("w3", status="refused", reason="No.")
    (counts,) = rule_trial.read_rule_counts(DB, [rule])
    assert (counts.acted, counts.overruled, counts.is_on, counts.is_replaced) == (3, 1, True, False)


def test_the_page_shows_them_and_switches_them(as_operator, rule):
    add_flagged_write(2, rule)
    page = as_operator.get(PAGE).content.decode()
    assert "Likes tea" in page and "Refuses matching facts" in page and "Turn off" in page
    assert as_operator.post(f"{PAGE}{rule.id}/switch/", {"to": "off"}).status_code == 302
    assert rules.find_ruling(DB, fact="likes tea", target_file="USER.md") is None
    assert "Turn on" in as_operator.get(PAGE).content.decode()
    as_operator.post(f"{PAGE}{rule.id}/switch/", {"to": "on"})
    assert rules.find_ruling(DB, fact="likes tea", target_file="USER.md").rule_id == rule.id
    actions = AuditEntry.objects.filter(object_type="rule").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["rule_switched_off", "rule_switched_on"]


def test_a_rule_shows_the_facts_it_caught_and_what_people_overruled(as_operator, rule):
    TurnFactory(id="s1:m1", turn_number=4, user_from="Ben Koh")
    for number in range(2, 7):
        create_write(
            DB, number, b"a", b"%d" % number, candidate_fact=f"likes tea {number}", rule_id=rule.id, turn_id="s1:m1"
        )
    create_correction("w3", status="written", reason="True now.")
    page = get_text(as_operator.get(PAGE))
    caught, overruled = page.split('<details class="fold">')[1].split("</details>")[0].split("Overruled by people")
    assert [number for number in range(2, 7) if f"/writes/w{number}/" in caught] == [4, 5, 6]
    assert (
        f'?rule={rule.id}&amp;segment=all">All 5</a>' in caught and "Ben Koh</strong>" in caught and "?turn=4" in caught
    )
    assert "/writes/w3/" in overruled and "/writes/w4/" not in overruled
    listed = get_text(as_operator.get(f"/agents/ada/writes/?rule={rule.id}&segment=all"))
    assert sum(f'href="/agents/ada/writes/w{number}/' in listed for number in range(2, 7)) == 5


def test_a_replaced_rule_stays_off(as_operator, rule):
    create_correction(status="written", file="USER.md")
    as_operator.post(f"{PAGE}{rule.id}/switch/", {"to": "on"})
    rule.refresh_from_db()
    assert rule.switched_off_at is not None
    page = as_operator.get(PAGE).content.decode()
    assert "Replaced" in page and "Turn on" not in page


def test_viewers_see_no_buttons(as_stranger, rule):
    assert "Turn off" not in as_stranger.get(PAGE).content.decode()


def test_without_rules(as_stranger, ada):
    assert "No rules yet" in as_stranger.get(PAGE).content.decode()


def test_asking_before_a_write(as_operator, rule):
    ruling = as_operator.post(f"{API}/check", {"fact": "Likes  tea", "file": "USER.md"}, "application/json").json()
    assert ruling == {
        "status": "refused",
        "fact": "Likes  tea",
        "file": "USER.md",
        "rule_id": rule.id,
        "reason": "Said in jest.",
    }
    ruling = as_operator.post(f"{API}/check", {"fact": "Likes milk", "file": "USER.md"}, "application/json").json()
    assert (ruling["status"], ruling["rule_id"]) == ("written", None)


def test_the_api_lists_and_switches(as_operator, rule):
    (item,) = as_operator.get(API).json()["items"]
    assert (item["id"], item["is_on"], item["acted"], item["overruled"]) == (rule.id, True, 0, 0)
    item = as_operator.post(f"{API}/{rule.id}/switch", {"is_on": False}, "application/json").json()
    assert item["is_on"] is False
    assert as_operator.post(f"{API}/nowhere/switch", {"is_on": False}, "application/json").status_code == 404


def run(capsys, *words):
    call_command("reflection", "guardian", *words, "--agent", "ada", "--json")
    return json.loads(capsys.readouterr().out)


def test_the_commands(capsys, ada):
    create_write(DB, 1, None, b"Likes tea.\n")
    receipt = run(capsys, "correct", "w1", "--status", "refused", "--reason", "No.", "--apply-to-future")
    rule_id = receipt["correction"]["id"]
    assert run(capsys, "rules", "--check", "likes tea", "--file", "USER.md")["rule_id"] == rule_id
    assert [row["is_on"] for row in run(capsys, "rules", "--off", rule_id)["rules"]] == [False]
    assert run(capsys, "rules", "--check", "likes tea", "--file", "USER.md")["rule_id"] is None
    assert [row["is_on"] for row in run(capsys, "rules", "--on", rule_id)["rules"]] == [True]
    assert BehaviorCorrection.objects.using(DB).get().corrected_by == "command line"
