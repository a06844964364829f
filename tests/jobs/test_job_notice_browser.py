"""Pages opened in a real browser during a job show its outcome."""

import os
import re
import shutil
import signal
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.homes import Home, user
from tests.ledger.browser_site import Site
from tests.processes import descendants, wait_for

pytestmark = pytest.mark.browser


@pytest.fixture
def site(tmp_path, page, migrated):
    openclaw = Home(tmp_path / "openclaw")
    openclaw.transcript(user("Please check the nightly import."))
    site = Site(tmp_path, openclaw, page, migrated)
    yield site
    site.home.close()


@contextmanager
def stop_worker(site):
    """Stop the worker, so that no job is taken meanwhile."""
    worker = next(pid for pid, name in descendants(site.server.pid) if name == "jobs")
    os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(worker, signal.SIGCONT)


def start_import(site):
    site.page.goto(f"{site.origin}/operations/jobs/")
    site.page.get_by_role("button", name="Import now").click()
    expect(site.page.get_by_role("heading", level=1, name="Import")).to_be_visible()


def notice(page):
    return page.locator("#messages .notice")


def test_a_notice_becomes_the_outcome_without_a_reload(site):
    page = site.page
    with stop_worker(site):
        start_import(site)
        expect(notice(page)).to_have_count(0)
        page.goto(f"{site.origin}/samples/")
        expect(notice(page)).to_contain_text(re.compile(r"Import\s+Queued"))
        page.evaluate("document.querySelector('#messages .notice a').focus()")
        with page.expect_response(lambda answer: "/notice/" in answer.url) as polled:
            pass
        assert polled.value.status == 204
        assert page.evaluate("document.activeElement.textContent") == "View job", "an answer that changes nothing"
    expect(notice(page)).to_contain_text(re.compile(r"Import\s+Finished"), timeout=20_000)
    assert "notice--ok" in notice(page).get_attribute("class")
    requests = []
    page.on("request", lambda request: requests.append(request.url) if "/notice/" in request.url else None)
    page.wait_for_timeout(4_500)
    assert requests == [], "nobody asks about what is over"
    page.goto(f"{site.origin}/exports/")
    expect(notice(page)).to_have_count(0)
    site.check()


def test_a_refusal_stands_alone(site, tmp_path):
    page = site.page
    shutil.rmtree(tmp_path / "openclaw")
    with stop_worker(site):
        start_import(site)
        page.goto(f"{site.origin}/samples/")
        expect(notice(page)).to_contain_text(re.compile(r"Import\s+Queued"))
    expect(notice(page)).to_contain_text(re.compile(r"Import\s+Refused\s+There is no"), timeout=20_000)
    expect(notice(page)).to_have_count(1)
    assert "notice--bad" in notice(page).get_attribute("class")
    notice(page).get_by_role("link", name="View job").click()
    expect(page.get_by_role("heading", level=1, name="Import")).to_be_visible()
    expect(page.locator("#messages .notice")).to_have_count(0)
    assert "started" not in page.locator("#messages").inner_text()
    site.check()


def test_without_javascript_a_reload_says_it(site, browser):
    page = site.page
    context = browser.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
    plain = context.new_page()
    with stop_worker(site):
        plain.goto(f"{site.origin}/operations/jobs/")
        plain.get_by_role("button", name="Import now").click()
        plain.goto(f"{site.origin}/samples/")
        expect(notice(plain)).to_contain_text(re.compile(r"Import\s+Queued"))

    def is_over():
        plain.reload()
        return "Finished" in plain.locator("#messages").inner_text()

    wait_for(is_over)
    expect(notice(plain)).to_have_count(1)
    plain.reload()
    expect(notice(plain)).to_have_count(0)
    context.close()
