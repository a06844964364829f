"""Problems of memory files that an operator sees under System, Problems."""

import re

import pytest

from guardian.models import RollbackIntent, WriteGuardianAudit
from openclaw_web import clock
from people.configuration import setting_values as configuration
from problems.check_pass import check_all
from tests.guardian.test_opted_out import turns  # noqa: F401 - a fixture
from tests.guardian.write_rows import create_write
from tests.ledger.transcript_records import get_text

pytestmark = pytest.mark.django_db
DB = "agent_ada"


def problems(browser):
    """Return the rows of the page of problems after a check."""
    check_all()
    return get_text(browser.get("/operations/")).partition("data-rows")[2]


def intent(**columns):
    facts = {"id": "i1", "file_name": "USER.md", "audits_json": '["w1"]', "draft_name": ".x", "created_at": 1}
    RollbackIntent.objects.using(DB).create(**{**facts, **columns})


def test_a_rollback_that_broke_off_is_told_and_one_under_way_is_not(as_operator, ada):
    intent(created_at=clock.now_ms())
    assert "was interrupted" not in problems(as_operator)
    intent(id="i2")
    page = problems(as_operator)
    assert "A rollback of USER.md of ada was interrupted." in page and "/agents/ada/writes/?file=USER.md" in page


def test_what_was_written_during_a_rollback_waits_for_somebody(as_operator, ada):
    intent(ended_at=2, meanwhile_json='["v1"]', state=RollbackIntent.State.DONE)
    page = problems(as_operator)
    assert "USER.md of ada was changed while this site was writing to it." in page
    assert "/agents/ada/files/USER.md/" in page  # no source reported the write
    create_write(DB, 1, None, b"one\n", target_file="USER.md")
    assert 'href="/agents/ada/writes/w1/"' in problems(as_operator)
    RollbackIntent.objects.using(DB).update(settled_at=3)
    assert "USER.md of ada was changed" not in problems(as_operator)


def test_changes_without_a_write_are_counted(as_operator, ada):
    create_write(DB, 1, None, b"one\n", origin=WriteGuardianAudit.Origin.UNATTRIBUTED)
    WriteGuardianAudit.objects.using(DB).update(created_at=clock.now_ms())
    page = problems(as_operator)
    assert "1 change to memory files of ada in the last 7 days has no known author." in page
    (link,) = set(re.findall(r'href="(/agents/ada/writes/\?segment=unattributed[^"]*)"', page))
    assert "w1" in get_text(as_operator.get(link.replace("&amp;", "&")))


def test_many_changes_by_the_consolidation_hide_no_other(as_operator, ada):
    for number in range(102):
        reason = "consolidation" if number else None
        create_write(DB, number, b"%d" % number, b"%d" % (number + 1), origin="unattributed", reason=reason)
    rows = WriteGuardianAudit.objects.using(DB)
    rows.update(created_at=clock.now_ms())
    rows.filter(id="w0").update(created_at=clock.now_ms() - 1_000)
    assert "1 change to memory files of ada in the last 7 days has no known author." in problems(as_operator)


def test_lines_of_people_who_opted_out_are_counted(as_operator, turns):  # noqa: F811
    assert "opted out" not in problems(as_operator)
    configuration.put("collector.optedOutSenders", ["tom", "mei"])
    page = problems(as_operator)
    assert "2 lines of the memory files of ada come from people who opted out." in page
    assert 'href="/agents/ada/writes/opted-out/"' in page
