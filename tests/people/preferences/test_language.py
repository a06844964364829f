"""The language of a page is the account's or the browser's; programs get the requested one."""

import pytest
from django.test import Client
from django.utils import translation

from jobs import execution
from jobs import services as jobs
from jobs.models import JobRun
from people.accounts import tokens
from tests.factories import JobFactory
from tests.people.sign_in_steps import SIGN_IN, sign_in

CHINESE = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"}
ACCOUNT = "/account/"
pytestmark = pytest.mark.django_db


def head(response):
    return response.content.decode().partition("<head>")[0]


def vary(response):
    return {name.strip() for name in response["Vary"].split(",")}


class TestBeforeSignIn:
    @pytest.mark.parametrize("language_header", ["zh-CN", "zh", "zh-Hans", "zh-SG", "zh-TW", "fr, zh;q=0.5"])
    def test_it_is_the_browsers(self, client, chinese, language_header):
        response = client.get(SIGN_IN, headers={"Accept-Language": language_header})
        assert "<h1>登录</h1>" in response.content.decode()
        assert 'lang="zh-Hans"' in head(response)
        assert response["Content-Language"] == "zh-hans"

    @pytest.mark.parametrize("language_header", ["", "fr", "en-GB", "*", "x" * 3000, "zh\0"])
    def test_else_english(self, client, chinese, language_header):
        response = client.get(SIGN_IN, headers={"Accept-Language": language_header})
        assert "<h1>Sign in</h1>" in response.content.decode()
        assert 'lang="en"' in head(response)

    def test_it_is_chosen_without_javascript_and_remembered(self, client, chinese):
        assert '<button type="submit"' in client.get(SIGN_IN).content.decode()
        chosen = client.post("/account/language/", {"language": "zh-hans", "next": f"{SIGN_IN}?next=/agents/"})
        assert (chosen.status_code, chosen["Location"]) == (302, f"{SIGN_IN}?next=/agents/")
        assert client.cookies["openclaw_web_language"]["max-age"] == 31536000
        assert "登录" in client.get(SIGN_IN, headers={"Accept-Language": "en"}).content.decode()

    def test_it_leads_nowhere_else_and_takes_nothing_else(self, client):
        chosen = client.post("/account/language/", {"language": "en", "next": "https://example.org/"})
        assert chosen["Location"] == SIGN_IN
        assert client.post("/account/language/", {"language": "xx"}).status_code == 400
        assert client.get("/account/language/").status_code == 405

    def test_it_needs_the_token_of_the_form(self, db):
        assert Client(enforce_csrf_checks=True).post("/account/language/", {"language": "en"}).status_code == 403

    def test_what_does_not_fit_is_said_in_it(self, client, stranger, chinese):
        assert "这个字段是必填项。" in client.post(SIGN_IN, {"username": "x"}, headers=CHINESE).content.decode()


class TestAccount:
    def test_it_wins_over_browser_and_cookie(self, as_mei, chinese):
        as_mei.cookies["openclaw_web_language"] = "en"
        response = as_mei.get(ACCOUNT, headers={"Accept-Language": "en"})
        assert 'lang="zh-Hans" data-theme="dark"' in head(response)
        assert "偏好设置</h2>" in response.content.decode()
        assert response["Content-Language"] == "zh-hans"

    def test_without_a_choice_it_is_the_browsers(self, as_stranger, chinese):
        assert 'lang="zh-Hans"' in head(as_stranger.get(ACCOUNT, headers=CHINESE))
        assert 'lang="en"' in head(as_stranger.get(ACCOUNT))

    def test_it_begins_with_the_page_after_sign_in(self, client, stranger, chinese):
        stranger.language = "zh-hans"
        stranger.save()
        assert 'lang="en"' in head(client.get(SIGN_IN))
        assert sign_in(client).status_code == 302
        assert 'lang="zh-Hans"' in head(client.get(ACCOUNT))

    def test_the_answer_to_a_choice_is_in_the_language_that_was_chosen(self, as_stranger, chinese):
        response = as_stranger.post("/account/preferences/", {"language": "zh-hans"}, follow=True)
        assert "偏好设置已保存。" in response.content.decode()

    def test_pages_about_failures_are_in_it(self, as_mei, chinese):
        for path, status in (("/nowhere/", 404), ("/agents/?from=yesterday", 409), ("/operations/users/", 403)):
            response = as_mei.get(path)
            assert (response.status_code, 'lang="zh-Hans"' in head(response)) == (status, True), path

    def test_nothing_of_it_is_left_behind(self, as_mei, chinese):
        before = translation.get_language()
        with translation.override("en"):
            as_mei.get(ACCOUNT)
        assert 'lang="en"' in head(Client().get(SIGN_IN))
        translation.activate(before)

    def test_a_language_that_is_gone_is_as_none(self, as_mei, mei):
        mei.language = "tlh"
        mei.save()
        assert 'lang="en"' in head(as_mei.get(ACCOUNT))


