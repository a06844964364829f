"""No code mentions older versions of ours: what their homes need has one place, migrations.

The exceptions are the update of an older home, with the backup before it, and the refusal of a newer one and of
one from before migrations were only added.
"""

import re
from pathlib import Path

from django.apps import apps

ROOT = Path(__file__).resolve().parents[2]

# Phrases for data of an older version of ours.
OLDER_VERSION = (
    r"(?:older|earlier|previous|former|last|newer|another|later) versions?\b",
    r"\b(?:older|earlier|former) (?:homes?|stores?|exports?|manifests?|backups?|receipts?|reports?|rows?|columns?)\b",
    r"\b(?:older|earlier|former) (?:samples?|verdicts?|labels?|entries|addresses|bookmarks?|migrations?|rules)\b",
    r"\bolder than (?:this|the|that) (?:version|program|column|choice|code)\b",
    r"\bfrom before (?:there|it|they|that|this)\b",
    r"\bbefore there (?:was|were)\b",
    r"\b(?:used to be|used to have|no longer written|writes any more|still written)\b",
    r"\b(?:legacy|deprecated|obsolete|backwards?[- ]compatib\w+|compatibility)\b",
    r"^\s*replaces\b",
)
# The same phrases with another meaning: versions of memory files, of prompts and of OpenClaw, any other version of
# ours, and things that are older in time. Each has to be there.
SOMETHING_ELSE = {
    "agents/databases.py": ("migrations of another version",),
    "collecting/stages/extras.py": ("memory index of older versions",),
    "datasets/exports/row_files.py": ("newest older export",),
    "datasets/exports/options.py": ("Earlier versions had an option",),  # stored JSON is translated, not migrated
    "datasets/forms.py": ("where an earlier verdict has one",),
    "datasets/review/verdicts.py": ("Earlier verdicts stay",),
    "guardian/handover/offers.py": ("an older version's lines",),
    "guardian/detail/line_blame.py": (
        *("older versions in which restored lines", "with an older version or between"),
        "one older version that may",
    ),
    "guardian/recording/write_store.py": ("without an earlier report",),
    "ledger/checks.py": ("read by the rules of an older version",),
    "ledger/errors/vocabulary.py": ("denied deprecated died",),  # words of error messages
    "ledger/collectors/agent_database.py": ("under the names of older versions",),
    "guardian/detail/page.py": ("No later version of %(file)s",),
    "guardian/verbs/rules.py": ("older rules are not listed",),
    "guardian/words.py": ("the earlier version was restored",),
    "openclaw_web/disk/drafts.py": ("that no process writes any more",),
    "openclaw_web/pages/files.py": ("`If-Range` names another version",),
    "openclaw_web/sqlite/known_migrations.py": (
        *("is of a newer version", "is of another version", "a file that a newer version updated"),
    ),
    "operations/backups/home_restore.py": ("or of another version",),
    "operations/doctor/api.py": ("imported legacy files",),
    "operations/doctor/fix_job.py": ("LEGACY",),
    "operations/doctor/sources/home_sources.py": ("LEGACY",),
    "operations/doctor/sources/session_comparison.py": ("read by the rules of an older version",),
    "operations/management/commands/doctor.py": ("imported legacy files",),
    "operations/management/commands/serve.py": ("databases of an older version are updated",),
    "operations/retention/daily_files.py": ("either the previous version or the new one",),
    "people/configuration/catalogue.py": ("Older versions that nothing refers to",),
    "templates/datasets/write_opinion.html": ("The previous version will be restored",),
    "templates/gate/prompt_detail.html": ("no earlier version to compare", "changes since another version"),
    "templates/guardian/file_detail.html": ("no earlier version",),
    "templates/guardian/rollback.html": ("The previous version will be restored",),
    "templates/operations/clearing_runs.html": ("said before there were any",),
}
MENTION = re.compile("|".join(OLDER_VERSION), re.IGNORECASE | re.MULTILINE)
OURS = {app.name for app in apps.get_app_configs() if Path(app.path).parent == ROOT}


def list_source_lines():
    """Yield (file, line) of all shipped code and templates."""
    files = [*(file for name in (*OURS, "openclaw_web") for file in (ROOT / name).rglob("*.py")), ROOT / "manage.py"]
    for file in sorted({*files, *(ROOT / "templates").rglob("*.html"), *(ROOT / "static").glob("*.js")}):
        for line in file.read_text().splitlines():
            yield file.relative_to(ROOT).as_posix(), line


def test_no_code_mentions_an_older_version_of_ours():
    mentions, met = [], set()
    for path, line in list_source_lines():
        for match in MENTION.finditer(line):
            known = [words for words in SOMETHING_ELSE.get(path, ()) if words in line]
            met |= {(path, words) for words in known}
            if not known:
                mentions.append(f"{path}: {match[0]}: {line.strip()[:140]}")
    assert mentions == []
    assert {(path, words) for path, phrases in SOMETHING_ELSE.items() for words in phrases} == met
