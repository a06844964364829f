"""The doctor names damaged findings, and repairs them."""

import pytest

from agents.models import Agent
from findings import checks, problems
from findings.models import Finding, FindingScan
from ledger.transcripts import removal
from openclaw_web import clock
from openclaw_web.sqlite.integrity import find_check
from tests.collecting.collect_runs import MAIN, run
from tests.findings.scan_helpers import list_places, scan_everything, write_mails

pytestmark = pytest.mark.django_db
DAY_MS = 86_400_000


@pytest.fixture
def scanned(home):
    script = write_mails(home)
    run(home)
    scan_everything()
    return script


def test_a_sound_store_has_no_faults(scanned):
    for check in checks.CHECKS:
        assert (check.rows(MAIN, is_deep=False).count, check.rows(MAIN, is_deep=True).count) == (0, 0), check.name


def test_a_changed_finding_is_named_and_found_again(scanned):
    before = list_places()
    Finding.objects.using(MAIN).filter(id=Finding.objects.using(MAIN).first().id).update(start=1, end=4)
    check = find_check("findings_changed")
    assert check.rows(MAIN, is_deep=False).count == 1
    assert check.repair(Agent.objects.get(agent_id="main")) == 1
    assert check.rows(MAIN, is_deep=True).count == 0
    assert list_places() == before


def test_an_unsound_position_is_named_and_scanned_again(scanned):
    Finding.objects.using(MAIN).all().delete()
    FindingScan.objects.using(MAIN).filter(source="record").update(position="many")
    check = find_check("findings_positions")
    assert check.rows(MAIN, is_deep=False).count == 1
    assert check.repair(Agent.objects.get(agent_id="main")) == 1
    assert check.rows(MAIN, is_deep=False).count == 0
    assert len(list_places()) == 9


def test_findings_of_a_removed_session_are_noted_until_the_next_scan(scanned):
    removal.delete_session(MAIN, scanned.session)
    check = find_check("findings_gone")
    assert check.is_note and check.rows(MAIN, is_deep=False).count == 9
    scan_everything()
    assert check.rows(MAIN, is_deep=False).count == 0


def test_texts_that_wait_for_a_day_are_a_problem(scanned, home):
    agent = Agent.objects.get(agent_id="main")
    write_mails(home)
    run(home)
    assert list(problems.check_behind(agent)) == []
    with clock.shift_to(clock.now_ms() + DAY_MS + 1_000):
        [finding] = problems.check_behind(agent)
        assert finding.facts == {"count": 13}
        scan_everything()
        assert list(problems.check_behind(agent)) == []
