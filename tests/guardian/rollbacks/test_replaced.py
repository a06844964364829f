"""Something else in place of a file between preview and rollback is refused.

The refusal is logged; nothing is touched, and no link is followed.
"""

import json
import os
import re
import subprocess

import pytest
from django.urls import reverse

from guardian.models import FileSnapshot, Rollback, RollbackIntent, WriteGuardianAudit
from guardian.services import read_version_bytes
from people.models.bookkeeping import AuditEntry
from tests.guardian.write_rows import create_write

DB, API = "agent_ada", "/api/v1/agents/ada/guardian/writes/w1/rollback"
BEFORE, AFTER = b"# Facts\n", b"# Facts\nLikes tea.\n"
pytestmark = pytest.mark.django_db


def _link(file):
    file.rename(file.parent.parent / "elsewhere")
    file.symlink_to(file.parent.parent / "elsewhere")


def _dangling(file):
    file.unlink()
    file.symlink_to(file.parent.parent / "nowhere")


def _second_name(file):
    os.link(file, file.parent.parent / "elsewhere")


def _folder(file):
    file.unlink()
    file.mkdir()


def _pipe(file):
    file.unlink()
    os.mkfifo(file)


def _linked_workspace(file):
    file.parent.rename(file.parent.parent / "elsewhere")
    file.parent.symlink_to(file.parent.parent / "elsewhere", target_is_directory=True)


def _huge(file):
    with file.open("r+b") as opened:
        opened.truncate(6 * 1024 * 1024)


REPLACED = {
    _link: "the path is a link",
    _dangling: "the path is a link",
    _second_name: "it has a second name",
    _folder: "it is not a plain file",
    _pipe: "it is not a plain file",
    _huge: "it is larger than 5 MB",
}


def list_everything(root):
    """Return every name below a folder, with its metadata and its content."""
    entries = {}
    for path in sorted(root.rglob("*")):
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        metadata = path.lstat()
        entries[path] = (metadata.st_mode, metadata.st_ino, 0 if path.is_dir() else metadata.st_mtime_ns, data)
    return entries


def check_refusal(client, file):
    """Yield after a preview, then yield the answers to its rollback.

    They are those of the API and of the page, each for the rollback and for a new preview.
    """
    page = reverse("guardian:rollback", args=["ada", "w1"])
    seen = json.loads(client.get(API).content)["seen"]
    page_text = client.get(page).content.decode()
    assert seen in page_text
    yield
    sent = {"reason": "Wrong.", "seen": seen}
    before = list_everything(file.parent.parent)
    answers = [
        client.post(API, sent, "application/json"),
        client.post(reverse("guardian:rollback_do", args=["ada", "w1"]), sent),
        client.get(API),
        client.get(page),
    ]
    assert list_everything(file.parent.parent) == before
    assert WriteGuardianAudit.objects.using(DB).get(id="w1").status == "written"
    assert not Rollback.objects.using(DB).exists() and not RollbackIntent.objects.using(DB).exists()
    yield [(answer.status_code, answer.content.decode()) for answer in answers]


@pytest.mark.parametrize("replace", REPLACED)
def test_what_is_no_plain_file_is_refused_and_logged(as_operator, file, replace):
    create_write(DB, 1, BEFORE, AFTER)
    file.write_bytes(AFTER)
    steps = check_refusal(as_operator, file)
    next(steps)
    replace(file)
    for status, words in next(steps):
        assert status == 409 and REPLACED[replace] in words and "MEMORY.md" in words
    entries = AuditEntry.objects.filter(action="rollback_refused", actor="otto", agent_id="ada", object_id="w1")
    assert entries.count() == 2  # of the API and of the page: previews are not logged
    assert all(REPLACED[replace] in json.loads(entry.detail_json)["why"] for entry in entries)


def test_a_session_is_refused_and_logged_as_well(as_operator, file):
    create_write(DB, 1, BEFORE, AFTER)
    file.write_bytes(AFTER)
    address = "/api/v1/agents/ada/guardian/sessions/s1/rollback"
    hashes = as_operator.get(address).json()["hashes"]
    _link(file)
    answer = as_operator.post(address, {"reason": "Wrong.", "seen": hashes}, "application/json")
    assert answer.status_code == 409 and "is a link" in answer.json()["detail"]
    assert AuditEntry.objects.get(action="rollback_refused").object_type == "session"


