"""Labelling by keyboard alone, in real browsers on a real `serve`."""

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.datasets.review.people import Person
from tests.processes import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.kill]
COUNT = 30
IN_FORCE = """SELECT count(*) FROM (SELECT sample_id FROM sample_labels a WHERE undoes IS NULL
    AND NOT EXISTS (SELECT 1 FROM sample_labels b WHERE b.undoes = a.id) GROUP BY sample_id HAVING count(*) > 1)"""


def test_two_people_label_30_samples_at_once_with_undos(site, complaints):
    people = [Person(site, name, complaints) for name in ("ann", "bea")]
    expected, steps = {}, 0
    while busy := [person for person in people if person.sample]:
        for person in busy:
            steps += 1
            key, status = ("a", "approved") if steps % 3 else ("r", "rejected")
            sample_id = person.sample
            assert sample_id not in expected, "on two screens"
            person.press(key)
            expected[sample_id] = status
            if steps % 7 == 0:  # a second thought
                person.press("u")
                assert person.sample == sample_id
                person.press("r")
                expected[sample_id] = "rejected"
    for person in people:
        person.settled()
        expect(person.page.locator("#announce")).to_contain_text("No samples are left here.")
    assert len(expected) == COUNT
    assert site.stored() == expected
    assert site.home.count(IN_FORCE) == 0
    assert site.home.count("SELECT count(DISTINCT labelled_by) FROM sample_labels") == 2


def test_a_key_right_after_a_new_sample_files_nothing_and_says_so(site, complaints):
    ann = Person(site, "ann", complaints)
    ann.ready()
    wait_for(lambda: ann.page.evaluate("ahead !== null"))
    first = ann.sample
    ann.page.evaluate("""() => {
        const button = () => document.querySelector('#review-sample [data-key="a"]');
        button().click();
        button().click();
    }""")
    expect(ann.page.locator("#review-soon")).to_be_visible()
    expect(ann.page.locator("#announce")).to_contain_text("too soon")
    ann.settled()
    second = ann.sample
    assert [name for name, status in site.stored().items() if status == "approved"] == [first] != [second]
    ann.press("n")
    expect(ann.page.locator("#review-soon")).to_be_hidden()


def test_keys_do_what_they_say(site, complaints):
    ann = Person(site, "ann", complaints)
    keyboard, page = ann.page.keyboard, ann.page
    ann.ready()
    keyboard.press("e")
    keyboard.press("End")
    keyboard.type(" better")
    keyboard.press("Escape")
    expect(ann.section).to_be_focused()
    keyboard.press("t")
    keyboard.type("a note with a, r and n")
    keyboard.press("Escape")
    keyboard.press("3")
    expect(page.get_by_label("Decision")).to_be_focused()
    page.get_by_label("Decision").select_option("NO_WRITE")
    page.get_by_label("Why is it wrong?").fill("Not stable.")
    keyboard.press("Escape")
    keyboard.press("e")
    keyboard.press("Control+Enter")
    expect(ann.section).to_have_attribute("data-sample", "s01")
    expect(ann.section).to_be_focused()
    expect(page.locator("#announce")).to_have_text("Approved. Now showing turn 1 of ada")
    ann.press("s")
    ann.press("j")
    ann.press("k")
    assert ann.sample == "s02"
    page.go_back()
    expect(ann.section).to_have_attribute("data-sample", "s03")
    ann.settled()
    row = site.home.count(
        "SELECT json_array(output, annotation_notes, gate_label, json_extract(gate_corrected_output, '$.decision'))"
        " FROM dataset_samples WHERE id = 's00'"
    )
    assert json.loads(row) == ["Answer 0 better", "a note with a, r and n", "corrected", "NO_WRITE"]
    keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Undo your last action (up to 50)")
    expect(page).not_to_have_title("owned")


def test_one_press_is_one_verdict(site):
    ann = Person(site, "ann", [])
    ann.ready()
    ann.page.keyboard.press("a")
    ann.page.keyboard.press("a")  # at once: meant for the first one
    expect(ann.section).to_have_attribute("data-sample", "s01")
    ann.ready()
    ann.page.keyboard.down("a")
    expect(ann.section).to_have_attribute("data-sample", "s02")
    ann.ready()
    ann.page.keyboard.down("a")  # a key that is held repeats itself
    ann.page.keyboard.up("a")
    ann.settled()
    assert ann.sample == "s02"
    assert site.home.count("SELECT count(*) FROM sample_labels") == 2


def test_a_verdict_that_does_not_arrive_brings_its_sample_back(site):
    ann = Person(site, "ann", [])
    ann.ready()
    ann.page.route("**/review/label/**", lambda route: route.abort())
    ann.page.keyboard.press("t")
    ann.page.keyboard.type("my note")
    ann.page.keyboard.press("Escape")
    ann.page.keyboard.press("a")
    expect(ann.page.locator("#review-lost")).to_be_visible()
    assert ann.sample == "s00"
    expect(ann.page.get_by_label("Notes")).to_have_value("my note")
    ann.page.unroute("**/review/label/**")
    ann.press("a")
    assert ann.sample == "s01"
    ann.settled()
    assert site.stored()["s00"] == "approved"


def test_a_closed_tab_lets_go_of_its_samples(site, complaints):
    ann = Person(site, "ann", complaints)
    ann.page.wait_for_function("() => held().length === 2")
    assert site.home.count("SELECT count(*) FROM sample_claims") == 2
    ann.page.goto(f"{site.address}/samples/")
    wait_for(lambda: site.home.count("SELECT count(*) FROM sample_claims") == 0)


def test_what_somebody_took_over_is_said(site):
    ann = Person(site, "ann", [])
    ann.ready()
    ann.settled()
    site.home.python("from datasets.models import SampleClaim; print(SampleClaim.objects.update(claimed_by='bea'))")
    ann.page.evaluate("() => renew()")
    expect(ann.page.locator("#review-away")).to_be_visible()
    ann.press("j")
    expect(ann.page.locator("#review-away")).to_be_hidden()


def test_everybody_can_use_it(site, complaints):
    ann = Person(site, "ann", complaints)
    ann.page.keyboard.press("3")
    for theme in ("light", "dark"):
        ann.page.emulate_media(color_scheme=theme)
        for address in ("/review/", "/review/?agent=none", "/review/keys/", "/samples/bulk/?verdict=approved"):
            ann.page.goto(site.address + address)
            violations = Axe().run(ann.page).response["violations"]
            assert not violations, [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in violations]
            ann.page.set_viewport_size({"width": 390, "height": 800})
            assert ann.page.evaluate("document.documentElement.scrollWidth") <= 390, address
            ann.page.set_viewport_size({"width": 1280, "height": 800})
    expect(ann.page.locator(".rail__count")).to_contain_text("30")
