"""Scans after removals, another key, another clock, and a lost summary."""

import pytest

from datasets.finding_values import checks, decisions, summary, verdicts
from datasets.models import FindingValue, FindingValueAgent, FindingVerdict
from findings import scan, services
from findings.models import Finding, FindingScan
from findings.value_hash import compute_value_hash
from ledger.transcripts import removal
from tests.collecting.collect_runs import MAIN, run
from tests.findings.scan_helpers import MAIL, OTHER_MAIL, list_places, scan_everything, write_mails
from tests.homes import user

MAIL_HASH = compute_value_hash("email", MAIL)
pytestmark = pytest.mark.django_db


@pytest.fixture
def script(home):
    """A session with an address, scanned."""
    script = write_mails(home, 2)
    run(home)
    scan_everything()
    return script


def read_summary():
    return [list(model.objects.order_by("value_hash").values()) for model in (FindingValue, FindingValueAgent)]


def count_places():
    return list(FindingValueAgent.objects.order_by("value_hash").values_list("places", flat=True))


def test_a_value_without_places_is_not_listed_and_its_verdict_waits(home, script, as_reviewer):
    verdicts.decide("dismissed", scope="value", value_hash=MAIL_HASH, by="ann")
    removal.delete_session(MAIN, script.session)
    assert scan.is_needed()
    scan_everything()
    assert read_summary() == [[], []] and not Finding.objects.using(MAIN).exists()
    assert FindingVerdict.objects.get().verdict == "dismissed"
    assert "No findings yet" in as_reviewer.get("/findings/").text
    assert as_reviewer.get(f"/findings/{MAIL_HASH}/").status_code == 404
    home.transcript(user(f"Write to {MAIL}"))
    run(home)
    scan_everything()
    assert FindingValue.objects.get().state == "dismissed"


def test_a_lost_summary_is_built_again_as_it_was(home, script):
    home.transcript(user(f"Mails go to {MAIL} and {OTHER_MAIL}"))
    run(home)
    scan_everything()
    verdicts.decide("confirmed", scope="value", value_hash=MAIL_HASH, by="ann")
    before = read_summary()
    assert len(before[0]) == 2
    FindingValue.objects.all().delete()
    FindingValueAgent.objects.all().delete()
    assert summary.rebuild() == 2
    ids = [row.pop("id") for rows in (before[1], read_summary()[1]) for row in rows]
    after = read_summary()
    assert len(ids) == 4 and [row.pop("id") for row in after[1]]
    assert after == before


def test_another_secret_key_has_everything_scanned_again(script, settings):
    before = list_places()
    settings.SECRET_KEY = "another key of this site, which is long enough"
    assert scan.is_needed() and scan.count_unscanned(MAIN) > 0
    scan_everything()
    new_hash = compute_value_hash("email", MAIL)
    assert new_hash != MAIL_HASH and list_places() == before
    assert set(Finding.objects.using(MAIN).values_list("value_hash", flat=True)) == {new_hash}
    assert list(FindingValue.objects.values_list("value_hash", flat=True)) == [new_hash]
    assert not scan.is_needed()


def test_what_people_added_stays_with_another_secret_key(script, settings):
    place = {"session_id": script.session, "seq": 1, "path": "$.message.content[0].text"}
    services.add_finding(MAIN, **place, start=0, end=5)
    settings.SECRET_KEY = "another key of this site, which is long enough"
    assert decisions.read_added("main") == []
    scan_everything()
    assert decisions.read_added("main") == [("custom", "Write")]
    assert FindingValue.objects.get(kind="custom").places == 1
    assert list(checks.find_wrong_counts("default")) == list(checks.find_wrong_sums("default")) == []


@pytest.mark.parametrize("hours", [-24 * 400, 24 * 400])
def test_a_clock_that_jumps_loses_no_record_and_doubles_none(home, script, later, hours):
    before = list_places()
    later(hours=hours)
    script.add(user(f"And {OTHER_MAIL}"))
    run(home)
    assert scan_everything().findings == 1
    assert len(list_places()) == len(before) + 1
    assert scan_everything().scanned == 0 and not scan.is_needed()
    verdicts.decide("confirmed", scope="value", value_hash=MAIL_HASH, by="ann")
    later(hours=0)
    verdicts.decide("dismissed", scope="value", value_hash=MAIL_HASH, by="ann")
    assert FindingValue.objects.get(value_hash=MAIL_HASH).state == "dismissed"
    assert FindingScan.objects.using(MAIN).filter(session_id=script.session).count() == 1
