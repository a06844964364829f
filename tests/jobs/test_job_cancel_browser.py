"""A running job is cancelled on its page in a real browser.

The page polls the progress every second meanwhile.
"""

import pytest
from playwright.sync_api import expect

from tests.homes import Home
from tests.ledger.browser_site import Site
from tests.processes import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.kill]


def test_the_button_ends_a_job_and_goes_with_it(tmp_path, page, migrated):
    gate = tmp_path / "gate"
    gate.write_text("20")
    site = Site(tmp_path, Home(tmp_path / "openclaw"), page, migrated)
    try:
        job = site.home.start_job("lines", file=str(tmp_path / "out"), count=1_000, gate=str(gate))
        wait_for(lambda: site.home.job(job)["done"] == 20)
        page.goto(f"{site.origin}/operations/jobs/{job}/")
        expect(page.get_by_text("If the job is canceled: Its lines are kept.")).to_be_visible()
        page.get_by_role("button", name="Cancel job").click()
        expect(page.get_by_text("Canceled by ada. The job ends at its next step.")).to_be_visible()
        gate.write_text("21")  # the job checked for a cancellation before it wrote that line
        wait_for(lambda: site.home.job(job)["done"] == 21 or site.home.job(job)["state"] == "cancelled")
        gate.write_text("1000")
        expect(page.get_by_text("Canceled by ada. Its lines are kept.")).to_be_visible()
        expect(page.get_by_text("The job ends at its next step")).to_have_count(0)
        assert site.home.job(job)["state"] == "cancelled"
        site.check()
    finally:
        site.home.close()
