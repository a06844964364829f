"""The folder that an admin types: what is refused, what was found, and its import."""

import os

import pytest

from agents.models import Agent
from jobs.models import JobRun
from people.models import AuditEntry
from tests.collecting.collect_runs import run
from tests.homes import Home
from tests.ledger.transcript_records import assistant, user

pytestmark = pytest.mark.django_db
PAGE = "/operations/folder/"


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "openclaw", ("main",))
    script = home.transcript()
    script.add(user("hello"))
    script.add(assistant("hi"))
    return home


def test_it_works(as_admin, home):
    page = as_admin.get(PAGE, {"folder": str(home.root)})
    assert "1 agent in" in page.text and "main" in page.text and "Not found" in page.text
    assert not Agent.objects.exists() and not JobRun.objects.exists()  # nothing is imported before that was seen
    answer = as_admin.post(f"{PAGE}import/", {"folder": str(home.root)})
    job = JobRun.objects.get()
    assert answer.status_code == 302 and job.kind == "collect"
    assert (job.params["source"], job.started_by) == (str(home.root), "root")
    assert AuditEntry.objects.filter(action="collect_started", actor="root").exists()


@pytest.mark.usefixtures("real_files")
def test_a_name_that_another_folder_has_is_refused_before_the_import(as_admin, home, tmp_path):
    run(home)
    other = Home(tmp_path / "other", ("main", "lab"))
    folder = {"folder": str(other.root)}
    page = as_admin.get(PAGE, folder)
    assert page.status_code == 409 and f"was imported from {home.root}" in page.text
    page = as_admin.get(PAGE, folder | {"name": "office"}).text
    assert '<th scope="row">office<' in page and '<th scope="row">office-lab<' in page
    as_admin.post(f"{PAGE}import/", folder | {"name": "office"})
    assert JobRun.objects.get().params["as"] == "office"


def test_the_field_begins_with_the_configured_folder(as_admin, settings):
    assert f'value="{settings.STATE_DIR}"' in as_admin.get(PAGE).text


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere", "There is no folder"),
        ("empty", "There are no OpenClaw agents in"),
        ("link", "is a link or no folder"),
        ("link/agents", "is a link or no folder"),
        ("file", "is a link or no folder"),
        ("openclaw/../openclaw", "Write the whole path of the folder"),
        ("\u202eodd<b>", "There is no folder"),
        ("x" * 300, "There is no folder"),
    ],
)
def test_what_is_no_real_folder_of_openclaw_is_refused(as_admin, tmp_path, home, name, sentence):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(home.root)
    folder = f"{tmp_path}/{name}"
    page = as_admin.get(PAGE, {"folder": folder})
    assert page.status_code == 409 and sentence in page.text and "Import this folder" not in page.text
    assert "<b>" not in page.text.partition('id="main"')[2]
    as_admin.post(f"{PAGE}import/", {"folder": folder})
    assert not JobRun.objects.exists()


@pytest.mark.parametrize("folder", ["relative", "", "/a\0b", "x" * 2_000])
def test_what_is_no_path_is_refused(as_admin, folder):
    assert as_admin.get(PAGE, {"folder": folder}).status_code in (200, 409)
    as_admin.post(f"{PAGE}import/", {"folder": folder})
    assert not JobRun.objects.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read_is_refused(as_admin, home):
    home.root.chmod(0)
    try:
        assert as_admin.get(PAGE, {"folder": str(home.root)}).status_code == 409
    finally:
        home.root.chmod(0o700)


def test_operators_may_not_choose_folders(as_operator, home):
    assert as_operator.get(PAGE).status_code == 403
    assert as_operator.post(f"{PAGE}import/", {"folder": str(home.root)}).status_code == 403
