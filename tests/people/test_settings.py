import html
import re

import pytest

from people.configuration import catalogue
from people.configuration import setting_values as configuration
from people.configuration.catalogue import QUALITY_WEIGHTS
from people.models.bookkeeping import AuditEntry
from tests.people.settings_page import PAGE, SAVE, FormFields, read_form

SENDERS, WINDOW, FOLDER = "collector.optedOutSenders", "memoryGate.windowSize", "backup.folder"
KINDS, AT = "artifacts.flaggedKinds", "jsonlExport.schedule"
# The lowest and highest value of each number. tests/test_docs.py compares defaults with docs/settings.md.
NUMBERS = {
    "backup.keep": (0, 1000),
    "datasetCollection.positiveCriteria.notRolledBackWithinDays": (0, 3650),
    "jobs.retentionDays": (0, 36_500),
    "jsonlExport.retentionDays": (1, 3650),
    "memoryGate.driftDecisions": (1, 1_000_000),
    "memoryGate.driftPoints": (1, 100),
    "memoryGate.tokensPerDay": (0, 1_000_000_000),
    "memoryGate.windowSize": (0, 200),
    "retentionDays": (0, 36_500),
    "sampleScoring.tokensPerDay": (0, 1_000_000_000),
    "review.approvalErrorPercent": (1, 50),
    "schedule.backupHours": (0, 8760),
    "schedule.collectMinutes": (0, 10_080),
    "schedule.drillDays": (0, 365),
    "schedule.findingsScanMinutes": (0, 10_080),
    "schedule.exchangeMinutes": (0, 10_080),
    "schedule.releaseCheckHours": (0, 720),
    "schedule.notifyMinutes": (0, 1440),
    "schedule.searchMinutes": (0, 10_080),
    "schedule.signalMinutes": (0, 10_080),
    "schedule.signatureMinutes": (0, 10_080),
    "writeGuardian.handOverSeconds": (10, 3600),
    "writeGuardian.steps": (1, 50),
    "writeGuardian.tokensPerDay": (0, 1_000_000_000),
    "writeGuardian.unattendedLinesAdded": (0, 1000),
    "writeGuardian.unattendedLinesRemoved": (0, 1000),
    "writeGuardian.unattendedWritesPerDay": (0, 1000),
    "writeGuardianAuditing.maxSnapshotsPerFile": (1, 100_000),
}
SHAPES = ["private_key", "aws_key", "bearer", "github_key", "google_key", "jwt", "model_key", "slack_key"]
ALL_KINDS = ["api_key", "password", "token", "secret", *SHAPES]
NO_KINDS = [["tokens"], "token", [1], {"token": True}, None]
NO_TEXTS = ["mei", [1], [""], {"mei": 1}, None]
NO_PATHS = ["backups", "/a\0b", ["/a"], 1, None]
NO_REASONS = [["Slow"], ["slow:"], ["Slow: Too slow"], ["a: A", "a: B"], [f"r{number}: R" for number in range(10)]]
NO_PRICES = [["gpt"], ["gpt: 1"], ["gpt: 1 -2"], ["gpt: 1 2", "gpt: 3 4"], [f"m{number}: 1 2" for number in range(201)]]
NO_TEXT = ["x" * 20_001, "a\0b", 1, None]
NO_TIMES = ["60 0 * * *", "0 24 * * *", "0 0 * * 1", "", 0]
NO_BUDGETS = [["main: 5"], ["main: 0 USD per day"], ["Main: 5 USD per day"], ["main: 5 EUR per day"], ["main: 5 USD"]]
NO_BUDGETS += [["main: 5 USD per day", "main: 6 USD per day"], [f"a{number}: 1 USD per day" for number in range(51)]]
NO_MAIL = ["mei", "mei@", "@x", "mei@example.com\nBcc: a@x", "a@x,b@x", "mei <mei@example.com>", "é@x", 1, None]
NO_SITE = ["claw.example.com", "ftp://x", "https://", "https://a b", "https://x/?q", "https://mei@x", "javascript:1", 1]
NO_QUIET = ["22:00", "24:00-07:00", "22:00-07:60", "22:00-07:00 Mars", "22:00-07:00 ../etc/passwd", "2:00-7:00", 1]
# The least and the largest value of each other setting, and invalid values.
OTHERS = {
    "artifacts.flaggedKinds": ([], ALL_KINDS, NO_KINDS),
    "backup.folder": ("", "/mnt/my backups", NO_PATHS),
    "budget.limits": ([], ["all agents: 0.5 USD per month", "main: 1000 tokens per day"], NO_BUDGETS + NO_TEXTS),
    "collector.optedOutSenders": ([], ["alice", "+49 1"] * 500, NO_TEXTS),
    "datasetCollection.positiveCriteria.minQualityScore": (0, 1, [1.1, -0.1, True, "0.5", None]),
    "datasetCollection.privacyFiltering.redactPatterns": (
        [],
        ["ACME-[0-9]+", "token"],
        [[".*"], ["[a-z ]+"], ["("], *NO_TEXTS],
    ),
    "datasetCollection.qualityScoring.weights": (
        QUALITY_WEIGHTS,
        ["conversationClarity: 1", "decisionConfidence: 0", "factVerifiability: 0.000001"],
        [
            QUALITY_WEIGHTS[:2],
            [*QUALITY_WEIGHTS, "tone: 1"],
            [f"{line.partition(':')[0]}: 0" for line in QUALITY_WEIGHTS],
            ["conversationClarity: 1.5", *QUALITY_WEIGHTS[1:]],
            *NO_TEXTS,
        ],
    ),
    "jsonlExport.schedule": ("0 0 * * *", "59 23 * * *", NO_TIMES),
    "llm.model": ("", "x" * 200, ["x" * 201, "two\nlines", 1, None]),
    "llm.prices": ([], [f"m{number}: 0.25 123456.123456" for number in range(200)], NO_PRICES + NO_TEXTS),
    "memoryGate.prompt": ("", "é" * 20_000, NO_TEXT),
    "notifications.mail": ("", "mei.o+claw@mail.example.com", NO_MAIL),
    "notifications.quietHours": ("", "22:00-07:30 Asia/Kolkata", NO_QUIET),
    "notifications.siteAddress": ("", "https://[2001:db8::7]:8443/claw/", NO_SITE),
    "reflection.logFolder": ("", "/var/log/reflection", NO_PATHS),
    "review.guide": ("", "é" * 20_000, NO_TEXT),
    "review.rejectReasons": ([], [f"r{number}: R" for number in range(9)], NO_REASONS + NO_TEXTS),
}
SETTINGS = (
    {key: (False, True, ["true", 1, None]) for key, known in configuration.KEYS.items() if known.field == "switch"}
    | {
        key: (least, most, [least - 1, most + 1, str(most), 1.5, True, None, [], 10**30])
        for key, (least, most) in NUMBERS.items()
    }
    | OTHERS
)
# Functions from a value to the text that a browser sends, by the field of the page.
TYPED = {
    "switch": lambda value: "on" if value else None,
    "choices": lambda value: value or None,
    "lines": "\r\n".join,
    "time": lambda value: "{1:>02}:{0:>02}".format(*value.split()),
}