def test_a_workspace_that_is_a_link_by_now_is_refused(as_operator, file):
    create_write(DB, 1, BEFORE, AFTER)
    file.write_bytes(AFTER)
    steps = check_refusal(as_operator, file)
    next(steps)
    _linked_workspace(file)
    for status, words in next(steps):
        assert status == 409 and re.search("workspace", words)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_may_not_be_written_is_refused_and_the_patch_is_offered(as_operator, file, kind):
    create_write(DB, 1, BEFORE, AFTER)
    file.write_bytes(AFTER)
    page = reverse("guardian:rollback", args=["ada", "w1"])
    sent = {"reason": "Wrong.", "seen": as_operator.get(API).json()["seen"]}
    with protected(file if kind == "file" else file.parent):
        before = list_everything(file.parent.parent)
        api_answer = as_operator.post(API, sent, "application/json")
        page_answer = as_operator.post(reverse("guardian:rollback_do", args=["ada", "w1"]), sent)
        assert list_everything(file.parent.parent) == before
        assert api_answer.status_code == 409 and re.search(
            "MEMORY.md (is|was) not written: ", api_answer.json()["detail"]
        )
        assert page_answer.status_code == 422 and "Download the patch" in page_answer.content.decode()
        assert as_operator.get(API).json()["patch"].endswith("-Likes tea.\n")
        assert as_operator.get(f"{page}?file=patch").content.endswith(b"-Likes tea.\n")
    assert not Rollback.objects.using(DB).exists()
    assert set(RollbackIntent.objects.using(DB).values_list("state", flat=True)) <= {"undone"}
    assert {read_version_bytes(version) for version in FileSnapshot.objects.using(DB)} == {BEFORE, AFTER}
    newest = FileSnapshot.objects.using(DB).order_by("-created_at", "-id").first()
    assert read_version_bytes(newest) == AFTER  # what was prepared and never written is no version of the file
    assert as_operator.post(API, sent, "application/json").status_code == 200 and file.read_bytes() == BEFORE


class protected:
    """Makes a file or folder unchangeable while the block runs.

    For root by an attribute, for everybody else by its mode.
    """

    def __init__(self, path):
        self.path, self.mode, self.is_root = path, path.stat().st_mode, not os.geteuid()

    def __enter__(self):
        if not self.is_root:
            self.path.chmod(0o500 if self.path.is_dir() else 0o400)
        elif subprocess.run(["chattr", "+i", self.path], capture_output=True, check=False).returncode:
            pytest.skip("root may write everywhere here: this file system has no immutable files")

    def __exit__(self, *_failure):
        if self.is_root:
            subprocess.run(["chattr", "-i", self.path], check=True)
        else:
            self.path.chmod(self.mode)


def test_a_file_that_is_read_only_is_refused_for_root_as_well(as_operator, file):
    create_write(DB, 1, BEFORE, AFTER)
    file.write_bytes(AFTER)
    file.chmod(0o444)
    preview, why = as_operator.get(API).json(), "MEMORY.md is not written: it is read-only."
    assert preview["problem"] == why and preview["patch"]
    page = as_operator.get("/agents/ada/writes/rollback/of/w1/").content.decode()
    assert why in page and "Download the patch" in page and "Roll back</button>" not in page
    sent = {"reason": "Wrong.", "seen": preview["seen"]}
    answer = as_operator.post(API, sent, "application/json")
    assert answer.status_code == 409 and answer.json()["detail"] == why
    assert file.read_bytes() == AFTER and [path.name for path in file.parent.iterdir()] == ["MEMORY.md"]
    file.chmod(0o644)
    assert as_operator.post(API, sent, "application/json").status_code == 200


def test_a_workspace_that_is_another_folder_by_now_is_refused(as_operator, file):
    """Both files hold the same: the preview was of the other one."""
    create_write(DB, 1, BEFORE, AFTER)
    file.write_bytes(AFTER)
    sent = {"reason": "Wrong.", "seen": as_operator.get(API).json()["seen"]}
    other = file.parent.parent / "elsewhere"
    other.mkdir()
    (other / "MEMORY.md").write_bytes(AFTER)
    named = {"agents": {"list": [{"id": "ada", "workspace": str(other)}]}}
    (file.parent.parent / "openclaw.json").write_text(json.dumps(named))
    answer = as_operator.post(API, sent, "application/json")
    assert answer.status_code == 409 and "since the preview" in answer.json()["detail"]
    assert (other / "MEMORY.md").read_bytes() == file.read_bytes() == AFTER
    assert as_operator.post(API, sent | {"seen": as_operator.get(API).json()["seen"]}, "application/json").status_code
    assert (other / "MEMORY.md").read_bytes() == BEFORE and file.read_bytes() == AFTER


@pytest.mark.parametrize("place", ["/etc", "/usr/share", "/", "{home}/state"])
def test_a_folder_of_the_system_or_of_this_site_is_no_workspace(as_operator, file, settings, place):
    create_write(DB, 1, BEFORE, AFTER)
    named = {"agents": {"list": [{"id": "ada", "workspace": place.format(home=settings.HOME_DIR)}]}}
    (file.parent.parent / "openclaw.json").write_text(json.dumps(named))
    answer = as_operator.get(API)
    assert answer.status_code == 409 and "never written" in answer.json()["detail"]
