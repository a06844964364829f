"""Each state has one word on all pages."""

import re
from collections import Counter

import pytest
from django.apps import apps
from django.db.models import TextChoices
from django.template import engines

from automation import schedules
from datasets.review.parts import GUARDIAN_STATUSES
from openclaw_web.pages import states
from operations.doctor.sources import home_sources
from tests.suite.sources import MODULES, ROOT, TEMPLATES

TABLE = "openclaw_web/pages/states.py"
# Other uses of these words: heads of columns, names of things, verbs.
NO_STATES = {
    "Backup": {"operations/backups/services.py"},  # a kind of job
    "Changed": {
        *("automation/background.py", "ledger/lists/stored_tables.py"),  # when
        "templates/operations/doctor_result.html",
    },
    "New": {"templates/operations/doctor_result.html"},  # heads over numbers of sources
    "Unchanged": {"templates/operations/doctor_result.html"},
    "Skipped": {"templates/operations/doctor_result.html"},
    "Missing": {"templates/operations/doctor_receipt.html"},  # how many records
    "Failed": {"templates/ledger/savings_parts.html"},  # how many calls
    "Approved": {"templates/datasets/export_detail.html"},  # how many samples
    "Ended": {"templates/ledger/session_branches.html"},  # when
    "Found": {"ledger/lists/rejected_list.py"},  # when
    "Needs review": {"datasets/review/forms.py", "templates/datasets/verdict.html"},  # buttons
    "Open": {"automation/problems.py"},  # a button
    "Refused": {"templates/refused.html"},  # the title of the page that says so
    "Excluded": {"templates/datasets/export_detail.html"},  # samples
    "Verified": {"templates/artifacts/artifact_detail.html"},  # how far a content was read
}
CALL = re.compile(r"\b(?:_|gettext|gettext_lazy|gettext_noop)\(\s*([\"'])((?:(?!\1).)+)\1\s*[,)]")


def drawn(source, **context):
    return engines["jinja2"].from_string(source).render(context)


def words():
    return {str(state.word) for state in states.STATES.values()}


def test_every_word_has_one_tone_and_stands_in_the_table_once():
    table = [(str(word), tone) for word, tone, _values in states._WORDS]
    assert max(Counter(word for word, _tone in table).values()) == 1
    assert {tone for _word, tone in table} == {"ok", "warn", "bad", "info", "running", ""}
    assert len(states.STATES) == sum(len(values) for _word, _tone, values in states._WORDS)  # no value has two words
    assert all(word[:1].isupper() and word[1:] == word[1:].lower() for word, _tone in table)


def test_every_state_of_a_model_has_a_word():
    ours = [model for model in apps.get_models() if (ROOT / model._meta.app_label).is_dir()]
    choices = {
        (model.__name__, name, value)
        for model in ours
        for name, kind in vars(model).items()
        if name in ("State", "Status", "End") and isinstance(kind, type) and issubclass(kind, TextChoices)
        for value in kind.values
    }
    assert len(choices) > 40
    assert not {choice for choice in choices if choice[2] not in states.STATES}


@pytest.mark.parametrize(
    "values",
    [
        schedules.OUTCOMES,
        schedules.OUTCOMES.values(),
        GUARDIAN_STATUSES,
        (home_sources.NEW, home_sources.CHANGED, home_sources.UNCHANGED, home_sources.LEFT),
        ("finding", "info", "warning"),  # levels of what a doctor finds
    ],
)
def test_every_state_of_other_tables_has_a_word(values):
    assert not [value for value in values if value not in states.STATES]


def test_nobody_else_says_these_words():
    """A badge with its own word would soon differ from the table."""
    files = {str(path.relative_to(ROOT)): path.read_text() for path in (*MODULES, *TEMPLATES)}
    uses = {(match[2], file) for file, text in files.items() for match in CALL.finditer(text) if match[2] in words()}
    allowed = {(word, file) for word, places in NO_STATES.items() for file in places}
    others = {place for place in uses if place[1] != TABLE} - allowed
    assert not others, sorted(others)
    assert not allowed - uses, "no longer said there: take it out of NO_STATES"


def test_the_same_column_has_the_same_head_everywhere():
    files = [path for path in (*MODULES, *TEMPLATES) if re.search(r"_\([\"']State[\"']\)", path.read_text())]
    assert not files, "states are headed “Status”"


def test_a_state_is_drawn_with_its_word_and_tone():
    assert drawn('{{ ui.state("cancelled") }}') == '<span class="badge badge--warn">Canceled</span>'
    assert drawn('{{ ui.state("pending", title="why") }}') == '<span class="badge" title="why">Pending</span>'
    assert drawn('{{ ui.state("failed", detail="exit 2") }}') == '<span class="badge badge--bad">Failed, exit 2</span>'
    assert drawn("{{ ui.state(none) }}") == drawn('{{ ui.state("") }}') == '<span class="badge">Unknown</span>'


def test_a_state_that_nobody_knows_is_shown_as_it_is():
    assert drawn('{{ ui.state("half_done") }}') == '<span class="badge">half_done</span>'
    assert drawn("{{ ui.state(value) }}", value="<b>\u202e") == '<span class="badge">&lt;b&gt; ‹U+202E›</span>'
    assert len(str(states.word("x" * 1_000))) == states.LONGEST_UNKNOWN


def test_the_docs_have_the_same_table():
    rows = re.findall(r"^\| ([^|]+?) \| (\w*) \| (`[^|]*`) \|$", (ROOT / "docs/design.md").read_text(), re.MULTILINE)
    documented = {word: (tone, set(re.findall(r"`([^`]*)`", values))) for word, tone, values in rows}
    assert documented == {
        str(word): (tone or "plain", {value or "(empty)" for value in values}) for word, tone, values in states._WORDS
    }
