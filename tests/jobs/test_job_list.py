"""The list of jobs."""

import pytest
from django.urls import reverse

from tests.factories import JobFactory

pytestmark = pytest.mark.django_db


def test_people_below_operator_see_what_they_started(as_stranger, stranger):
    own = JobFactory(started_by=stranger.username, message="my own")
    other = JobFactory(started_by="root", message="of another")
    page, api = as_stranger.get(reverse("jobs:job_list")).text, "/api/v1/operations/jobs"
    assert "my own" in page and "of another" not in page
    assert [job["id"] for job in as_stranger.get(api).json()["items"]] == [own.id]
    for job, status in ((own, 200), (other, 404)):
        assert as_stranger.get(job.get_absolute_url()).status_code == status
        assert as_stranger.get(f"{api}/{job.id}").status_code == status


@pytest.mark.parametrize(("language", "words"), [("en", "command line"), ("zh-Hans", "命令行")])
def test_who_is_a_user_or_the_command_line_in_the_language_of_the_reader(as_admin, language, words):
    jobs = JobFactory(started_by="command line"), JobFactory(started_by="ada")
    for address in (reverse("jobs:job_list"), jobs[0].get_absolute_url()):
        assert words in as_admin.get(address, headers={"accept-language": language}).text
    assert ">ada<" in as_admin.get(reverse("jobs:job_list"), headers={"accept-language": language}).text
