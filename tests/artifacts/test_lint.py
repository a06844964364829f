import pytest

from artifacts.lint import RULES, lint_paths, lint_text

HITS = {
    "json-dump": [
        "Run `openclaw sessions list --json` and paste it",
        "openclaw-mem episodes query --json",
        "OPENCLAW status --json | jq .",
        "openclaw cron runs \\\n  --limit 50 \\\n  --json",
    ],
    "paste-json": ["Paste the raw JSON into the brief.", "include the full response JSON", "Dump all of the JSON here"],
    "paste-page": ["paste the entire HTML", "Include the full web page in chat", "post the complete DOM snapshot"],
    "paste-pdf": ["Send the whole text of the PDF", "attach the full PDF extraction to the chat: paste all PDFs"],
    "fetch-without-cap": ["openclaw-web artifact fetch ocm_artifact:v1:sha256:abc", "openclaw-mem artifact fetch $H"],
    "fetch-too-much": [
        "artifact fetch $H --max-chars 8001",
        "artifact fetch $H --max-chars=50000",
        "artifact fetch $H --max-chars 20001 --reason x",
    ],
    "delete-sessions": [
        "rm ~/.openclaw/agents/main/sessions/*.jsonl",
        "rm -f agents/x/sessions/1.jsonl to save tokens",
    ],
}
NEAR_MISSES = {
    "json-dump": [
        "openclaw sessions list --json | openclaw-web artifact stash --json",
        "openclaw sessions list --json > /tmp/out.json",
        "openclaw sessions list",
        "openclaw-mem artifact stash --from x --json",
        "myopenclaw --json",
        "openclaw status; jq --json",
    ],
    "paste-json": ["Never paste the raw JSON into a brief.", "paste the JSON key", "the full JSON is stashed"],
    "paste-page": ["Do not paste full HTML.", "a full page of notes", "include the HTML title"],
    "paste-pdf": ["never paste the full PDF", "send the PDF's title"],
    "fetch-without-cap": ["artifact fetch $H --max-chars 4000", "artifact peek $H", "we fetch an artifact"],
    "fetch-too-much": [
        "artifact fetch $H --max-chars 8000",
        "artifact fetch $H --max-chars 800",
        "artifact fetch $H --max-chars 20000 --reason 'the whole trace'",
        "artifact fetch $H --reason 'the whole trace' --max-chars 12000",
    ],
    "delete-sessions": ["ls sessions/*.jsonl", "rm sessions/notes.md", "the form has sessions/a.jsonl"],
}


def rules_of(text):
    return {hit.rule for hit in lint_text(text)}


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in HITS.items() for text in texts])
def test_hits(rule, text):
    assert rule in rules_of(text)


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in NEAR_MISSES.items() for text in texts])
def test_near_misses(rule, text):
    assert rule not in rules_of(text)


def test_every_rule_is_tested_and_says_what_is_better():
    assert HITS.keys() == NEAR_MISSES.keys() == {rule.id for rule in RULES}
    assert all(str(rule.better) for rule in RULES)


def test_a_line_is_numbered_where_it_begins():
    hits = list(lint_text("fine\nopenclaw x \\\n --json\nrm sessions/a.jsonl\n", file="f.md"))
    assert [(hit.file, hit.line, hit.rule) for hit in hits] == [
        ("f.md", 2, "json-dump"),
        ("f.md", 4, "delete-sessions"),
    ]


def test_folders_are_looked_through_for_texts(tmp_path):
    bad = "openclaw status --json\n"
    for name in ("a.md", "deep/b.txt", "deep/c.png", ".git/d.md", "deep/.hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(bad)
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe\0" + bad.encode())
    files = sorted(hit.file.removeprefix(f"{tmp_path}/") for hit in lint_paths([tmp_path]))
    assert files == ["a.md", "bytes.md", "deep/b.txt"]


def test_very_many_lines_are_looked_through():
    text = "\\\n" * 400_000 + "rm sessions/1.jsonl\n" + "x\n" * 400_000 + "artifact fetch $H\n"
    assert [(hit.line, hit.rule) for hit in lint_text(text)] == [
        (1, "delete-sessions"),
        (800_002, "fetch-without-cap"),
    ]
