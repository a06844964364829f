"""The unit file as systemd reads it: checked by `systemd-analyze`, and parsed back by systemd itself."""

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import worker
from operations.server import supervisor
from operations.service.service_values import ServiceValues
from operations.service.unit import InstalledOptions, NotQuotable, build_unit, is_ours, read_options

SYSTEMD = next((path for path in ("/lib/systemd/systemd", "/usr/lib/systemd/systemd") if os.path.exists(path)), "")
NASTY = "a b%h %% \"q\" 's' \\x20 \\ $HOME ${X} ;#中文 [1]*? ~ é"
# Tenths, as --threshold counts; folders of tests are in /tmp, so their units have no PrivateTmp.
WORST_EXPOSURE = {"user": 25, "system": 17}
NOBODY = 65534

# Everything a name of a file or a value can hold, but line breaks and other control characters.
texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/\0"), min_size=1, max_size=30)


@pytest.fixture(params=["user", "system"])
def kind(request):
    return request.param


def make_values(folder, kind, name="plain"):
    """Values with folders below `folder / name`, and a program that can be started."""
    base = Path(folder) / name
    base.mkdir(exist_ok=True)
    program = base / "openclaw-web"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return build_values(base, program, name, is_system=kind == "system")


def build_values(base, program, name, *, is_system=False):
    """Values with folders below `base`, which need not exist."""
    return ServiceValues(
        program=program,
        host="127.0.0.1",
        port=8765,
        home=base / "home",
        state_dir=base / "openclaw",
        secrets_file=base / "service.env",
        user="daemon",
        home_directory=base,
        variables={"OPENCLAW_WEB_LOG_LEVEL": name},
        is_system=is_system,
        writable_paths=(base / "backups",),
    )


