"""Typed text is never lost, whatever happens to the page, the connection or the browser.

People type, move on, skip, reload, undo, lose their connection or their browser.
"""

import json
import os
import shutil
import signal
import subprocess

import pytest
from playwright.sync_api import expect

from tests.datasets.browser_sessions import sign_in
from tests.datasets.review.people import Person
from tests.processes import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.kill]
SIGN_OUT = """() => fetch("/sign-out/", { method: "POST", headers: {
    "X-CSRFToken": document.querySelector("[name=csrfmiddlewaretoken]").value } })"""
TYPED = "SELECT json_group_array(username || ' ' || sample_id || ' ' || fields_json) FROM sample_drafts"


def edit(person, words, *, key="e"):
    """Type at the end of the reply (or of a note), and leave the field."""
    keyboard = person.page.keyboard
    person.ready()
    keyboard.press(key)
    keyboard.press("Control+End")
    keyboard.type(words)
    keyboard.press("Escape")
    expect(person.section).to_be_focused()


def reply(person):
    return person.page.locator("[name=output]").input_value()


def note(person):
    return person.page.locator("[name=notes]").input_value()


def drafts(site):
    return json.loads(site.home.count(TYPED))


@pytest.mark.parametrize("key", ["j", *(pytest.param(key, marks=pytest.mark.nightly) for key in "ks")])
def test_what_was_typed_is_there_after_moving_on(site, complaints, key):
    ann = Person(site, "ann", complaints)
    ann.press("j")
    edit(ann, " and more")
    ann.press(key)
    ann.settled()
    ann.page.goto(f"{site.address}/review/?sample=s01")
    assert reply(ann) == "Answer 1 and more"
    expect(ann.page.locator("#draft-state [data-shown=kept]").first).to_be_visible()


def test_at_once_after_the_last_key(site, complaints):
    """Drafts are saved without a pause.

    The key after the last letter leaves the sample, and the next key undoes that.
    """
    ann, held = Person(site, "ann", complaints), []
    ann.page.route("**/review/skip/**", lambda route: held.append(route))
    ann.ready()
    ann.page.keyboard.press("t")
    ann.page.keyboard.type("a note")
    ann.page.evaluate("() => document.activeElement.blur()")
    ann.page.keyboard.press("s")  # typing goes on after the field lost the focus
    expect(ann.section).to_have_attribute("data-sample", "s00")
    ann.page.keyboard.press("Escape")
    ann.page.keyboard.press("s")
    expect(ann.section).to_have_attribute("data-sample", "s01")
    ann.page.keyboard.press("u")
    wait_for(lambda: ann.page.evaluate("1") and held)
    held[0].continue_()
    expect(ann.section).to_have_attribute("data-sample", "s00")
    assert note(ann) == "a note"


def test_the_reply_and_its_box_take_turns(site, complaints):
    ann = Person(site, "ann", complaints)
    rendered, box = ann.page.locator("#reply-shown"), ann.page.locator("[name=output]")
    expect(box).to_be_hidden()
    edit(ann, " **better**")
    expect(box).to_be_hidden()
    expect(rendered.locator("strong")).to_have_text("better")
    expect(ann.page.locator("#reply-diff ins")).to_have_text(" **better**")
    ann.page.keyboard.press("e")
    expect(box).to_be_focused()
    expect(rendered).not_to_be_visible()
    ours, theirs = box.bounding_box(), rendered.bounding_box()
    assert (ours["height"], ours["width"]) == (theirs["height"], theirs["width"])


