"""The files that learnt a write, and the export without it once it is rolled back."""

import pytest
from django.urls import reverse

from datasets.models import DatasetExport, VersionTaint
from guardian.models import WriteGuardianAudit
from tests.datasets.dedup.sample_texts import add_sample
from tests.datasets.exports.export_helpers import build_export, excluded_samples, read_rows
from tests.datasets.releases.release_helpers import make_dataset, make_release
from tests.datasets.releases.release_pages import find_links, open_page, send_form
from tests.guardian.write_rows import create_write

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
ROLLED_BACK = "This write was rolled back, and these files teach it."
AGAIN = "Export again without it"


@pytest.fixture
def write(own_home, ada):
    """A write that the turn of x1 was about; x2 is of somebody else."""
    stored = create_write(ada.db, 1, b"# Memory\n", b"# Memory\nTea.\n", turn_id="s1:u1", session_id="s1")
    add_sample("x1", "Reply number one of two", session="s1", turn_id="s1:u1")
    add_sample("x2", "Another reply of somebody else", session="s2", turn_id="s2:u1")
    return stored


def export_learnt(**choices):
    return build_export("alpaca", name="learnt", **choices)


def export_release():
    return export_learnt(release=make_release(make_dataset(train_split=1)).id)


def roll_back():
    WriteGuardianAudit.objects.using("agent_ada").filter(id="w1").update(status="rolled_back")


def test_a_write_that_no_file_learnt_says_so(as_reviewer, write):
    roll_back()
    page = open_page(as_reviewer, "write_uses", "ada", "w1")
    assert "In no file of an export." in page and ROLLED_BACK not in page


def test_it_leads_to_the_row_of_the_file(as_stranger, write):
    export = export_release()
    page = open_page(as_stranger, "write_uses", "ada", "w1")
    [row] = find_links(page, "/exports/")
    assert row == f"{export.get_absolute_url()}?row=1" and "Reply number one of two" in as_stranger.get(row).text
    assert ROLLED_BACK not in page and AGAIN not in page
    assert write.get_absolute_url() in page


def test_a_rolled_back_write_is_exported_again_without_it(as_reviewer, write):
    export = export_release()
    roll_back()
    page = open_page(as_reviewer, "write_uses", "ada", "w1")
    assert ROLLED_BACK in page and AGAIN in page
    assert f'action="{reverse("datasets:export_again", args=[export.id])}"' in page
    assert send_form(as_reviewer, "export_again", export.id).status_code == 302
    assert list(VersionTaint.objects.values_list("sample_id", "reason")) == [("x1", "rolled_back")]
    again = DatasetExport.objects.get(export_name="learnt 2")
    assert [row["sample_id"] for row in read_rows(again)] == ["x2"]
    assert excluded_samples(again) == {"tainted": ["x1"]}


def test_an_export_of_no_release_is_offered_again_too(as_reviewer, write):
    export = export_learnt()
    assert AGAIN not in open_page(as_reviewer, "write_uses", "ada", "w1")
    roll_back()
    page = open_page(as_reviewer, "write_uses", "ada", "w1")
    assert ROLLED_BACK in page and f'action="{reverse("datasets:export_again", args=[export.id])}"' in page


def test_viewers_see_it_and_export_nothing(as_stranger, write):
    export = export_release()
    roll_back()
    page = open_page(as_stranger, "write_uses", "ada", "w1")
    assert ROLLED_BACK in page and AGAIN not in page
    assert send_form(as_stranger, "export_again", export.id).status_code == 403
    assert DatasetExport.objects.count() == 1


@pytest.mark.parametrize("place", [("ada", "w9"), ("ada", "../w1"), ("nobody", "w1")])
def test_an_unknown_write_is_not_found(as_stranger, write, place):
    assert as_stranger.get(reverse("datasets:write_uses", args=place)).status_code == 404
