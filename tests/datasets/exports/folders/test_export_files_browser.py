"""The files of an export on its page, in a real browser.

Download as a ZIP, verification, and commands to copy.
"""

import re
import zipfile

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
for n in range(40):
    body = {"type": "annotated_turn", "userMessage": f"Question {n}", "agentReply": f"Answer {n}", "context": []}
    DatasetSample.objects.create(id=f"s{n:02}", sample_type="annotated_turn", agent_id="ada", session_id=f"s{n // 2}",
        turn_number=n, content=json.dumps(body), created_at=1000 - n, annotation_status="approved")
export, job = jobs.make_here("Bakery 面包", "sharegpt", "reply", by="ann", history="context")
print(json.dumps([accounts.add_user("ann", "labeller")[1], export.id]).replace(" ", ""))
"""


@pytest.fixture
def opened(tmp_path, browser, migrated):
    """A signed-in page, and the address of an export."""
    with browser_sessions.open_page(migrated, tmp_path, browser, PREPARE) as page:
        yield page


def test_the_buttons_of_an_export(opened, tmp_path):
    page, address, export = opened
    page.goto(f"{address}/exports/{export}/")

    with page.expect_download() as download:
        page.get_by_role("link", name="Download all (.zip)").click()
    assert download.value.suggested_filename == "ocl_Bakery-8c915f0a_sharegpt.zip"
    download.value.save_as(tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert archive.testzip() is None and len(archive.namelist()) == 6

    expect(page.locator("main")).to_contain_text("Not verified since the export")
    page.get_by_role("button", name="Verify files").click()
    expect(page.locator("main")).to_contain_text("6 files compared, all intact.")
    expect(page.locator(".badge", has_text="Intact")).to_have_count(6)
    assert not Axe().run(page).response["violations"]

    [rows] = (tmp_path / "store" / "exports").glob("*/*.train.jsonl")
    rows.write_bytes(rows.read_bytes()[:-2])
    page.get_by_role("button", name="Verify files").click()
    expect(page.locator("main")).to_contain_text(f"1 file is not what was written: {rows.name}.")
    expect(page.get_by_role("row", name=re.compile(rows.name))).to_contain_text("Not as written")

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".command", has_text="load_dataset").get_by_role("button").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "datasets.load_dataset(os.getcwd())"
