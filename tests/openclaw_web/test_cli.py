"""`openclaw-web` in a terminal: help, receipts, exit statuses, completion, progress."""

import os
import platform
import pty
import re
import select
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest
from django.core.management import get_commands, load_command_class

from jobs.progress import Terminal
from openclaw_web import VERSION
from openclaw_web.commands import cli
from openclaw_web.commands.verbs import STATUSES, Verb
from tests.homes import Home as OpenClawHome
from tests.homes import user
from tests.jobs import fork_server
from tests.suite.nightly import first

ROOT = Path(__file__).resolve().parents[2]
HELP = {verb: sentence for verbs in cli.VERBS.values() for verb, sentence in verbs.items()}
DOCUMENTED = (ROOT / "docs" / "commands.md").read_text()
# Fields of every receipt besides `ok` and `schema`.
RECEIPTS = {
    "archive": {
        "verb", "message", "dry_run", "before", "out", "sessions", "records", "turns", "kept", "bytes", "agents",
        "failed", "failed_count", "restored", "there", "older", "sound", "rows",
    },
    "backup": {"verb", "message", "backup", "backups", "damaged", "missing", "removed", "home", "kept"},
    "collect": {
        "message", "source", "bytes_read", "records", "rejected", "agents", "schedules", "artifacts", "episodes",
        "notes", "lost", "again", "still_held", "gate", "guardian", "databases", "unread",
    },
    "checkpoint": {"checkpoints"},
    "create_token": {"user", "name", "role", "expires_at", "id", "prefix", "token"},
    "create_user": {"name", "role", "link"},
    "demo": {"link", "home", "source", "serves"},
    "doctor": {
        "verb", "message", "run", "source", "agents", "sources", "source_count", "to_read", "rejected",
        "rejected_count", "skipped", "skipped_count", "ignored", "ignored_count", "store", "findings", "files",
        "compared", "losses", "loss_count", "lost_records", "rows", "row_count",
    },
    "export": {"id", "name", "state", "folder", "manifest", "dry_run", "fits", "difference", "written"},
    "jobs": {"jobs"},
    "migrate_agents": {"schema_version", "migrated"},
    "reflection": {
        "decisions", "decision", "by", "rows", "file", "format", "count", "recorded", "known", "withheld", "plan",
        "run", "replay", "samples", "sample", "written", "first_day", "last_day", "created", "verdicts", "days",
        "types", "statuses", "quality", "labellers", "findings", "finding", "unscanned", "scan", "release",
        "verification", "difference",
    },
    "retention": {
        "message", "days", "out", "dry_run", "before", "sessions", "records", "turns", "kept", "bytes", "failed",
        "failed_count", "agents",
    },
    "search": {
        "items", "next", "is_partial", "behind", "indexes", "message", "texts", "rebuilt", "faults",
    },
    "service": {
        "verb", "path", "is_installed", "is_changed", "active", "enabled", "difference", "address", "left", "unit",
    },
    "settings": {"settings", "dry_run", "ignored", "ignored_count"},
    "sign_in_link": {"name", "link"},
    "stage": {"to", "source", "generation", "is_new", "files", "bytes", "changed", "removed", "withheld"},
    "trace": {
        "request", "sessions", "messages", "sub_agents", "files", "more_files", "left_out", "withheld", "redaction",
        "written",
    },
    "turn_context": {"turn_id", "session_id", "turn_number", "is_kept", "left_out", "items", "model_prompt"},
    "verify_export": {"exports", "export_id", "name", "is_intact", "message", "files", "state", "reason"},
}  # fmt: skip
FAILURE = {"ok", "error", "reasons"}


@pytest.fixture
def openclaw(tmp_path):
    home = OpenClawHome(tmp_path / "openclaw")
    home.session = home.transcript(user("Hello")).session
    return home


@pytest.fixture
def run(tmp_path, openclaw):
    """Runs `openclaw-web` on a home of its own, as (status, standard output, standard error)."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW", "DJANGO"))}
    env = inherited | {"OPENCLAW_WEB_HOME": str(tmp_path / "home"), "OPENCLAW_STATE_DIR": str(openclaw.root)}

    def run(*words, **more):
        command = [sys.executable, "-m", "openclaw_web", *words]
        done = subprocess.run(command, cwd=ROOT, env=env | more, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    run.env = env
    return run


@pytest.fixture
def run_copy(run):
    """Runs it as a copy of a process that has imported everything: for many commands of one test."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    def run_copy(*words):
        with fork_server.start("openclaw_web", *words, env=run.env, **pipes) as process:
            out, err = process.communicate()
        return process.returncode, out, err

    return run_copy


def load_verb(verb):
    return load_command_class(get_commands()[verb], verb)


