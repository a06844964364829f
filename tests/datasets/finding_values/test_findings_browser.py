"""Findings by keyboard alone: on the list, on a value's page, and in a sample.

The keys are y, n, u and f.
"""

import pytest
from playwright.sync_api import expect

from tests.datasets.browser_sessions import open_page, sign_in
from tests.datasets.finding_values.finding_rows import KEY, MAIL
from tests.processes import wait_for

pytestmark = pytest.mark.browser
NAME = "Project Bluebird"
PREPARE = f"""
import json
from agents import services as agents
from datasets import services
from findings import scan
from ledger.collectors.jsonl import Line, parse_line
from ledger.transcripts.transcript_store import Transcript, store_transcript
from people.accounts import services as accounts
link, other = (accounts.add_user(name, "labeller")[1] for name in ("ann", "bea"))
agent = agents.register("ada")
texts = ["Write to {MAIL} about <b>{NAME}</b>", "Call +81 3-1234-5678", "Use {KEY}"]
lines, before = [], None
for number, text in enumerate(texts, start=1):
    for name, role, said in ((f"u{{number}}", "user", text), (f"a{{number}}", "assistant", f"I wrote to **{MAIL}**")):
        message = {{"role": role, "model": "m-1", "content": [{{"type": "text", "text": said}}]}}
        line = {{"type": "message", "id": name, "parentId": before, "message": message}}
        lines.append(line | {{"timestamp": 1_780_000_000_000}})
        before = name
parsed = [parse_line(Line(n, n + 1, json.dumps(line).encode())) for n, line in enumerate(lines)]
store_transcript(agent.db, Transcript("s1", "s1.jsonl", 1_780_000_000_000), iter(parsed))
scan.scan_agent(agent.db)
made = services.make_samples(agent, "s1", [1], by="root").made
print(json.dumps([link, made[0], other]).replace(" ", ""))
"""
# Selects a text of the question, as a person does with the mouse.
SELECT = """(name) => {
    const texts = [...document.querySelector("[data-part=question]").childNodes];
    const node = texts.find((text) => text.textContent.includes(name));
    const range = document.createRange(), start = node.textContent.indexOf(name);
    range.setStart(node, start);
    range.setEnd(node, start + name.length);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
}"""


@pytest.fixture
def opened(migrated, tmp_path, browser):
    """A signed-in page on a site with findings, its address, the id of a sample, and the link of somebody else."""
    with open_page(migrated, tmp_path, browser, PREPARE) as facts:
        yield facts


def test_rows_are_judged_by_keys(opened):
    page, address, _sample, _other = opened
    page.goto(f"{address}/findings/?kind=email")
    expect(page.locator("[data-rows] tbody tr a.clamp")).to_contain_text(MAIL)
    state, undo = page.locator("[data-rows] tbody tr .badge").first, page.locator("#last-verdict [data-key=u]")
    page.keyboard.press("j")
    for key, word in (("y", "Confirmed"), ("n", "Dismissed")):
        page.keyboard.press(key)
        expect(state).to_have_text(word, ignore_case=True)
    page.keyboard.press("u")
    expect(state).to_have_text("confirmed", ignore_case=True)
    page.keyboard.press("u")
    expect(state).to_have_text("Open")
    expect(undo).to_have_count(0)
    page.goto(f"{address}/findings/?kind=key")
    expect(page.locator("[data-rows] tbody tr a.clamp")).to_contain_text("sk-a")
    assert "Zk3vQ9xTr7" not in page.content()


def test_the_page_of_a_value_has_the_same_keys(opened):
    page, address, _sample, _other = opened
    page.goto(f"{address}/findings/?kind=email")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("mark").first).to_have_text(MAIL)
    badge = page.locator(".page-head .badge").first
    words = ("Dismissed", "Confirmed", "Dismissed", "Confirmed", "Dismissed")
    for key, word in zip("naruu", words, strict=True):
        page.keyboard.press(key)
        expect(badge).to_have_text(word, ignore_case=True)
    page.keyboard.press("?")
    keys_help = page.get_by_role("dialog")
    for words in ("y a Confirm: it is personal data or a secret", "n r Dismiss the value", "u Undo my last verdict"):
        expect(keys_help).to_contain_text(words)
    page.keyboard.press("Escape")
    page.goto(f"{address}/findings/?sort=-appeared")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/findings/*/?sort=-appeared")
    first = page.url
    for key, is_first in (("j", False), ("ArrowLeft", True), ("ArrowRight", False), ("k", True)):
        page.keyboard.press(key)
        page.wait_for_url(lambda url, is_first=is_first: (url == first) == is_first)


def test_a_value_is_with_who_has_it_open_until_they_leave(opened):
    page, address, _sample, other = opened
    bea = page.context.browser.new_context(reduced_motion="reduce").new_page()
    sign_in(bea, address, other)
    page.goto(f"{address}/findings/?kind=email")
    page.locator("[data-rows] tbody tr a.clamp").click()
    page.wait_for_function("() => held().length === 1")
    bea.goto(page.url)
    for _try in range(2):  # as it is opened, and after a verdict that was refused
        expect(bea.get_by_text("ann has this value open").first).to_be_visible()
        bea.keyboard.press("y")
    expect(bea.locator(".page-head .badge").first).to_have_text("Open")
    page.evaluate("() => renew()")
    expect(page.locator("#review-away")).to_be_hidden()
    value = page.url
    page.goto(f"{address}/findings/")  # which lets go of it
    wait_for(lambda: bea.goto(value) and bea.locator("[data-claim]").count())
    page.goto(value)
    expect(page.get_by_text("bea has this value open")).to_be_visible()
    bea.evaluate("() => call(claimed(), '/release')")
    page.goto(value)
    bea.evaluate("() => renew()")
    expect(bea.locator("#review-away")).to_contain_text("ann has this value open")
    page.keyboard.press("n")
    expect(page.locator(".page-head .badge").first).to_have_text("Dismissed", ignore_case=True)


@pytest.mark.parametrize("place", ["/samples/{}/", "/review/?sample={}"])
def test_a_selection_in_a_sample_becomes_a_finding(opened, place):
    page, address, sample, _other = opened
    page.goto(address + place.format(sample))
    question = page.locator("[data-part=question]")
    expect(question.locator("mark")).to_have_text(MAIL)
    expect(page.locator("#reply-shown strong mark")).to_have_text(MAIL)
    page.evaluate(SELECT, NAME)
    page.keyboard.press("f")
    expect(question.locator("mark")).to_have_text([MAIL, NAME])
    expect(page.get_by_text("Exports redact it wherever it stands")).to_be_visible()