def save(client, fields=None, **changes):
    """Saves the page with changes; names have `__` for a dot."""
    fields_sent = (fields or read_form(client)) | {name.replace("__", "."): value for name, value in changes.items()}
    return client.post(SAVE, {name: value for name, value in fields_sent.items() if value is not None})


def changes():
    entries = AuditEntry.objects.filter(action="setting_changed").order_by("id")
    return list(entries.values_list("object_id", flat=True))


@pytest.mark.parametrize("key", SETTINGS)
def test_a_setting_has_its_default_takes_its_limits_and_nothing_beyond(as_admin, key):
    least, most, wrong = SETTINGS[key]
    default = configuration.get(key)
    address = f"/api/v1/operations/settings/{key}"
    for value in (least, most):
        answer = as_admin.post(address, {"value": value}, "application/json")
        assert answer.status_code == 200 and answer.json()["value"] == configuration.get(key) == value
        assert answer.json()["default"] == default
    for value in wrong:
        answer = as_admin.post(address, {"value": value}, "application/json")
        assert (answer.status_code in (400, 409) and f"{key} must be " in answer.json()["detail"]) or value == 10**30
        assert configuration.get(key) == most
    entries = AuditEntry.objects.filter(action="setting_changed").values_list("actor", "via", "object_id")
    assert list(entries) == [("root", "api", key)] * 2


