"""The members of a release, all or of one side."""

import pytest
from django.urls import reverse

from tests.datasets.page_text import read_text
from tests.datasets.releases.release_helpers import add_session, make_dataset, make_release, sides_of
from tests.datasets.releases.release_pages import find_links, list_samples, open_next, open_page
from tests.factories import SessionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(samples):
    """A release without members for validation."""
    return make_release(make_dataset(train_split=0.5, validation_split=0))


def open_members(browser, version, **query):
    return open_page(browser, "member_list", version.dataset_id, version.number, **query)


def test_it_lists_all_and_those_of_a_side(as_stranger, version):
    sides = sides_of(version)
    assert sorted(list_samples(open_members(as_stranger, version))) == sorted(sides)
    for side, word in (("train", "Training"), ("test", "Testing")):
        page = open_members(as_stranger, version, side=side)
        listed = list_samples(page)
        assert sorted(listed) == sorted(sample for sample, own in sides.items() if own == side) != []
        assert page.count(f">{word}</td>") == len(listed)


def test_a_row_says_where_the_sample_is_from_and_leads_to_it(as_stranger, version):
    address = reverse("datasets:member_list", args=[version.dataset_id, 1])
    words = read_text(as_stranger.get(address))
    assert " ada s3 1 " in words and "Approved" in words and "x3-1" not in words
    link = reverse("datasets:sample_detail", args=["x3-1"])
    assert link in find_links(open_members(as_stranger, version))
    assert "s3t1w1" in as_stranger.get(link).text
    SessionFactory(id="s3", title="Kitchen & counter", last_activity_at=1_767_225_600_000)
    assert " ada Kitchen & counter 2026-01-01 1 " in read_text(as_stranger.get(address))


def test_the_tabs_mark_the_side_and_say_how_many(as_stranger, version):
    page = open_members(as_stranger, version, side="test")
    tabs = find_links(page, "/members/")
    assert [tab.partition("?")[2] for tab in tabs] == ["", "side=train", "side=validation", "side=test"]
    assert f'href="{tabs[3]}" aria-current="true"' in page
    count = list(sides_of(version).values()).count("test")
    assert f'Testing <span class="muted">{count}</span>' in page


def test_an_empty_side_says_so(as_stranger, version):
    page = open_members(as_stranger, version, side="validation")
    assert "No members on this side." in page and not list_samples(page)


def test_an_unknown_side_shows_all(as_stranger, version):
    assert len(list_samples(open_members(as_stranger, version, side="nonsense"))) == 20


def test_members_continue_on_a_next_page_of_the_same_side(as_stranger, home):
    for number in range(60):
        add_session(number)
    version = make_release(make_dataset(train_split=1, validation_split=0))
    page = open_members(as_stranger, version, side="train")
    address = reverse("datasets:member_list", args=[version.dataset_id, 1])
    rest = open_next(as_stranger, address, page)
    assert len(list_samples(page)) == 50 and len(list_samples(rest)) == 10
    assert not set(list_samples(page)) & set(list_samples(rest))
    assert as_stranger.get(address, {"after": "nonsense"}).status_code == 409


def test_an_unknown_release_is_not_found(as_stranger, version):
    for args in ([version.dataset_id, 2], ["none", 1]):
        assert as_stranger.get(reverse("datasets:member_list", args=args)).status_code == 404
