"""From an OpenClaw home to training files, in a real browser on a real `serve`."""

import json
import os
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.complaints import listen
from tests.homes import Home as OpenClawHome
from tests.homes import assistant, result, user
from tests.processes import Home

pytestmark = [pytest.mark.browser, pytest.mark.kill]

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"


@pytest.fixture
def openclaw(tmp_path):
    """Two sessions: one with tool calls, an error and hostile output, one in Chinese."""
    home = OpenClawHome(tmp_path / "openclaw")
    script = home.transcript(user("Why did the import fail?"))
    script.add(assistant("Let me look.", ("c1", "exec", {"command": "tail import.log"})))
    script.add(result("c1", HOSTILE, details={"exitCode": 3}), assistant("The last line was cut off."))
    script.add(user("Fix it 请修复"), assistant("Fixed. 已修复 ✅"))
    other = home.transcript(user("早上好"), assistant("早上好！今天有三件事。"))
    home.index({"agent:main:telegram:direct:42": {"sessionId": other.session}})
    home.transcript().raw("not a record\n")
    return home


@pytest.fixture
def site(tmp_path, openclaw):
    """A running `serve` without users, as the link for its first admin."""
    home = Home(tmp_path / "store")
    home.env["OPENCLAW_STATE_DIR"] = str(openclaw.root)
    server = home.serve("--no-watch")
    server.address()
    link = server.invitation()
    yield link
    home.close()


def test_collect_look_approve_export_download_and_load(site, page, tmp_path):
    complaints = []
    listen(page, complaints)

    page.goto(site)
    page.get_by_label("User name").fill("ada")
    for field in page.locator("input[type=password]").all():
        field.fill("a long enough pass phrase")
    page.get_by_role("button", name="Create account").click()

    page.get_by_role("button", name="Import now").first.click()
    expect(page.locator("main")).to_contain_text("Finished")
    page.get_by_role("link", name="Imports").first.click()
    page.get_by_role("link", name="Rejected records").first.click()
    page.locator("main").get_by_role("link", name="main").click()
    expect(page.locator("main")).to_contain_text("not a record")

    page.goto(page.url.split("/operations/")[0] + "/agents/main/sessions/")
    page.get_by_role("link", name="Why did the import fail?").click()
    expect(page.locator("main")).to_contain_text("The last line was cut off.")
    page.locator("details.call").first.locator("summary").click()
    expect(page.locator("main")).to_contain_text("<script>document.title")
    expect(page).not_to_have_title("owned")

    page.get_by_label("all 2 turns").check()
    page.get_by_role("button", name="Create samples from selected turns").click()
    expect(page.locator("body")).to_contain_text("2 samples")
    page.locator("main tbody a").first.click()
    approve_both(page)
    origin = page.url.split("/samples/")[0]
    for kind in ("alpaca", "sharegpt"):
        export(page, origin, kind, tmp_path)
    assert complaints == []
    check(tmp_path)


def approve_both(page):
    """Approve one sample unchanged and one with a better reply."""
    for _sample in range(2):
        reply = page.get_by_label("Reply (used for training)")
        if reply.input_value().startswith("Fixed."):
            page.locator(".reply__box > summary").click()
            reply.fill("Fixed, and I added a test. 已修复 ✅")
        before = page.url
        page.get_by_role("button", name="Approve").click()
        expect(page).not_to_have_url(before)


def export(page, origin, kind, folder):
    page.goto(f"{origin}/exports/")
    page.get_by_label("Name").fill(f"first {kind}")
    page.locator("#new summary").click()
    page.locator("#new").get_by_label("Format optional", exact=True).select_option(kind)
    if kind == "alpaca":
        page.get_by_label("Tool calls optional", exact=True).select_option("input")
    page.get_by_role("button", name="Create export").click()
    expect(page.locator("main")).to_contain_text("Finished")
    for name in (rf"ocl_first-{kind}_{kind}\.(train|test)\.jsonl", r"dataset_info\.json"):
        with page.expect_download() as download:
            page.get_by_role("link", name=re.compile(name)).first.click()
        suggested = download.value.suggested_filename
        download.value.save_as(folder / kind / re.sub(r"ocl_first-|_\w+\.(train|test)(?=\.)", "", suggested))


LOAD = """
import json, sys
from datasets import load_dataset
files = json.loads(sys.argv[1])
print(json.dumps({name: list(load_dataset("json", data_files=file, split="train")) for name, file in files.items()}))
"""


def check(folder):
    """Check the downloaded files as a trainer reads them."""
    files = json.dumps({kind: str(folder / kind / f"{kind}.jsonl") for kind in ("alpaca", "sharegpt")})
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "PYTHONWARNINGS": "ignore"}
    # -P and another folder: `datasets` is the library there, not the app.
    answer = subprocess.run(
        [sys.executable, "-P", "-c", LOAD, files], cwd=folder, env=environment, capture_output=True, check=True
    )
    rows = json.loads(answer.stdout)
    assert {row["instruction"]: row["output"] for row in rows["alpaca"]} == {
        "Why did the import fail?": "The last line was cut off.",
        "Fix it 请修复": "Fixed, and I added a test. 已修复 ✅",
    }
    inputs = {row["instruction"]: row["input"] for row in rows["alpaca"]}
    assert HOSTILE in inputs["Why did the import fail?"] and not inputs["Fix it 请修复"]
    talks = [[turn["from"] for turn in row["conversations"]] for row in rows["sharegpt"]]
    first = ["human", "function_call", "observation", "gpt"]
    assert sorted(talks, key=len) == [first, [*first, "human", "gpt"]]
    info = json.loads((folder / "sharegpt" / "dataset_info.json").read_text())
    assert all(entry["formatting"] == "sharegpt" for entry in info.values())
