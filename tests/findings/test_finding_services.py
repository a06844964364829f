"""People add findings."""

import pytest

from datasets.finding_values import decisions
from findings import places, scan, services
from findings.models import Finding
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements
from tests.collecting.collect_runs import MAIN, run
from tests.findings.scan_helpers import MAIL, list_places, scan_everything
from tests.homes import user

TEXT = "$.message.content[0].text"
pytestmark = pytest.mark.django_db


def add(script, seq=1, path=TEXT, start=0, end=5, **more):
    return services.add_finding(MAIN, session_id=script.session, seq=seq, path=path, start=start, end=end, **more)


def test_a_person_adds_a_value_once(home):
    script = home.transcript(user("Project Nightjar starts"))
    run(home)
    row = add(script, start=8, end=16)
    assert (row.rule, row.turn_number, places.read_value(MAIN, row)) == ("person", 1, "Nightjar")
    assert decisions.find_states("main", [row]) == ["added"]
    assert add(script, start=8, end=16).id == row.id
    assert decisions.read_added("main") == [("custom", "Nightjar")]
    scan_everything()
    assert Finding.objects.using(MAIN).get().id == row.id


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"seq": 99}, "not stored any more"),
        ({"path": "$.message.content[7].text"}, "not stored any more"),
        ({"path": "$..["}, "not stored any more"),
        ({"start": 5, "end": 5}, "Select between"),
        ({"start": 0, "end": 999}, "Select between"),
        ({"start": 7, "end": 8}, "Select between"),
        ({"kind": "weather"}, "no kind of finding"),
    ],
)
def test_what_is_no_selection_is_refused(home, more, words):
    script = home.transcript(user("Project Nightjar starts"))
    run(home)
    with pytest.raises(Refused, match=words):
        add(script, **more)


def test_an_added_value_stays_while_its_text_does(home):
    script = home.transcript(user("Project Nightjar starts"), user("Later"))
    run(home)
    scan_everything()
    row = add(script, start=8, end=16)
    scan.forget_sessions(MAIN, [script.session])
    scan_everything()
    assert Finding.objects.using(MAIN).get().id == row.id
    script.path.write_text(script.path.read_text().replace("Nightjar", "Sparrows"))
    run(home, again=True)
    scan.forget_sessions(MAIN, [script.session])
    scan_everything()
    assert Finding.objects.using(MAIN).get().id == row.id  # what was in the file before is kept
    statements.run(MAIN, "UPDATE transcript_events SET event_json = replace(event_json, 'Nightjar', 'Sparrows')", [])
    scan.forget_sessions(MAIN, [script.session])
    scan_everything()
    assert not Finding.objects.using(MAIN).exists()
    assert decisions.read_added("main") == []


def test_a_record_without_a_turn_has_a_place_of_its_own(home):
    script = home.transcript({"type": "custom", "customType": "x", "data": {"mail": MAIL}})
    run(home)
    scan_everything()
    row = Finding.objects.using(MAIN).get()
    place = places.find_place_id(row)
    assert place == f"record:{script.session}/@1" or row.turn_number is not None
    assert len(list_places()) == 1
