"""Files with odd bytes, byte for byte: import, report, pages, rollback, redo, export."""

import json
import os
import stat
from base64 import b64decode, b64encode

import pytest
from django.core.management import call_command
from django.urls import reverse

from guardian.models import FileSnapshot, WriteGuardianAudit
from guardian.rollbacks import apply
from tests.collecting import collect_runs
from tests.homes import assistant, user

DB, NAME, API = "agent_main", "MEMORY.md", "/api/v1/agents/main/guardian"
T0 = 1_770_000_000_000
pytestmark = pytest.mark.django_db
WINDOWS = b"# Facts\r\n\r\nLikes tea.\r\n"
SIDES = {
    "crlf": (WINDOWS, WINDOWS + b"Likes coffee.\r\n"),
    "mixed ends": (b"a\r\nb\nc\rd\n", b"a\nb\r\nc\rd\r\n"),
    "no final newline": (b"a\nb", b"a\nb\nc"),
    "a mark at the start": (b"\xef\xbb\xbf# Facts\n", b"\xef\xbb\xbf# Facts\n- tea\n"),
    "a mark that comes and goes": (b"\xef\xbb\xbfa\n", b"a\n"),
    "not utf-8": (b"caf\xe9\n\xff\xfe\n", b"caf\xe9\n\xff\xfe\n\x80more\n"),
    "nul": (b"a\x00b\n", b"a\x00b\n\x00\n"),
    "utf-16": ("é\n".encode("utf-16"), "é\nü\n".encode("utf-16")),
    "surrogates": (b"\xed\xa0\x80\n", b"\xed\xa0\x80\n\xed\xb0\x80\n"),
    "strange ends of lines": ("a\u2028b\x0bc\x85\n".encode(), "a\u2028b\x0bc\x85\n\u2029\x1c\n".encode()),
    "new": (None, b"\xff new \x00"),
    "empty": (b"", b"\r\n"),
    "emptied": (b"\r", b""),
}


@pytest.fixture
def file(home, settings, monkeypatch):
    """The MEMORY.md of an imported agent; rollbacks do not wait for late writers."""
    home.transcript(user("Hello"), assistant("Hello"))
    (home.root / "workspace").mkdir()
    settings.WORKSPACE_WRITES = True
    monkeypatch.setattr(apply, "LOOKS", (0.0,))
    collect_runs.run(home)
    return home.root / "workspace" / NAME


def put(file, data, second):
    """Write what an agent leaves in the file, with a modification time of its own.

    An old file keeps its mode, owner and attributes.
    """
    if data is None:
        return
    file.write_bytes(data)
    os.utime(file, ns=(0, (T0 + second * 1000) * 1_000_000))


def report_write(client, before, after):
    report = {"id": "w1", "session_id": "s", "target_file": NAME, "candidate_fact": "Tea.", "status": "written"}
    report["created_at"] = T0 + 100_000
    for side, data in (("before", before), ("after", after)):
        report |= {side: None} if data is None else {f"{side}_base64": b64encode(data).decode()}
        if data is not None and b"\x00" not in data and data.decode(errors="ignore").encode() == data:
            report = {name: value for name, value in report.items() if name != f"{side}_base64"} | {side: data.decode()}
    answer = client.post(f"{API}/writes", {"writes": [report]}, "application/json")
    assert answer.status_code == 201, answer.content


def change_file(home, client, file, before, after, *, is_told):
    """Let an agent change the file between two imports; return the id of the write.

    With `is_told`, a plugin reports the write as well.
    """
    put(file, before, 0)
    collect_runs.run(home)
    if before is not None:
        mark(file)
    if is_told:
        report_write(client, before, after)
    put(file, after, 100)
    collect_runs.run(home)
    return WriteGuardianAudit.objects.using(DB).get().id


def mark(file):
    file.chmod(0o640)
    os.setxattr(file, "user.tag", b"mine\x00")
    if not os.geteuid():
        os.chown(file, 12345, 23456)


def marks(file):
    file_status = file.stat()
    return stat.S_IMODE(file_status.st_mode), file_status.st_uid, file_status.st_gid, os.getxattr(file, "user.tag")


def holds(file):
    return file.read_bytes() if file.exists() else None


