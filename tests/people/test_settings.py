import re

import pytest

from people.configuration import keys as configuration
from people.models.kept import AuditEntry
from tests.people.settings_page import PAGE, SAVE, Fields, drawn

SENDERS, WINDOW, FOLDER = "collector.optedOutSenders", "memoryGate.windowSize", "backup.folder"
KINDS, AT = "artifacts.flaggedKinds", "jsonlExport.schedule"


def save(client, fields=None, **changes):
    """Saves the page with changes: names with `__` for a dot."""
    sent = (fields or drawn(client)) | {name.replace("__", "."): value for name, value in changes.items()}
    return client.post(SAVE, {name: value for name, value in sent.items() if value is not None})


def changes():
    entries = AuditEntry.objects.filter(action="setting_changed").order_by("id")
    return list(entries.values_list("object_id", flat=True))


def test_it_works(as_admin):
    page = as_admin.get(PAGE).text
    for key, known in configuration.KEYS.items():
        assert f'id="{key}"' in page  # where links to one setting lead
        assert str(known.label) in page
        assert f'name="{key}"' in page
    for heading, _keys in configuration.GROUPS.values():
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
    before = configuration.several(*configuration.KEYS)
    told = save(as_admin)
    assert (told.status_code, told["Location"]) == (302, PAGE)
    assert configuration.several(*configuration.KEYS) == before
    assert len(changes()) == 4
    assert "Nothing was changed." in as_admin.get(PAGE).text


def test_several_settings_are_saved_at_once_with_an_entry_for_each(as_admin):
    told = save(as_admin, memoryGate__windowSize="12", backup__keep="3", jsonlExport__enabled="on")
    assert told["Location"] == f"{PAGE}#{WINDOW}"  # where the first of them is: the page does not jump to its top
    assert configuration.several(WINDOW, "backup.keep", "jsonlExport.enabled") == {
        WINDOW: 12,
        "backup.keep": 3,
        "jsonlExport.enabled": True,
    }
    assert sorted(changes()) == ["backup.keep", "jsonlExport.enabled", WINDOW]
    assert "Saved: Context of a turn, Backups to keep, Write conversations to daily files." in as_admin.get(PAGE).text


def test_a_value_that_does_not_fit_keeps_all_the_others_from_being_saved(as_admin):
    told = save(as_admin, memoryGate__windowSize="12", backup__keep="-1", backup__folder="backups")
    assert told.status_code == 422
    assert not changes() and configuration.get(WINDOW) == 10
    page = re.sub(r"\s+", " ", told.text)
    assert (
        'Nothing was saved. Change first: <a href="#backup.folder">Backup folder</a>, <a href="#backup.keep">' in page
    )
    assert "Backup folder must be an absolute path, or empty." in page
    assert "Backups to keep must be a whole number from 0 to 1000." in page
    assert Fields(told.text).values[WINDOW] == "12"  # what fits is typed still
    assert (
        save(as_admin, Fields(told.text).values, backup__keep="1", backup__folder="/mnt/my backups").status_code == 302
    )
    assert configuration.several(WINDOW, "backup.keep", FOLDER) == {
        WINDOW: 12,
        "backup.keep": 1,
        FOLDER: "/mnt/my backups",
    }


@pytest.mark.parametrize("value", ["", "twelve", "-1", '"12"', "1.5", "201", "9" * 5000, None])
def test_a_number_that_is_none_comes_back_with_the_reason(as_admin, value):
    told = save(as_admin, memoryGate__windowSize=value)
    assert told.status_code == 422
    assert "Context of a turn must be a whole number from 0 to 200." in told.text
    assert configuration.get(WINDOW) == 10


def test_what_somebody_else_saved_meanwhile_is_kept(as_admin):
    fields = drawn(as_admin)
    configuration.put_all({"backup.keep": 3, WINDOW: 20}, by="mei")
    save(as_admin, fields, retentionDays="365", memoryGate__windowSize="20")
    assert configuration.several("backup.keep", "retentionDays") == {"backup.keep": 3, "retentionDays": 365}
    assert changes() == ["backup.keep", WINDOW, "retentionDays"]


@pytest.mark.parametrize("told", ["", "nothing", "a=b=c backup.keep", "nothing=1", "\0"])
def test_a_form_that_does_not_tell_what_it_showed_changes_nothing(as_admin, told):
    save(as_admin, drawn=told, memoryGate__windowSize="12")
    assert not changes()


def test_a_list_is_written_one_to_a_line(as_admin):
    save(as_admin, collector__optedOutSenders=" alice \r\n\r\n+4915112345\r\n")
    assert configuration.get(SENDERS) == ["alice", "+4915112345"]
    assert drawn(as_admin)[SENDERS] == "alice\r\n+4915112345"
    save(as_admin, collector__optedOutSenders="")
    assert configuration.get(SENDERS) == []


def test_a_switch_is_switched(as_admin):
    save(as_admin, jsonlExport__enabled="on", collector__stashOutputs=None)
    assert configuration.several("jsonlExport.enabled", "collector.stashOutputs") == {
        "jsonlExport.enabled": True,
        "collector.stashOutputs": False,
    }
    assert "jsonlExport.enabled" in drawn(as_admin) and "collector.stashOutputs" not in drawn(as_admin)


def test_kinds_of_secrets_are_ticked(as_admin):
    save(as_admin, artifacts__flaggedKinds=["jwt", "aws_key"])
    assert configuration.get(KINDS) == ["aws_key", "jwt"]
    assert save(as_admin, artifacts__flaggedKinds=["nothing"]).status_code == 422
    save(as_admin, artifacts__flaggedKinds=None)
    assert configuration.get(KINDS) == []


def test_a_time_of_the_day_is_kept_as_a_cron_expression(as_admin):
    assert drawn(as_admin)[AT] == "00:00"
    save(as_admin, jsonlExport__schedule="02:30")
    assert configuration.get(AT) == "30 2 * * *"
    assert drawn(as_admin)[AT] == "02:30"
    for value in ("", "25:00", "* * * * *"):
        assert save(as_admin, jsonlExport__schedule=value).status_code == 422
    assert configuration.get(AT) == "30 2 * * *"


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
