"""Findings by keyboard alone: on the list, on a value's page, and in a sample.

The keys are y, n, u and f.
"""

import pytest
from playwright.sync_api import expect

from tests.datasets.browser_sessions import open_page
from tests.datasets.finding_values.finding_rows import KEY, MAIL

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
link = accounts.add_user("ann", "labeller")[1]
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
print(json.dumps([link, made[0]]).replace(" ", ""))
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
    """A signed-in page on a site with findings, its address, and the id of a sample."""
    with open_page(migrated, tmp_path, browser, PREPARE) as facts:
        yield facts


def test_rows_are_judged_by_keys(opened):
    page, address, _sample = opened
    page.goto(f"{address}/findings/?kind=email")
    expect(page.locator("tbody tr a.clamp")).to_contain_text(MAIL)
    state, undo = page.locator("tbody tr .badge").first, page.locator("#last-verdict [data-key=u]")
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
    expect(page.locator("tbody tr a.clamp")).to_contain_text("sk-a")
    assert "Zk3vQ9xTr7" not in page.content()


def test_the_page_of_a_value_has_the_same_keys(opened):
    page, address, _sample = opened
    page.goto(f"{address}/findings/?kind=email")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("mark").first).to_have_text(MAIL)
    badge = page.locator(".page-head .badge").first
    for key, word in (("n", "Dismissed"), ("y", "Confirmed"), ("u", "Dismissed"), ("u", "Open")):
        page.keyboard.press(key)
        expect(badge).to_have_text(word, ignore_case=True)


@pytest.mark.parametrize("place", ["/samples/{}/", "/review/?sample={}"])
def test_a_selection_in_a_sample_becomes_a_finding(opened, place):
    page, address, sample = opened
    page.goto(address + place.format(sample))
    question = page.locator("[data-part=question]")
    expect(question.locator("mark")).to_have_text(MAIL)
    expect(page.locator("#reply-shown strong mark")).to_have_text(MAIL)
    page.evaluate(SELECT, NAME)
    page.keyboard.press("f")
    expect(question.locator("mark")).to_have_text([MAIL, NAME])
    expect(page.get_by_text("Exports redact it wherever it stands")).to_be_visible()
