"""The list of jobs."""

import pytest
from django.urls import reverse

from tests.factories import JobFactory

pytestmark = pytest.mark.django_db


def test_people_below_operator_see_what_they_started(as_stranger, stranger):
    own = JobFactory(started_by=stranger.username, message="my own")
    other = JobFactory(started_by="root", message="of another")
    page = as_stranger.get(reverse("jobs:job_list")).text
    assert "my own" in page
    assert "of another" not in page
    assert as_stranger.get(own.get_absolute_url()).status_code == 200
    assert as_stranger.get(other.get_absolute_url()).status_code == 404


@pytest.mark.parametrize(("language", "words"), [("en", "command line"), ("zh-Hans", "命令行")])
def test_who_is_a_user_or_the_command_line_in_the_language_of_the_reader(as_admin, language, words):
    jobs = JobFactory(started_by="command line"), JobFactory(started_by="ada")
    for address in (reverse("jobs:job_list"), jobs[0].get_absolute_url()):
        assert words in as_admin.get(address, headers={"accept-language": language}).text
    assert ">ada<" in as_admin.get(reverse("jobs:job_list"), headers={"accept-language": language}).text