def test_caches_are_told_what_a_page_depends_on(client, as_mei):
    for browser, path in ((Client(), SIGN_IN), (as_mei, ACCOUNT), (as_mei, "/nowhere/")):
        response = browser.get(path)
        assert {"Cookie", "Accept-Language"} <= vary(response), path
        assert "private" in response["Cache-Control"], path


class TestPrograms:
    def test_they_get_the_language_they_ask_for(self, mei, chinese):
        _, token = tokens.make_token(mei, name="x", role="viewer")
        headers = {"Authorization": f"Bearer {token}"}
        response = Client().get("/api/v1/agents/nobody/sessions", headers=headers)
        assert response["Content-Language"] == "en"
        assert response.json()["detail"].isascii()
        body = Client().get("/api/v1/nowhere", headers=headers | CHINESE).json()
        assert body == {"detail": "此地址没有任何内容。", "code": "not_found"}

    def test_what_answers_hold_is_the_same_in_every_language(self, mei, chinese):
        JobFactory(started_by="mei")
        _, token = tokens.make_token(mei, name="x", role="operator")
        headers = {"Authorization": f"Bearer {token}"}
        for path in ("/api/v1/operations/jobs", "/api/v1/agents"):
            english = Client().get(path, headers=headers)
            assert english.status_code == 200
            assert Client().get(path, headers=headers | CHINESE).content == english.content

    def test_files_are_the_same_in_every_language(self, as_mei, mei, admin, chinese):
        JobFactory(started_by="mei")
        chinese_file = b"".join(as_mei.get("/operations/jobs/?format=csv").streaming_content)
        mei.language = mei.time_zone = ""
        mei.save()
        assert b"".join(as_mei.get("/operations/jobs/?format=csv").streaming_content) == chinese_file
        assert chinese_file.decode("utf-8-sig").startswith("id,kind,state")


class TestJobs:
    def start(self, as_mei, home):
        as_mei.post("/operations/collect/", {"source": str(home)})
        return JobRun.objects.get()

    def test_one_that_is_refused_says_so_in_the_language_of_who_reads_it(self, mei, chinese, tmp_path):
        with translation.override("zh-hans"):
            job = jobs.start("collect", {"source": "/no/such/folder"}, by="mei")
        assert job.language == "zh-hans"
        with translation.override("en"):  # a worker
            ended = execution.run(job.id)
        assert ended.state == "refused"
        with translation.override("zh-hans"):
            assert JobRun.objects.get(id=job.id).message == "没有文件夹 /no/such/folder。"
        assert JobRun.objects.get(id=job.id).message.startswith("There is no OpenClaw folder at /no/such/folder.")

    def test_so_does_one_that_somebody_else_cancels(self, mei, chinese):
        with translation.override("zh-hans"):
            job = jobs.start("collect", {"source": "/no/such/folder"}, by="mei")
        jobs.cancel(job, by="root")
        with translation.override("zh-hans"):
            assert JobRun.objects.get(id=job.id).message.startswith("由 root 取消。")

    def test_one_of_before_or_of_nobody_is_english(self, db):
        assert execution.run(
            JobFactory(kind="collect", state="queued", params_json='{"source":"/no"}').id
        ).message.isascii()
