"""People add findings, set their states, and see them counted."""

import pytest

from findings import places, scan, services
from findings.models import Finding
from findings.value_hash import compute_value_hash
from openclaw_web.errors import Refused
from tests.collecting.collect_runs import MAIN, run
from tests.findings.scan_helpers import MAIL, list_places, scan_everything, write_mails
from tests.homes import user

TEXT = "$.message.content[0].text"
pytestmark = pytest.mark.django_db


def add(script, seq=1, path=TEXT, start=0, end=5, **more):
    return services.add_finding(MAIN, session_id=script.session, seq=seq, path=path, start=start, end=end, **more)


def test_a_person_adds_a_value_once(home):
    script = home.transcript(user("Project Nightjar starts"))
    run(home)
    row = add(script, start=8, end=16)
    assert (row.state, row.rule, row.turn_number, places.read_value(MAIN, row)) == ("added", "person", 1, "Nightjar")
    assert add(script, start=8, end=16).id == row.id
    assert places.read_added_values(MAIN) == [("custom", "Nightjar")]
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
    assert not Finding.objects.using(MAIN).exists()
    assert places.read_added_values(MAIN) == []


def test_states_are_set_by_value_rule_and_place(home):
    script = write_mails(home)
    run(home)
    scan_everything()
    value_hash = compute_value_hash("email", MAIL)
    first = Finding.objects.using(MAIN).order_by("id").first()
    place = places.find_place_id(first)
    assert place == f"record:{script.session}/1"
    assert services.set_state(MAIN, "dismissed", value_hash=value_hash, place=place) == 3
    assert services.set_state(MAIN, "confirmed", rule=first.rule) == 9
    assert services.set_state(MAIN, "confirmed", value_hash=value_hash) == 0
    assert services.set_state(MAIN, "open", value_hash="0" * 32) == 0
    with pytest.raises(ValueError, match="Name a value"):
        services.set_state(MAIN, "open")
    with pytest.raises(ValueError, match="is not a place"):
        services.set_state(MAIN, "open", place="weather:1")


def test_values_are_counted_and_listed(home):
    script = write_mails(home)
    run(home)
    scan_everything()
    value_hash = compute_value_hash("email", MAIL)
    assert services.count_by_value(MAIN, [value_hash, "0" * 32]) == {value_hash: 9}
    assert services.list_value(MAIN, value_hash).count() == 9
    assert services.list_turn(MAIN, script.session, 2).count() == 3
    assert list(services.iterate_values(MAIN)) == [value_hash]


def test_a_record_without_a_turn_has_a_place_of_its_own(home):
    script = home.transcript({"type": "custom", "customType": "x", "data": {"mail": MAIL}})
    run(home)
    scan_everything()
    row = Finding.objects.using(MAIN).get()
    place = places.find_place_id(row)
    assert place == f"record:{script.session}/@1" or row.turn_number is not None
    assert services.set_state(MAIN, "dismissed", place=place) == len(list_places()) == 1
