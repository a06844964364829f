"""Messages of jobs are read in the language of the reader, whoever started the job."""

import re

import pytest
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext_lazy, ngettext

from jobs import services as jobs
from jobs.models import JobRun
from openclaw_web import clock, sentences
from openclaw_web.amounts import format_amount
from tests.factories import JobFactory

pytestmark = pytest.mark.django_db
HAN = re.compile("[\u4e00-\u9fff]")
ON_AN_EMPTY_SITE = {
    "findings_scan": {},
    "signatures": {},
    "exchanges": {},
    "gate_statistics": {},
    "doctor_look": {"source": "/nowhere"},
    "backup_verify": {"backup": "latest"},
    "export_verify": {"export": "none"},
    "artifact_gc": {"dry_run": True, "older_than": "1d"},
}


def read(job, language):
    with translation.override(language):
        return JobRun.objects.get(id=job.id).message


@pytest.mark.parametrize("kind", ON_AN_EMPTY_SITE)
def test_a_message_is_the_one_that_a_job_in_that_language_has(kind):
    ended = {}
    for language in ("en", "zh-hans"):
        with translation.override(language):
            ended[language] = jobs.run_now(kind, ON_AN_EMPTY_SITE[kind], by="root")
    english, chinese = (re.sub(r"\d+ ms", "", ended[language].message) for language in ("en", "zh-hans"))
    assert english and not HAN.search(english) and HAN.search(chinese)
    assert (read(ended["en"], "zh-hans"), read(ended["zh-hans"], "en")) == (chinese, english)


def test_pages_and_api_have_it_in_the_language_of_the_request(as_admin):
    with translation.override("zh-hans"):
        job = jobs.run_now("findings_scan", {}, by="root")
    address, place = reverse("jobs:job_list"), f"/api/v1/operations/jobs/{job.id}"
    for language, words in (("en", "0 texts scanned"), ("zh-Hans", "已扫描")):
        headers = {"accept-language": language}
        body = as_admin.get(place, headers=headers).json()
        assert words in body["message"] and body["result"]["message"] == body["message"]
        for page in (address, job.get_absolute_url()):
            assert words in as_admin.get(page, headers=headers).text
        file = as_admin.get(f"{address}?format=csv", headers=headers)
        assert words in b"".join(file.streaming_content).decode()


def test_plurals_contexts_parts_and_names_are_read_again():
    with sentences.record_sentences("en"):
        files = format_amount("files", 1)
        sentence = ngettext("%(count)s finding stored", "%(count)s findings stored", 2) % {
            "count": "2",
            "more": object(),
        }
        text = sentences.join_sentences([sentence + ", " + files + ".", gettext_lazy("Writing rows"), "100% of <ada>"])
    assert text == "2 findings stored, 1 file. Writing rows 100% of <ada>"
    stored = sentences.encode(text)
    assert sentences.decode(stored) == text
    with translation.override("zh-hans"):
        assert re.fullmatch(
            r"[^,]*2[^,]*, 1 [^.]*\.正在[^ ]*100% of <ada>", sentences.decode(stored).replace("\xa0", " ")
        )
        assert sentences.encode(sentences.decode(stored)) == stored


@pytest.mark.parametrize("text", ["Writing rows", "", "100% %(count)s", '{"sentence": 5', '{"sentence":{"id":5}}'])
def test_any_other_text_is_read_as_it_is(as_admin, text):
    job = JobFactory(state="finished", message=text)
    assert (
        as_admin.get(f"/api/v1/operations/jobs/{job.id}", headers={"accept-language": "zh-Hans"}).json()["message"]
        == text
    )


def test_a_canceled_and_a_refused_job_say_so_to_each_reader(as_admin):
    job = jobs.start("signatures", {}, by="root")
    jobs.cancel(job, by="mei")
    assert read(job, "en").startswith("Canceled by mei. ") and read(job, "zh-hans").startswith("由 mei 取消。")


def test_a_problem_has_the_message_of_the_failed_task_in_the_language_of_its_reader(as_admin):
    from people.configuration import setting_values as configuration
    from problems import check_pass

    configuration.put("schedule.signatureMinutes", 5)
    with sentences.record_sentences("zh-hans"):
        message = sentences.join_sentences([gettext_lazy("Writing rows")])
    JobFactory(kind="signatures", started_by="schedule", state="failed", message=message, finished_at=clock.now_ms())
    check_pass.check_all()
    for language, words in (("en", "Writing rows"), ("zh-Hans", "正在")):
        assert words in as_admin.get("/api/v1/problems", headers={"accept-language": language}).text