def run_analyze(kind, *words):
    """Run systemd-analyze for a unit of a kind, as (status, output)."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is missing (package systemd)")
    with tempfile.TemporaryDirectory() as runtime_folder:
        command = ["systemd-analyze", *words[:1], *(["--user"] if kind == "user" else []), *words[1:]]
        environment = os.environ | {"XDG_RUNTIME_DIR": runtime_folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["plain", NASTY.translate(str.maketrans("", "", "\"'\\"))])
def test_systemd_finds_no_fault(tmp_path, kind, name):
    """It also looks whether the program of `ExecStart=` exists."""
    unit = tmp_path / "openclaw-web.service"
    values = make_values(tmp_path, kind, name)
    unit.write_text(build_unit(values))
    assert run_analyze(kind, "verify", unit) == (0, "")
    values.program.unlink()
    status, output = run_analyze(kind, "verify", unit)
    assert status != 0 and "openclaw-web" in output


def test_the_sandbox_is_tight(tmp_path, kind):
    unit = tmp_path / "openclaw-web.service"
    unit.write_text(build_unit(make_values(tmp_path, kind)))
    threshold = f"--threshold={WORST_EXPOSURE[kind]}"
    status, output = run_analyze(kind, "security", "--offline=true", "--no-pager", threshold, unit)
    if "unrecognized option" in output:
        pytest.skip("this systemd-analyze cannot rate files (before systemd 250)")
    assert status == 0, output[-4000:]


def test_a_user_unit_has_no_directive_of_the_system(tmp_path):
    """The manager of a user would refuse to start it, or ignore them."""
    unit = build_unit(make_values(tmp_path, "user"))
    for directive in ("User=", "IPAddressDeny=", "ProtectControlGroups=", "ProtectProc=", "RequiresMountsFor="):
        assert f"\n{directive}" not in unit
    assert "\nWantedBy=default.target\n" in unit and "\nPrivateUsers=yes\n" in unit
    plain = build_unit(replace(make_values(tmp_path, "user"), has_user_namespaces=False))
    assert "PrivateUsers" not in plain and "Protect" not in plain and "\nNoNewPrivileges=yes\n" in plain


def test_a_stop_is_in_order_and_a_refusal_is_not_tried_again(tmp_path, kind):
    """`serve` stops its processes itself; after 2 and 3 there is no restart."""
    unit = build_unit(make_values(tmp_path, kind))
    assert "\nKillMode=mixed\n" in unit and "\nRestartPreventExitStatus=2 3\n" in unit
    seconds = int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[1])
    assert seconds > supervisor.SITE_GRACE_SECONDS + worker.GRACE_SECONDS


def test_a_private_tmp_does_not_hide_a_home(tmp_path, kind):
    values = make_values(tmp_path, kind)
    elsewhere = replace(
        values, program=Path("/opt/openclaw-web"), home=Path("/srv/home"), state_dir=Path("/srv/o"), writable_paths=()
    )
    assert "\nPrivateTmp=yes\n" in build_unit(elsewhere)
    assert "PrivateTmp" not in build_unit(replace(elsewhere, home=Path("/tmp/home")))


@pytest.mark.parametrize("sign", ['"', "'", "\\"])
def test_a_program_that_systemd_would_not_start_is_refused(tmp_path, sign):
    with pytest.raises(NotQuotable, match="starts no program"):
        build_unit(replace(make_values(tmp_path, "user"), program=Path(f"/srv/{sign}/openclaw-web")))


def test_options_are_read_again(tmp_path, kind):
    values = replace(make_values(tmp_path, kind), host="::1", port=9000, user="mei")
    unit = build_unit(values)
    assert is_ours(unit) and not is_ours("[Unit]\n")
    assert read_options(unit) == InstalledOptions("::1", 9000, "mei" if kind == "system" else "")
    assert read_options(unit.replace(" serve ", " work ")) is None


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "tab\t", "\x1b", "\udc80"])
def test_texts_that_no_unit_can_hold_are_refused(tmp_path, text):
    values = make_values(tmp_path, "user")
    with pytest.raises(NotQuotable):
        build_unit(replace(values, variables={"OPENCLAW_WEB_DISABLED": text}))
    with pytest.raises(NotQuotable):
        build_unit(replace(values, secrets_file=Path(f"/srv/{text}/service.env")))


@given(name=texts)
def test_systemd_reads_the_same_paths_and_values(name):
    check_read_again(name)


def test_systemd_reads_awkward_paths_and_values():
    for name in (NASTY, "~", "-", ":", "+!@", "%n", "$$", "\\", '"', "\\\\n", "a;b", " trailing ", "#x"):
        check_read_again(name)


def check_read_again(name):
    if not SYSTEMD:
        pytest.skip("systemd is missing (package systemd)")
    if Path(name).name in ("", ".", ".."):
        return
    values = build_values(Path("/srv") / f"x{name}x", Path("/srv/openclaw-web"), name)
    dump = read_with_systemd(build_unit(values))
    assert f"Environment: OPENCLAW_WEB_HOME={values.home}\n" in dump
    assert f"Environment: OPENCLAW_WEB_LOG_LEVEL={name}\n" in dump
    assert f"ReadWritePaths: {values.home} -{values.writable_paths[0]}\n" in dump
    assert f"ReadOnlyPaths: -{values.state_dir}\n" in dump
    pattern = re.search(r"EnvironmentFile: -(.*)\n", dump)[1]
    assert re.sub(r"\\(.)", r"\1", pattern) == str(values.secrets_file)


def read_with_systemd(unit):
    """Have the manager of a user read a unit file; it tests its configuration and ends."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "openclaw-web.service")
        file.write_text(unit)
        os.chmod(folder, 0o777)  # the manager of a user does not run as root
        file.chmod(0o644)
        env = {"SYSTEMD_UNIT_PATH": f"{folder}:", "XDG_RUNTIME_DIR": folder, "HOME": folder, "PATH": os.environ["PATH"]}
        command = [SYSTEMD, "--test", "--user", "--unit=openclaw-web.service", "--log-target=console"]
        options = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run(command, env=env, capture_output=True, **options)
    text = (done.stdout + done.stderr).decode(errors="surrogateescape")
    part = re.search(r"-> Unit openclaw-web\.service:\n(.*?)(?=-> Unit |\Z)", text, re.DOTALL)
    assert part, text[-2000:]
    return part[1]
