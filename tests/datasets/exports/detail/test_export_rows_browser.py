"""The count below the form and the rows of an export, in a real browser.

On a real `serve`: by keyboard, and on a phone.
"""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.datasets import browser_sessions

pytestmark = [pytest.mark.browser, pytest.mark.kill]
PREPARE = """
import json
from agents import services
from datasets.exports import jobs
from datasets.models import DatasetSample
from people.accounts import services as accounts
services.register("ada")
evil = "<img src=x onerror=alert(1)><script>document.title='owned'</script>"
for n in range(40):
    body = {"type": "annotated_turn", "userMessage": f"Question {n} {evil}", "agentReply": f"Answer {n} " * (n * n + 1),
            "context": []}
    DatasetSample.objects.create(id=f"s{n:02}", sample_type="annotated_turn", agent_id="ada", session_id=f"s{n:02}",
        turn_number=1, prompted_by="", reply_stop="stop", content=json.dumps(body), created_at=1000 - n,
        annotation_status="pending" if n % 10 == 9 else "approved")
made = {"format": "sharegpt", "task": "reply", "by": "ann", "history": "context", "train_split": 1.0}
first, _job = jobs.make_here("first", **made)
DatasetSample.objects.filter(id="s03").update(output="Better words.")
second, _job = jobs.make_here("second", **made | {"seed": "1"})
print(json.dumps([accounts.add_user("ann", "labeller")[1], second.get_absolute_url()]).replace(" ", ""))
"""


@pytest.fixture
def opened(tmp_path, browser, migrated):
    """A signed-in page, and the address of an export of 36 rows."""
    with browser_sessions.open_page(migrated, tmp_path, browser, PREPARE) as page:
        yield page


def press(page, key):
    """Press the key of a link, once a script has taken over the link."""
    page.wait_for_function(f"'htmx-internal-data' in document.querySelector('[data-key={key}]')")
    page.keyboard.press(key)


def test_rows_by_keyboard(opened):
    page, address, export = opened
    page.goto(address + export)
    page.keyboard.press("j")
    page.goto(f"{address}{export}?row=1#rows")
    title = page.locator("#rows-title")
    expect(title).to_have_text("Row 1 of 36")
    for number in (2, 3, 4):
        press(page, "j")
        expect(title).to_have_text(f"Row {number} of 36")
        expect(page).to_have_url(re.compile(rf"\\?row={number}$"))
    expect(page.locator("#rows .record--agent .text")).to_contain_text("Better words.")
    press(page, "k")
    expect(title).to_have_text("Row 3 of 36")
    assert page.evaluate("document.activeElement.id") == "rows-title"
    page.keyboard.press("r")
    expect(page.locator("#raw pre")).to_be_visible()
    expect(page.locator("#raw pre")).to_contain_text('"conversations"')
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("Next and previous row of the file")
    page.keyboard.press("Escape")
    page.go_back()
    expect(title).to_have_text("Row 4 of 36")
    assert page.title() != "owned"
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert not Axe().run(page).response["violations"]


def test_the_count_follows_the_form(opened):
    page, address, _export = opened
    page.emulate_media(reduced_motion="reduce")  # a pressed button fades
    page.goto(f"{address}/exports/#new")
    count = page.locator("#export-fits")
    count.scroll_into_view_if_needed()
    expect(count).to_contain_text("36 samples fit these options")
    page.locator("#new_only_approved").uncheck()
    expect(count).to_contain_text("40 samples fit these options")
    page.locator("#new summary").click()
    page.locator("#new_format").select_option("sharegpt")
    expect(count).to_contain_text("One row per session")
    page.locator("#export-count").press("Enter")
    expect(count).to_contain_text("40 samples fit these options")
    expect(page).to_have_url(f"{address}/exports/#new")
    assert not Axe().run(page).response["violations"]
