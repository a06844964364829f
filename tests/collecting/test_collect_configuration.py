"""How a collect and the doctor read `openclaw.json`.

JSON5, included files, and files that are broken.
"""

import pytest

from agents.databases import get_alias
from guardian.models import FileSnapshot
from tests.collecting.collect_runs import count_opens, run
from tests.homes import Home, user
from tests.operations.doctor.doctor_homes import doctor

SECRET = "sk-fake-canary"
JSON5 = """\ufeff// the household's agents
{
  models: { providers: { anthropic: { apiKey: 'sk-fake-canary', }, }, },
  /* two of them */
  agents: {
    defaults: { "workspace": 'WORK/first' },
    list: [
      { id: "main", default: true },
      { id: 'second', workspace: "WORK/elsewhere", }, // not where it usually is
    ],
  },
}
"""


@pytest.fixture
def home(real_files, tmp_path):
    home = Home(tmp_path / "openclaw", agents=("main", "second"))
    for agent in home.agents:
        home.transcript(user("Hello"), agent=agent)
    for folder in ("first", "elsewhere"):
        (tmp_path / "work" / folder).mkdir(parents=True)
        (tmp_path / "work" / folder / "MEMORY.md").write_text(f"I am {folder}.")
    return home


@pytest.fixture
def write(home, tmp_path):
    return lambda text, name="openclaw.json": home.write(name, text.replace("WORK", str(tmp_path / "work")))


def memories():
    """Return the contents of each agent's memory files."""
    rows = {agent: FileSnapshot.objects.using(get_alias(agent)) for agent in ("main", "second")}
    return {agent: list(versions.values_list("content", flat=True)) for agent, versions in rows.items()}


BOTH = {"main": ["I am first."], "second": ["I am elsewhere."]}


def test_json5_is_read_as_openclaw_reads_it(home, write):
    write(JSON5)
    assert run(home)["notes"] == []
    assert memories() == BOTH


def test_included_files_are_read(home, write):
    write("{agents: {$include: ['./parts/defaults.json5', 'parts/list.json5']}, gateway: {auth: 1}}")
    write(
        "{defaults: {$include: '../work.json5'}, list: [{id: 'second', workspace: 'WORK/elsewhere'}]}",
        "parts/defaults.json5",
    )
    write("{workspace: 'WORK/first', apiKey: 'sk-fake-canary'}", "work.json5")
    write("{list: [{id: 'main', default: true}]}", "parts/list.json5")
    assert run(home)["notes"] == []
    assert memories() == BOTH


def test_what_stands_beside_an_include_wins(home, write):
    write("{$include: 'base.json5', agents: {defaults: {workspace: 'WORK/first'}}}")
    write(
        "{agents: {defaults: {workspace: 'WORK/nowhere'}, entries: {second: {workspace: 'WORK/elsewhere'}}}}",
        "base.json5",
    )
    run(home)
    assert memories() == BOTH


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (JSON5.replace("list: [", "list: [["), "from line 11 on"),
        ("{'apiKey': 'sk-fake-canary' 'a': 1}", "from line 1 on"),
        ("{'apiKey': 'sk-fake-canary', 'a': '", "from line 1 on"),
        ("[" * 500, "nested more than 100 levels deep"),
        ("", "from line 1 on"),
        ("['sk-fake-canary']", "the file does not contain an object"),
        (b"{'apiKey': 'sk-fake-canary\xff'}", "the text is not UTF-8"),
        (b"{} //" + b"x" * 4 * 1024**2, "the file is larger than 4 MB"),
        (
            "{$include: '/etc/hostname'}",
            "/etc/hostname was not read because only files in the OpenClaw folder are read",
        ),
        ("{$include: '../outside.json'}", "only files in the OpenClaw folder are read"),
        ("{$include: 'credentials/a.json'}", "such files may contain secrets and are never read"),
        ("{$include: 'link.json'}", "link.json was not read"),
        ("{$include: 'openclaw.json'}", "too many files include each other"),
        ("{$include: ['fan.json', 'fan.json']}", "too many files include each other"),
        ("{$include: 5}", "only files in the OpenClaw folder are read"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_rest_is_read(home, text, sentence, tmp_path):
    (tmp_path / "outside.json").write_text('{"agents": {"list": []}}')
    home.write("credentials/a.json", {"agents": {}})
    home.write("fan.json", "{$include: ['fan2.json', 'fan2.json', 'fan2.json', 'fan2.json', 'fan2.json']}")
    home.write("fan2.json", "{$include: ['fan3.json', 'fan3.json', 'fan3.json', 'fan3.json', 'fan3.json']}")
    home.write("fan3.json", "{}")
    (home.root / "link.json").symlink_to(tmp_path / "outside.json")
    (home.root / "openclaw.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    reports = []
    opened = count_opens(lambda: reports.append(run(home)))
    assert sentence in " ".join(reports[0]["notes"]) and SECRET not in str(reports)
    assert reports[0]["records"] == 4
    assert not {str(tmp_path / "outside.json"), "/etc/hostname", str(home.root / "credentials/a.json")} & set(opened)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 4_000_000,
        "{a:" * 1_300_000,
        "{a: [" + "0x" + "f" * 4_000_000 + "]}",
        "{" + "".join(f"k{number}:1," for number in range(300_000)) + "}",
        "{a: '" + "\\u0041" * 650_000 + "'}",
        "/*" * 2_000_000,
        '{"agents": ' + '{"list": ' * 1_000 + "1" + "}" * 1_001,
    ],
    ids=["lists", "objects", "digits", "names", "escapes", "comments", "deep"],
)
def test_hostile_files_end_and_the_rest_is_read(home, text):
    home.write("openclaw.json", text)
    report = run(home)
    assert report["records"] == 4 and len(str(report["notes"])) < 1_000


def test_the_doctor_finds_a_broken_configuration_and_imports_the_rest(tmp_path):
    source = Home(tmp_path / "openclaw")
    source.transcript(user("Hello"))
    source.write("openclaw.json", "{agents: {list: [{id: 'main'} {id: 'sk-fake-canary'}]}}")
    receipt, _ = doctor(tmp_path / "ours", "--source", str(source.root), status=1)
    findings = [finding for finding in receipt["store"] if finding["check"] == "configuration"]
    assert [(finding["path"], finding["level"], finding["is_repairable"]) for finding in findings] == [
        ("openclaw.json", "finding", False)
    ]
    assert "from line 1 on" in findings[0]["sentence"] and SECRET not in str(receipt)
    receipt, _ = doctor(tmp_path / "ours", "--fix", "--source", str(source.root))
    assert receipt["run"]["records"] == 2
