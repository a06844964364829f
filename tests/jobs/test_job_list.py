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


def test_the_list_has_pages(as_admin):
    JobFactory.create_batch(60)
    first = as_admin.get(reverse("jobs:job_list"))
    assert len(first.context["page"]) == 50
    second = as_admin.get(reverse("jobs:job_list"), {"after": first.context["page"].next})
    assert len(second.context["page"]) == 10
    assert not {job.id for job in first.context["page"]} & {job.id for job in second.context["page"]}


def test_the_number_of_queries_does_not_grow(as_admin, django_assert_num_queries):
    for rows in (1, 30):
        JobFactory.create_batch(rows, state="finished")
        with django_assert_num_queries(5):
            as_admin.get(reverse("jobs:job_list"))


def test_an_empty_list_says_what_will_be_here(as_admin):
    assert "No jobs yet" in as_admin.get(reverse("jobs:job_list")).text
