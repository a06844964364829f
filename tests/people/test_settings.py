import re

import pytest

from people.configuration import keys as configuration

PAGE = "/operations/settings/"
SENDERS, WINDOW = "collector.optedOutSenders", "memoryGate.windowSize"


def test_it_works(as_admin):
    page = as_admin.get(PAGE).content.decode()
    assert all(key in page for key in configuration.KEYS)


def test_a_list_is_written_one_to_a_line(as_admin):
    response = as_admin.post(f"{PAGE}{SENDERS}/", {"value": " alice \r\n\r\n+4915112345\r\n"})
    assert response["Location"] == PAGE
    assert configuration.get(SENDERS) == ["alice", "+4915112345"]
    assert "alice\n+4915112345" in as_admin.get(PAGE).content.decode()


def test_an_empty_list_can_be_saved(as_admin):
    configuration.put(SENDERS, ["alice"])
    as_admin.post(f"{PAGE}{SENDERS}/", {"value": ""})
    assert configuration.get(SENDERS) == []


def test_everything_else_is_json(as_admin):
    as_admin.post(f"{PAGE}{WINDOW}/", {"value": "12"})
    assert configuration.get(WINDOW) == 12


@pytest.mark.parametrize(
    ("value", "sentence"),
    [("", "required"), ("twelve", "This is not JSON"), ("-1", "must be a whole number"), ('"12"', "must be a whole")],
)
def test_a_value_that_does_not_fit_comes_back_with_the_reason(as_admin, value, sentence):
    response = as_admin.post(f"{PAGE}{WINDOW}/", {"value": value})
    assert response.status_code == 422
    assert sentence in response.content.decode()
    assert configuration.get(WINDOW) == 10


def test_a_setting_that_does_not_exist_is_not_found(as_admin):
    assert as_admin.post(f"{PAGE}collector.everything/", {"value": "1"}).status_code == 404


def field(page, key):
    return re.search(rf'<(input|select|textarea)[^>]* id="{re.escape(key)}-value"[^>]*>', page)[0]


@pytest.mark.parametrize(
    ("key", "shape"),
    [
        (WINDOW, '<input type="number"'),
        ("jsonlExport.enabled", "<select"),
        ("backup.folder", "<textarea"),
        (SENDERS, "<textarea"),
    ],
)
def test_each_setting_has_the_field_that_fits_it(as_admin, key, shape):
    page = as_admin.get(PAGE).content.decode()
    assert field(page, key).startswith(shape)
    assert f'id="{key}"' in page  # where links to one setting lead


def test_a_switch_is_switched(as_admin):
    as_admin.post(f"{PAGE}jsonlExport.enabled/", {"value": "true"})
    assert configuration.get("jsonlExport.enabled") is True
    assert '<option value="true" selected>' in as_admin.get(PAGE).content.decode()


def test_a_text_is_written_as_it_is(as_admin):
    as_admin.post(f"{PAGE}backup.folder/", {"value": "/mnt/my backups"})
    assert configuration.get("backup.folder") == "/mnt/my backups"
    refused = as_admin.post(f"{PAGE}backup.folder/", {"value": "backups"})
    assert refused.status_code == 422
    assert 'backup.folder is not saved. <a href="#backup.folder">' in re.sub(r"\s+", " ", refused.content.decode())
    as_admin.post(f"{PAGE}backup.folder/", {"value": ""})
    assert configuration.get("backup.folder") == ""


def test_a_changed_setting_tells_its_default(as_admin):
    assert "The default is 10." not in as_admin.get(PAGE).content.decode()
    configuration.put(WINDOW, 12)
    assert "The default is 10." in as_admin.get(PAGE).content.decode()