def check_shown(client, audit_id, before, after):
    """Check that every page and the API answer, and give back each byte."""
    detail = reverse("guardian:audit_detail", args=["main", audit_id])
    for address in (
        detail,
        f"{detail}?view=unified",
        reverse("guardian:rollback", args=["main", audit_id]),
        *(reverse("guardian:file_detail", args=["main", NAME]) + query for query in ("", "?exact=on", "?show=all")),
        *(f"{API}/{path}" for path in (f"writes/{audit_id}", f"files/{NAME}/history", f"files/{NAME}/blame")),
    ):
        assert client.get(address).status_code == 200, address
    write_fields = client.get(f"{API}/writes/{audit_id}").json()
    for side, data in (("before", before), ("after", after)):
        if data is None:
            assert write_fields[side] is None
            continue
        assert client.get(f"{detail}?download={side}").content == data
        version = client.get("/api/v1/agents/main/files/version", {"id": write_fields[side]["id"]}).json()
        encoded = version["content_base64"]
        assert (b64decode(encoded) if encoded else version["content"].encode()) == data


def check_exported(capsys, audit_id, before, after):
    call_command("reflection", "guardian", "export", "--agent", "main", "--include-content")
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    for side, data in (("before", before), ("after", after)):
        text, raw = rows[audit_id][f"{side}_content"], rows[audit_id][f"{side}_base64"]
        assert (b64decode(raw) if raw else text if text is None else text.encode()) == data


def roll_back(client, audit_id):
    """Roll a write back; return the id of the rollback's own write."""
    address = f"{API}/writes/{audit_id}/rollback"
    sent = {"reason": "Wrong.", "seen": client.get(address).json()["seen"]}
    answer = client.post(address, sent, "application/json")
    assert answer.status_code == 200, answer.content
    return WriteGuardianAudit.objects.using(DB).filter(origin="rollback").latest("created_at", "id").id


@pytest.mark.parametrize(
    ("kind", "is_told"),
    [
        pytest.param(
            kind,
            is_told,
            id=f"{kind}-{'told' if is_told else 'unattributed'}",
            marks=() if is_told == number % 2 else pytest.mark.nightly,  # each in one of the two ways
        )
        for number, kind in enumerate(SIDES)
        for is_told in (True, False)
    ],
)
def test_every_byte_comes_back(as_operator, home, file, capsys, kind, is_told):
    before, after = SIDES[kind]
    if before is None and not is_told:
        before = b"what an import saw first"  # a first version is no write
    audit_id = change_file(home, as_operator, file, before, after, is_told=is_told)
    assert WriteGuardianAudit.objects.using(DB).get().origin == ("recorded" if is_told else "unattributed")
    check_shown(as_operator, audit_id, before, after)
    check_exported(capsys, audit_id, before, after)
    was = marks(file) if before is not None else None
    own = roll_back(as_operator, audit_id)
    assert holds(file) == before and (was is None or marks(file) == was)
    collect_runs.run(home)
    check_shown(as_operator, own, after, before)
    again = roll_back(as_operator, own)
    assert holds(file) == after and (was is None or marks(file) == was)
    collect_runs.run(home)
    check_shown(as_operator, again, before, after)
    assert not WriteGuardianAudit.objects.using(DB).filter(origin="unattributed").exclude(id=audit_id).exists()
    assert [path.name for path in file.parent.iterdir()] == [NAME]


@pytest.mark.kill  # takes as long as the tests of kills
def test_five_megabytes(as_operator, home, file, tmp_path, capsys):
    lines = b"".join(b"%09d a line of it\n" % number for number in range(250_000))[:5_000_000]
    before, after = lines, lines[:2_000_000] + b"\xff\x00\r\n" + lines[2_000_004:]
    assert len(before) == len(after) == apply.workspace.MOST_BYTES
    audit_id = change_file(home, as_operator, file, before, after, is_told=False)
    check_shown(as_operator, audit_id, before, after)
    check_exported(capsys, audit_id, before, after)
    own = roll_back(as_operator, audit_id)
    assert holds(file) == before
    roll_back(as_operator, own)
    assert holds(file) == after
    assert {row.size_bytes for row in FileSnapshot.objects.using(DB)} == {len(before)}