def test_it_works(run, tmp_path):
    status, out, err = run("--help")
    assert (status, err) == (0, "")
    assert all(re.search(rf"^  {verb} +{re.escape(sentence)}$", out, re.MULTILINE) for verb, sentence in HELP.items())
    assert run()[1] == out and run("help")[1] == out
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    assert run("--version") == (0, f"openclaw-web {VERSION} ({versions})\n", "")
    assert not (tmp_path / "home").exists()  # help creates no home


def test_every_verb_of_ours_is_listed_with_its_own_sentence():
    ours = {name: app for name, app in get_commands().items() if isinstance(load_verb(name), Verb)}
    assert ours.keys() == HELP.keys()
    assert {verb: load_verb(verb).help for verb in HELP} == HELP


@pytest.mark.parametrize("verb", HELP)
def test_help_has_examples_that_parse_and_exit_statuses(verb):
    command = load_verb(verb)
    text = command.create_parser("openclaw-web", verb).format_help()
    assert command.examples and all(f"  openclaw-web {example}\n" in text for example in command.examples)
    assert (
        re.search(r"exit status: 0 (done|clean)", text) and "--pythonpath" not in text and "--skip-checks" not in text
    )
    for example in command.examples:
        words = shlex.split(re.split(r" [|>] ", example)[0])[1:]
        command.create_parser("openclaw-web", verb).parse_args(words)


def test_exit_statuses_are_documented():
    documented = dict(re.findall(r"^\| `(\d+)` \| ([\w ,]+?)(?::.*)? \|$", DOCUMENTED, re.MULTILINE))
    assert {int(number): words for number, words in documented.items()} == STATUSES


def test_receipts_are_documented():
    assert RECEIPTS.keys() == {verb for verb in HELP if load_verb(verb).schema}
    for verb, fields in RECEIPTS.items():
        page = DOCUMENTED.split(f"## `openclaw-web {verb}`")[1].split("\n## ")[0]
        assert f"`{load_verb(verb).schema}`" in page
        assert not [field for field in fields if f"`{field}`" not in page], verb


def test_a_mistyped_verb_is_corrected(run):
    status, out, err = run("sign-in-lnk")
    assert (status, out) == (2, "")
    assert err == "There is no command “sign-in-lnk”. Did you mean sign_in_link?\n"


@pytest.mark.parametrize(
    "words",
    first(
        [
            *("jobs", "backup create --to", "collect --source", "reflection gate list --agent"),
            *("reflection guardian show", "reflection guardian rollback w1 --reason", "artifact peek"),
        ],
        4,
    ),
)
def test_words_that_are_no_text_are_a_sentence(run, words):
    status, out, err = run(*words.split(), b"a\xffb")
    assert (status, out) == (2, "") and err.endswith("\na\\xffb is not UTF-8 text.\n")


def test_a_home_that_cannot_be_one_is_a_sentence(run, tmp_path):
    file = tmp_path / "file"
    file.touch()
    status, out, err = run("jobs", OPENCLAW_WEB_HOME=str(file))
    assert (status, out, err) == (2, "", f"{file} cannot be the home (OPENCLAW_WEB_HOME): Not a directory.\n")
    odd = tmp_path / "odd"
    (odd / "state" / "home.lock").mkdir(parents=True)
    status, out, err = run("jobs", OPENCLAW_WEB_HOME=str(odd))
    assert (status, out, err) == (3, "", f"{odd}/state/home.lock: Is a directory.\n")
    status, out, err = run("jobs", OPENCLAW_WEB_LOG_LEVEL="LOUD")
    assert (status, out) == (2, "") and err.count("\n") == 1 and "DEBUG" in err


def test_other_settings_are_read_before_the_home_is_entered(run):
    words = ("shell", "--no-imports", "-c", "from django.conf import settings; print(settings.HOME_DIR)")
    other = run(*words, "--settings", "openclaw_web.settings_test")
    assert other[0] == 0 and "openclaw-web-tests-" in other[1]
    assert run(*words)[1] == f"{run.env['OPENCLAW_WEB_HOME']}\n"


@pytest.mark.parametrize(("more", "has_it"), [({}, False), ({"OPENCLAW_WEB_HSTS_PRELOAD": "1"}, True)])
def test_browsers_may_list_the_name_for_good_only_when_asked(run, more, has_it):
    words = ("shell", "--no-imports", "-c", "from django.conf import settings; print(settings.SECURE_HSTS_PRELOAD)")
    assert run(*words, OPENCLAW_WEB_HTTPS="1", **more)[1] == f"{has_it}\n"
    assert run(*words, **more)[1] == "False\n"


