"""Reset and deleted sessions are imported where an option or the setting says so.

Otherwise they are counted beside the totals.
"""

import pytest

from ledger.models import Session
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, run
from tests.homes import Home, assistant, user

pytestmark = pytest.mark.django_db
OLD = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def home(tmp_path, real_files):
    home = Home(tmp_path / "openclaw")
    home.transcript(user("Hello"), assistant("Hi"))
    gone = home.transcript(user("Old"), assistant("Words"), session=OLD)
    path = home.root / "agents" / "main" / "sessions" / f"{gone.session}.jsonl"
    path.rename(f"{path}.reset.2026-02-21T03-04-57.476Z")
    return home


def ids():
    return set(Session.objects.using(MAIN).filter(turn_count__gt=0).values_list("id", flat=True))


def test_the_setting_holds_for_every_import(home):
    run(home)
    assert OLD not in ids()
    configuration.put("collector.includeDeleted", True)
    run(home)
    assert OLD in ids()


def test_what_serve_was_told_holds_for_every_import_of_it(home, settings):
    settings.INCLUDE_DELETED = True
    run(home)
    assert OLD in ids()


@pytest.mark.parametrize("address", ["/", "/agents/", "/agents/main/sessions/"])
def test_totals_say_how_many_are_left_out(as_reviewer, home, address):
    run(home, include_deleted=True)
    assert "Not imported" not in as_reviewer.get(address).content.decode()
    other, third = OLD.replace("1", "2"), OLD.replace("1", "3")
    for session, suffix in (
        (OLD, ".reset.2026-02-22T03-04-57.476Z"),
        (other, ".reset.2026-02-21T03-04-57.476Z"),
        (other, ".reset.2026-02-22T03-04-57.476Z"),
        (third, ".deleted.2026-02-22T03-04-57.476Z"),
        (third, ".bak"),
    ):
        home.transcript(user("Old"), session=session, suffix=suffix)
    run(home)
    page = as_reviewer.get(address).content.decode()
    assert "Not imported and in no total: 2 reset sessions, 1 deleted session." in page
    run(home, include_deleted=True)
    assert "Not imported" not in as_reviewer.get(address).content.decode()