# One long scenario, because each person's text must survive the actions of the other.
def test_two_people_type_skip_reload_and_undo(site, complaints):
    ann, bea = (Person(site, name, complaints) for name in ("ann", "bea"))
    mine, hers = ann.sample, bea.sample
    assert mine != hers
    edit(ann, " by ann")
    edit(ann, "ann's note", key="t")
    edit(bea, " by bea")
    edit(bea, "bea's note", key="t")
    for person in (ann, bea):
        person.settled()
        person.page.reload()
    assert (reply(ann)[-7:], note(ann)) == (" by ann", "ann's note")
    assert (reply(bea)[-7:], note(bea)) == (" by bea", "bea's note")
    ann.press("s")  # left to others: bea gets it, and nothing that ann typed
    ann.settled()
    bea.page.goto(f"{site.address}/review/?sample={mine}")
    assert (reply(bea)[:6], note(bea)) == ("Answer", "")
    assert "by ann" not in bea.page.content() and "ann's note" not in bea.page.content()
    edit(bea, " also by bea")
    bea.press("a")
    bea.settled()
    ann.page.goto(f"{site.address}/review/?sample={mine}")
    assert (reply(ann)[-7:], note(ann)) == (" by ann", "ann's note")
    bea.page.goto(f"{site.address}/review/?sample={hers}")
    bea.press("r")
    bea.page.keyboard.press("8")
    expect(bea.page.locator(".review-top__said")).to_contain_text("Rejected, Wrong tool")
    bea.page.keyboard.press("u")
    expect(bea.section).to_have_attribute("data-sample", hers)
    assert (reply(bea)[-7:], note(bea)) == (" by bea", "bea's note")
    bea.press("a")
    bea.settled()
    labels = json.loads(site.home.count(
        "SELECT json_group_array(json_array(sample_id, status, labelled_by, output, notes, reason)) FROM ("
        "SELECT * FROM sample_labels WHERE undoes IS NULL ORDER BY labelled_at, id)"))  # fmt: skip
    assert all(by == "bea" and "ann" not in f"{output}{notes}" for _id, _status, by, output, notes, _reason in labels)
    assert [label[1:3] + label[5:] for label in labels if label[0] == hers] == [
        ["rejected", "bea", None], ["rejected", "bea", "wrong_tool"], ["approved", "bea", None],
    ]  # fmt: skip
    assert [draft.split(" ")[0] for draft in drafts(site)] == ["ann"]


def test_a_reason_is_one_key_and_the_next_verdict_passes_it_over(site, complaints):
    ann = Person(site, "ann", complaints)
    ann.ready()
    ann.page.keyboard.press("r")
    ann.page.keyboard.press("7")  # before the site has asked for a reason
    expect(ann.page.locator(".review-top__said")).to_contain_text("Rejected, Wrong fact")
    ann.press("r")
    expect(ann.page.locator("#reject-reasons")).to_be_visible()
    ann.press("a")
    ann.settled()
    expect(ann.page.locator("#reject-reasons")).to_have_count(0)
    ann.page.keyboard.press("1")  # the gate's again
    expect(ann.page.locator("[name=gate_label][value=correct]")).to_be_checked()
    ann.press("r")
    ann.page.get_by_role("button", name="Unsafe").click()
    expect(ann.page.locator(".review-top__said")).to_contain_text("Rejected, Unsafe")
    ann.settled()
    reasons = json.loads(
        site.home.count("SELECT json_group_object(id, reject_reason) FROM dataset_samples WHERE id < 's04'")
    )
    assert reasons == {"s00": "wrong_fact", "s01": None, "s02": None, "s03": "unsafe"}


def test_a_connection_that_fails_loses_nothing(site):
    ann = Person(site, "ann", [])
    ann.ready()
    ann.page.route("**/review/draft/**", lambda route: route.abort())
    ann.page.keyboard.press("t")
    ann.page.keyboard.type("typed without a connection")
    expect(ann.page.get_by_text("Not saved, trying again")).to_be_visible()
    ann.page.evaluate("() => document.activeElement.blur()")
    ann.page.keyboard.press("j")
    expect(ann.page.locator("#review-unsaved")).to_be_visible()
    assert (ann.sample, note(ann)) == ("s00", "typed without a connection")
    ann.page.unroute("**/review/draft/**")
    expect(ann.page.get_by_text("Draft saved")).to_be_visible()
    expect(ann.page.locator("#review-unsaved")).to_be_hidden()
    assert drafts(site) == ['ann s00 {"notes":"typed without a connection"}']