WRONG_SETTINGS = {
    "OPENCLAW_WEB_BUSY_SECONDS": "abc",
    "OPENCLAW_WEB_API_PER_MINUTE": "-1",
    "OPENCLAW_WEB_API_FAILURES_PER_MINUTE": "1.5",
    "OPENCLAW_WEB_DEBUG": "maybe",
    "OPENCLAW_WEB_HTTPS": "2",
    "OPENCLAW_WEB_HSTS_PRELOAD": "2",
    "OPENCLAW_WEB_LOG_LEVEL": "LOUD",
    "OPENCLAW_WEB_PROXIES": "localhost",
    "OPENCLAW_WEB_HOME": "~nobody-is-called-that",
    "OPENCLAW_STATE_DIR": "~nobody-is-called-that",
}


@pytest.mark.parametrize("name", WRONG_SETTINGS)
def test_an_environment_variable_that_cannot_be_is_a_sentence(run, name):
    status, out, err = run("jobs", **{name: WRONG_SETTINGS[name]})
    assert (status, out, err.count("\n")) == (2, "", 1) and name in err


@pytest.mark.kill
def test_a_global_database_that_is_none_is_a_sentence(run_copy, tmp_path, pytestconfig):
    """Every command names the damaged file and the command that restores the newest backup.

    The doctor also reports the checks that it can still run.
    """
    assert run_copy("collect")[0] == 0
    assert run_copy("backup", "create")[0] == 0
    (backup,) = (tmp_path / "home" / "backups").glob("*.tar.zst")
    with (tmp_path / "home" / "state" / "openclaw.sqlite").open("r+b") as file:
        file.write(b"garbage garbage!")
    way_out = f"openclaw-web backup restore {backup} --replace"
    others = ("artifact gc", "retention --days 9", "migrate") if pytestconfig.getoption("nightly") else ()
    for words in ("jobs", "collect", "serve --port 0", "doctor --fix", *others):
        status, _out, err = run_copy(*words.split())
        assert status == (2 if words == "doctor --fix" else 1), words
        assert "Traceback" not in err and way_out in err, (words, err)
        assert "file is not a database" in err or "not a SQLite database" in err, (words, err)
    status, out, err = run_copy("doctor", "--json", "--quiet")
    receipt = orjson.loads(out)
    assert (status, receipt["source"]["problem"]) == (1, "The sources were not compared with the store.")
    assert [finding["check"] for finding in receipt["store"]] == ["integrity"] and way_out in receipt["store"][0][
        "sentence"
    ]
    assert orjson.loads(run_copy("jobs", "--json")[1])["error"].endswith(way_out)
    assert run_copy(*way_out.split()[1:])[0] == 0
    assert run_copy("jobs")[0] == 0


def steps(openclaw, tmp_path):
    """Returns (exit status, verb, arguments) of every verb with receipts, from an empty home on."""
    return [
        (0, "collect", ()),
        (0, "create_user", ("mei",)),
        (0, "sign_in_link", ("mei",)),
        (0, "create_token", ("mei", "--name", "nightly")),
        (3, "create_token", ("mei", "--name", "nightly", "--role", "admin")),
        (2, "create_token", ("mei", "--name", "nightly", "--days", "4000")),
        (0, "settings", ("import", str(tmp_path / "values.json"))),
        (0, "turn_context", (f"{openclaw.session}:r1",)),
        (1, "turn_context", ("nothing",)),
        (0, "migrate_agents", ()),
        (0, "doctor", ("--fix",)),
        (0, "doctor", ()),
        (2, "doctor", ("--undo", "nothing")),
        (0, "backup", ("create",)),
        (0, "backup", ("list",)),
        (0, "archive", ("--older-than", "9d")),
        (0, "retention", ("--days", "9")),
        (3, "retention", ()),
        (0, "jobs", ()),
        (2, "jobs", ("--limit", "0")),
        (2, "create_user", ("mei", "--role", "king")),
        (3, "create_user", ("mei",)),
        (3, "export", ("--format", "alpaca", "--name", "nothing there")),
        (3, "collect", ("--source", "/nowhere")),
        (3, "settings", ("set", "memoryGate.windowSize", "many")),
    ]


@pytest.mark.kill
def test_receipts_and_statuses(run_copy, openclaw, tmp_path):
    """Every verb with receipts runs on one home, from its creation to failures."""
    (tmp_path / "values.json").write_text('{"memoryGate": {"windowSize": 7}}')
    for status, verb, words in steps(openclaw, tmp_path):
        ended, out, err = run_copy(verb, *words, "--json")
        receipt = orjson.loads(out)
        assert (ended, receipt["ok"]) == (status, status == 0), (verb, err)
        expected = {"ok", "schema"} | RECEIPTS[verb] if status == 0 else FAILURE
        assert set(receipt) == expected, verb
        assert "Traceback" not in err and (status == 0 or receipt["error"] in err)
    settings = {row["key"]: row["value"] for row in orjson.loads(run_copy("settings", "--json")[1])["settings"]}
    assert settings["memoryGate.windowSize"] == 7
    openclaw.transcript(user("Two")).raw("no record\n")
    ended, out, err = run_copy("collect", "--json", "--quiet")
    receipt = orjson.loads(out)
    assert (ended, set(receipt)) == (4, {"ok", "schema", "error", "reasons"} | RECEIPTS["collect"])
    assert err == f"{receipt['error']}\n" == "1 line was not a record. See “Rejected records” under System.\n"