def test_a_setting_that_is_none(as_admin):
    assert as_admin.post("/api/v1/operations/settings/nothing", {"value": 1}, "application/json").status_code == 404


def test_the_api_lists_all(as_admin):
    rows = {row["key"]: row for row in as_admin.get("/api/v1/operations/settings").json()["items"]}
    assert rows.keys() == configuration.KEYS.keys() == SETTINGS.keys()


def test_the_page_saves_each_setting_at_its_limits(as_admin):
    for limit in (0, 1):
        values = {key: row[limit] for key, row in SETTINGS.items()}
        typed = {key: TYPED.get(configuration.KEYS[key].field, str)(value) for key, value in values.items()}
        assert save(as_admin, **typed).status_code == 302
        assert configuration.get_many(*values) == values
        assert save(as_admin)["Location"] == PAGE  # the page shows them so that saving it again changes nothing


def test_it_works(as_admin):
    page = html.unescape(as_admin.get(PAGE).text)
    for key, known in configuration.KEYS.items():
        assert f'id="{key}"' in page  # the target of links to one setting
        assert str(known.label) in page
        assert f'name="{key}"' in page
    for heading, _keys in catalogue.GROUPS.values():
        assert f">{heading}</h2>" in page
    assert page.count('class="button button--primary"') == 1


def test_each_help_is_a_sentence_of_less_than_twenty_words():
    for key, known in configuration.KEYS.items():
        assert len(str(known.help).split()) < 20, key
        assert str(known.help).endswith("."), key


def test_a_page_that_nobody_touched_changes_nothing(as_admin):
    configuration.put_all(
        {SENDERS: ["alice"], KINDS: ["jwt", "api_key"], "review.guide": "One\r\n\r\ntwo\n", AT: "5 0 * * *"}
    )
    before = configuration.get_many(*configuration.KEYS)
    response = save(as_admin)
    assert (response.status_code, response["Location"]) == (302, PAGE)
    assert configuration.get_many(*configuration.KEYS) == before
    assert len(changes()) == 4
    assert "Nothing was changed." in as_admin.get(PAGE).text


def test_several_settings_are_saved_at_once_with_an_entry_for_each(as_admin):
    response = save(as_admin, memoryGate__windowSize="12", backup__keep="3", jsonlExport__enabled="on")
    assert response["Location"] == f"{PAGE}#{WINDOW}"  # the first of them: the page does not jump to its top
    assert configuration.get_many(WINDOW, "backup.keep", "jsonlExport.enabled") == {
        WINDOW: 12,
        "backup.keep": 3,
        "jsonlExport.enabled": True,
    }
    assert sorted(changes()) == ["backup.keep", "jsonlExport.enabled", WINDOW]
    assert "Saved: Context of a turn, Backups to keep, Write conversations to daily files." in as_admin.get(PAGE).text