def test_the_samples_own_page_keeps_it_too(site, complaints):
    ann = Person(site, "ann", complaints)
    ann.page.goto(f"{site.address}/samples/s05/")
    ann.page.keyboard.press("e")
    expect(ann.page.locator("[name=output]")).to_be_focused()
    ann.page.keyboard.press("Control+End")
    ann.page.keyboard.type(" typed here")
    ann.page.goto(f"{site.address}/samples/s06/")
    wait_for(lambda: drafts(site))  # the page that was left sends it while the next one loads
    ann.page.goto(f"{site.address}/samples/s05/")
    assert reply(ann) == "Answer 5 typed here"
    ann.page.keyboard.press("a")
    ann.page.wait_for_url("**/samples/s06/**")
    assert site.home.count("SELECT output FROM dataset_samples WHERE id = 's05'") == "Answer 5 typed here"
    assert drafts(site) == []


def test_a_signed_out_browser_shows_nothing_to_the_next(site):
    ann = Person(site, "ann", [])
    edit(ann, " only for ann")
    ann.settled()
    page = ann.page
    page.goto(f"{site.address}/account/")
    page.evaluate(SIGN_OUT)
    assert "only for ann" not in page.evaluate("() => JSON.stringify({...localStorage, ...sessionStorage})")
    sign_in(page, site.address, site.links["bea"])
    page.goto(f"{site.address}/review/?sample=s00")
    assert "only for ann" not in page.content()


def test_what_was_typed_is_discarded_only_when_asked(site, complaints):
    ann = Person(site, "ann", complaints)
    edit(ann, " not this")
    ann.page.get_by_role("button", name="Discard draft").click()
    expect(ann.page.get_by_text("Your draft was discarded.")).to_be_visible()
    assert (ann.sample, reply(ann)) == ("s00", "Answer 0")
    assert drafts(site) == []


@pytest.fixture
def killable(playwright, tmp_path):
    """Starts a Chromium with a profile on disk, as a process that can be killed."""
    started = []

    def start():
        folder, program = tmp_path / "profile", os.environ.get("CHROMIUM") or shutil.which("chromium")
        words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"]
        (folder / "DevToolsActivePort").unlink(missing_ok=True)
        process = subprocess.Popen(
            [program, *words, f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        wait_for((folder / "DevToolsActivePort").exists)
        wait_for(lambda: (folder / "DevToolsActivePort").read_text().count("\n"))
        port = (folder / "DevToolsActivePort").read_text().split("\n")[0]
        return process, playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def open_review(site, browser, link):
    page = browser.contexts[0].new_page()
    sign_in(page, site.address, link)
    page.goto(f"{site.address}/review/?sample=s00")
    return page


def test_a_killed_browser_loses_at_most_the_last_words(site, killable):
    process, browser = killable()
    page = open_review(site, browser, site.links["ann"])
    page.keyboard.press("e")
    page.keyboard.press("Control+End")
    words = [f"word{number}" for number in range(60)]
    for word in words:  # without a pause, because saving must not wait for one
        page.keyboard.type(f" {word}", delay=25)
    page.wait_for_timeout(1000)  # the docs promise half a second, plus the request
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    again = site.home.python(
        "from people.accounts import services as accounts; from people.models import User;"
        "print(accounts.make_sign_in_link(User.objects.get(username='ann')))"
    )
    _process, browser = killable()
    page = open_review(site, browser, again.strip())
    assert page.locator("[name=output]").input_value() == " ".join(["Answer 0", *words])


def test_while_somebody_types_on_it_is_saved(site):
    ann = Person(site, "ann", [])
    ann.ready()
    ann.page.keyboard.press("t")
    for number in range(200):
        ann.page.keyboard.type(f"{number} ", delay=20)
        if drafts(site):
            break
    assert drafts(site), "nothing was saved while somebody typed"