# Progress


def run_on_terminal(command, env, columns=60):
    """Runs `command` on a terminal of that width; returns its exit status and output."""
    main, side = pty.openpty()
    os.set_inheritable(side, True)
    subprocess.run(["stty", "columns", str(columns)], stdin=side, check=True)
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=side, stdin=side)
    os.close(side)
    written = b""
    while select.select([main], [], [], 60)[0]:
        try:
            written += os.read(main, 65_536)
        except OSError:  # the other side is closed
            break
    process.communicate()
    os.close(main)
    return process.returncode, written.decode()


@pytest.mark.kill
def test_progress_is_a_live_line_on_a_terminal_and_plain_lines_in_a_pipe(run):
    command = [sys.executable, "-m", "openclaw_web", "collect"]
    env = {**run.env, "TERM": "xterm", "NO_COLOR": "1"} | {"COLUMNS": ""}
    del env["COLUMNS"]
    status, live = run_on_terminal(command, env)
    assert status == 0
    updates = live.split("\r\x1b[2K")[1:]
    assert updates and all(len(line.rstrip("\r\n")) < 60 for line in updates)
    assert "100 %" in updates[-1] and live.count("\n") == 1
    assert not re.search(r"\x1b\[[0-9;]*m", live)
    began = time.monotonic()
    plain = run("collect")[2]
    every_few_seconds = 3 + (time.monotonic() - began) / Terminal.LINE_SECONDS
    assert "\r" not in plain and "\x1b" not in plain and 1 <= len(plain.splitlines()) <= every_few_seconds
    assert run("collect", "--quiet")[2] == ""


# Completion


def complete_words(script, *words, cwd=None):
    """Returns the words that bash offers for the last of `words`."""
    array = " ".join(f'"{word}"' for word in words)
    code = f"""source "{script}"; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}
        _shtab_openclaw_web; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", code], cwd=cwd, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_other_commands_do_not_load_what_writes_completions(run):
    loaded = "import sys; sys.argv = ['', 'jobs']; from openclaw_web.commands import cli; cli.main(); "
    loaded += "print('shtab' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, env=run.env, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "False")


def test_bash_completes_verbs_options_and_values(run, tmp_path, monkeypatch):
    script = tmp_path / "completion.bash"
    script.write_text(run("completion", "bash")[1])
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    (tmp_path / "store" / "agents" / "ada").mkdir(parents=True)
    monkeypatch.setenv("OPENCLAW_WEB_HOME", str(tmp_path / "store"))
    for words, offered in {
        "mi": ["migrate_agents"],
        "--v": ["--version"],
        "export --format ": [
            *("alpaca", "sharegpt", "openai", "raw", "csv", "messages", "parquet", "sharegpt_reflection"),
            *("preference", "openai_preference", "llamafactory_preference", "kto"),
        ],
        "export --agent ": ["ada"],
        "create_user mei --role a": ["admin"],
        "collect --w": ["--watch"],
        "settings ": ["get", "set", "import"],
        "artifact st": ["stash"],
        "artifact fetch --mode j": ["jsonpath"],
        "artifact gc --o": ["--older-than"],
        "artifact gc --agent ": ["ada"],
        "archive --older-than 9d --o": ["--older-than", "--out"],
        "archive --quiet ve": ["verify"],
        "archive verify --o": [],
        "backup create --to ": ["agents"],
        "backup restore --re": ["--replace"],
        "doctor --sources a": ["archive"],
        "create_token mei --days ": [],
        "completion f": ["fish"],
    }.items():
        assert complete_words(script, "openclaw-web", *words.split(" "), cwd=tmp_path / "store") == offered, words
    assert set(complete_words(script, "openclaw-web", "")) == HELP.keys()


@pytest.mark.parametrize(("shell", "check"), [("zsh", "-n"), ("fish", "--no-execute")])
def test_other_shells_get_every_verb_and_option(run, tmp_path, shell, check):
    script = run("completion", shell)[1]
    assert script == run("completion", shell)[1]
    assert all(verb in script and shlex.quote(HELP[verb]) in script for verb in HELP)
    assert "alpaca sharegpt" in script and "older-than" in script and "drill" in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        assert subprocess.run([shell, check, tmp_path / "script"]).returncode == 0