def test_a_value_that_does_not_fit_keeps_all_the_others_from_being_saved(as_admin):
    response = save(as_admin, memoryGate__windowSize="12", backup__keep="-1", backup__folder="backups")
    assert response.status_code == 422
    assert not changes() and configuration.get(WINDOW) == 10
    page = re.sub(r"\s+", " ", response.text)
    assert (
        'Nothing was saved. Change first: <a href="#backup.folder">Backup folder</a>, <a href="#backup.keep">' in page
    )
    assert "Backup folder must be an absolute path, or empty." in page
    assert "Backups to keep must be a whole number from 0 to 1000." in page
    assert FormFields(response.text).values[WINDOW] == "12"  # valid input stays in its field
    assert (
        save(as_admin, FormFields(response.text).values, backup__keep="1", backup__folder="/mnt/my backups").status_code
        == 302
    )
    assert configuration.get_many(WINDOW, "backup.keep", FOLDER) == {
        WINDOW: 12,
        "backup.keep": 1,
        FOLDER: "/mnt/my backups",
    }


@pytest.mark.parametrize(
    ("key", "values", "reason"),
    [
        (
            WINDOW,
            ["", "twelve", "-1", '"12"', "1.5", "201", "9" * 5000, None],
            "Context of a turn must be a whole number from 0 to 200.",
        ),
        (AT, ["", "25:00", "* * * * *"], ""),
        (KINDS, [["nothing"]], "nothing is not one of the available choices."),
    ],
)
def test_what_does_not_fit_comes_back_with_the_reason(as_admin, key, values, reason):
    for value in values:
        response = save(as_admin, **{key: value})
        assert response.status_code == 422 and reason in response.text
    assert not changes()


def test_lines_and_choices_are_put_in_order(as_admin):
    save(as_admin, **{SENDERS: " alice \r\n\r\n+4915112345\r\n", KINDS: ["jwt", "aws_key"]})
    assert configuration.get_many(SENDERS, KINDS) == {SENDERS: ["alice", "+4915112345"], KINDS: ["aws_key", "jwt"]}


def test_what_somebody_else_saved_meanwhile_is_kept(as_admin):
    fields = read_form(as_admin)
    configuration.put_all({"backup.keep": 3, WINDOW: 20}, by="mei")
    save(as_admin, fields, retentionDays="365", memoryGate__windowSize="20")
    assert configuration.get_many("backup.keep", "retentionDays") == {"backup.keep": 3, "retentionDays": 365}
    assert changes() == ["backup.keep", WINDOW, "retentionDays"]


@pytest.mark.parametrize("drawn_values", ["", "nothing", "a=b=c backup.keep", "nothing=1", "\0"])
def test_a_form_that_does_not_tell_what_it_showed_changes_nothing(as_admin, drawn_values):
    save(as_admin, drawn=drawn_values, memoryGate__windowSize="12")
    assert not changes()


def test_a_changed_setting_tells_its_default(as_admin):
    assert "Default: 10 messages" not in as_admin.get(PAGE).text
    configuration.put_all({WINDOW: 12, AT: "30 2 * * *", KINDS: [], "collector.stashOutputs": False})
    page = as_admin.get(PAGE).text
    for default in ("10 messages", "00:00 UTC", "all", "on"):
        assert f"Default: {default}" in page


def test_units_stand_beside_their_fields_and_in_their_names(as_admin):
    page = as_admin.get(PAGE).text
    assert 'Back up every<span class="visually-hidden"> (hours)</span></label>' in page
    assert '<span class="setting__unit" aria-hidden="true">hours</span>' in page


def test_settings_are_found_by_their_words(as_admin):
    """Topics are closed, but for those with a setting that has the words."""
    page = as_admin.get("/operations/settings/").text
    assert page.count('<details class="settings__group fold">') > 3 and 'settings__group fold" open' not in page
    narrow = as_admin.get("/operations/settings/?q=BACKUP").text
    assert narrow.count('settings__group fold" open') >= 1 and "setting--hit" in narrow
    assert narrow.count('settings__group fold" open') < page.count("settings__group fold")
    none = as_admin.get("/operations/settings/?q=<b>nowhere").text
    assert "No setting has the words “&lt;b&gt;nowhere”." in none and "<b>nowhere" not in none
