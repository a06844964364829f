"""Commands add the option that helps to sentences that pages show as well."""

import os

import pytest

from tests.homes import Home, assistant, user
from tests.operations.backups.backup_homes import run
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import doctor, fill

pytestmark = pytest.mark.kill
home, source = doctor_homes.home, doctor_homes.source


def test_another_folder(home):
    absent = f"There is no OpenClaw folder at {home}-source. Choose another location. Use --source DIR."
    assert run(home, "collect")[2].splitlines()[-1] == absent
    assert run(home, "collect", "--watch")[2].splitlines()[-1] == absent
    assert absent in run(home, "doctor")[1]
    other = run(home, "doctor", "--source", "/not/there", "--quiet")[2]
    assert other == "There is no OpenClaw folder at /not/there. Choose another location. Use --source DIR.\n"


def test_another_name(home, source, tmp_path):
    fill(source)
    assert run(home, "collect")[0] == 0
    other = Home(tmp_path / "other")
    other.transcript(user("Hello"), assistant("Hello"))
    for words in (("collect", "--quiet"), ("doctor", "--fix", "--quiet")):
        _status, _out, err = run(home, *words, "--source", str(other.root))
        assert err.endswith("import these agents under another name. Use --as NAME.\n"), words
        _status, _out, err = run(home, *words, "--source", str(other.root), "--as", "main")
        assert err.endswith("import these agents under another name.\n"), words
    assert run(home, "collect", "--source", str(other.root), "--as", "lab")[0] == 0


def test_excluded_sessions_can_be_allowed(home, source):
    fill(source)
    fixed = doctor(home, "--fix", status=0)[0]
    assert "--unignore" not in run(home, "doctor")[1]
    doctor(home, "--undo", fixed["run"]["id"], status=0)
    lines = run(home, "doctor")[1].splitlines()
    place = lines.index("  Use --unignore AGENT/SESSION to allow excluded sessions again.")
    assert lines[place + 1 :] == [doctor(home)[0]["message"]]
    assert any("excluded: 3 sessions" in line for line in lines[:place])


def test_force(home, source):
    fill(source)
    lock = source.root / "agents" / "main" / "sessions" / "x.jsonl.lock"
    lock.write_text(f'{{"pid": {os.getpid()}}}')
    refused = doctor(home, "--fix", "--sources", "archive", status=2)[0]["error"]
    assert refused.endswith("Nothing was changed. Use --force to continue anyway.")
    fixed = doctor(home, "--fix", "--sources", "archive", "--force", status=0)[0]["run"]
    assert fixed["removed"]
    refused = doctor(home, "--undo", fixed["id"], status=2)[0]["error"]
    assert refused.endswith("Force the undo to remove the sessions anyway. Use --force.")
    doctor(home, "--undo", fixed["id"], "--force", status=0)
