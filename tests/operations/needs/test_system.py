"""The first page of System: what needs doing, and where it is done; the tabs of System."""

import re

import pytest
from django.test import Client

from jobs import kinds
from openclaw_web import clock
from tests.factories import BackupRunFactory, JobFactory, UserFactory
from tests.people.settings_page import save

PAGE = "/operations/"
TABS = re.compile(r'<nav class="agent-nav".*?</nav>', re.DOTALL)
LINK = re.compile(r'<a href="([^"]*)"( aria-current="\w+")?>([^<]*)</a>')
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_home(settings, tmp_path):
    settings.HOME_DIR = tmp_path


def browser_of(role):
    client = Client()
    client.force_login(UserFactory(username=role, role=role), backend="django.contrib.auth.backends.ModelBackend")
    return client


def tabs(client, address):
    """(words of the tabs, of those that are marked as open) of a page."""
    found = LINK.findall(TABS.search(client.get(address).text).group())
    return [words for _href, _here, words in found], [words for _href, here, words in found if here]


def test_it_works(as_admin):
    job = JobFactory(kind="backup", state="failed", message="The disk is gone.", started_by=kinds.BY_ITSELF)
    save(as_admin, "schedule.backupHours", "24")
    text = as_admin.get(PAGE).text
    assert "The disk is gone." in text and job.get_absolute_url() in text
    assert "No backup has been test-restored yet" in text and 'href="/operations/backups/"' in text


def test_empty(as_admin):
    BackupRunFactory(proven_at=clock.now_ms())
    assert "No problems" in as_admin.get(PAGE).text


def test_the_tabs_are_those_a_role_may_open():
    everything = ["Status", "Data", "Safety", "People", "Settings"]
    admin = browser_of("admin")
    assert tabs(admin, PAGE) == (everything, ["Status"])
    users = ["Users", "Invitations", "API tokens", "Audit log"]
    assert tabs(admin, "/operations/users/") == ([*everything, *users], ["People", "Users"])
    # A group of which a person may open one page is that page.
    operator = ["Status", "Data", "Backups", "API tokens", "API"]
    assert tabs(browser_of("operator"), "/operations/backups/") == (operator, ["Backups"])
    data = ["Data", "API tokens", "API", "Jobs", "Rejected records", "Skipped sources", "Memory in prompts"]
    assert tabs(browser_of("viewer"), "/operations/rejected/") == (data, ["Data", "Rejected records"])


def test_a_page_below_another_is_in_its_tab():
    job = JobFactory()
    assert tabs(browser_of("admin"), job.get_absolute_url())[1] == ["Data", "Jobs"]


def test_pages_of_other_places_have_none(as_admin, ada):
    for address in ("/", "/samples/", "/agents/ada/lint/", "/account/"):
        assert "System pages" not in as_admin.get(address).text


@pytest.mark.parametrize(("role", "first"), [("viewer", "/operations/jobs/"), ("operator", PAGE)])
def test_the_entry_of_the_rail_leads_to_what_a_person_may_open(role, first):
    text = browser_of(role).get("/").text
    assert f'<a href="{first}" title="System">' in text
