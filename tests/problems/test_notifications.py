"""Notifications: problems go to a real server on loopback and to a mailbox, once each, with counts and links only."""

import hmac
import json
import logging
import socketserver
import threading
from datetime import UTC, datetime

import pytest
from django.core import mail
from django.urls import reverse

from jobs import automatic_tasks, execution
from jobs import services as jobs
from jobs.models import JobRun
from openclaw_web import clock
from operations.models import Notification
from operations.notifications import delivery
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from problems import kinds, problem_store, services
from problems.models import Problem
from tests import llm_endpoint as scripted

from .check_results import check

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("proven")]
SECRET, CANARY = "-".join(["whsec", "0123456789"]), "canary /home/mei/notes.md"  # the first is in no source line
TEST, JSON = "/api/v1/operations/notifications/test", "application/json"


@pytest.fixture
def receiver(settings):
    """A webhook that is turned on."""
    configuration.put_all({"schedule.notifyMinutes": 1, "notifications.siteAddress": "https://claw.example.com/"})
    with scripted.Endpoint(scripted.sends(b"")) as server:
        settings.WEBHOOK_API_URL, settings.WEBHOOK_API_SECRET = f"{server.root}/hook/", SECRET
        yield server


@pytest.fixture
def mailbox(settings):
    settings.EMAIL_HOST = "mail.example.com"
    configuration.put_all({"schedule.notifyMinutes": 1, "notifications.mail": "mei@example.com"})
    return mail.outbox


def plant(key="1", kind="disk", severity=96, **columns):
    now = clock.now_ms()
    facts = {"detail_json": json.dumps({"folder": CANARY}), "subject": CANARY, "agent_id": "main"}
    columns = {"since_at": now, "opened_at": now, "last_seen_at": now} | facts | columns
    return Problem.objects.create(id=key, kind=kind, severity=severity, **columns)


def work():
    """Do what the worker does: start what is due, and run it; returns the jobs."""
    automatic_tasks.start_due()
    return [job for job in iter(execution.run_next, None) if job.kind == "notifications"]


def bodies(server):
    return [request.question for request in server.requests]


def test_it_works(receiver, mailbox, later, caplog):
    caplog.set_level(logging.DEBUG)
    at = int(datetime(2026, 2, 21, 11, tzinfo=UTC).timestamp() * 1000)
    plant("1", since_at=at)
    plant("2", since_at=at - 1000)
    plant("3", kind="task_failed", severity=82, since_at=at)
    plant("4", kind="gate_drift", severity=40)
    plant("5", seen_at=at, seen_by="mei")
    plant("6", state="muted")
    (job,) = work()
    (body,) = bodies(receiver)
    link = "https://claw.example.com/operations/?kind="
    disk = {"kind": "disk", "count": 2, "severity": "error", "since": at - 1000, "link": f"{link}disk&segment=open"}
    assert body["site"] == "https://claw.example.com" and body["problems"][0] == disk
    assert [problem["kind"] for problem in body["problems"]] == ["disk", "task_failed"]
    assert body["text"].splitlines()[:4] == [
        *(
            "OpenClaw Web: 3 new problems",
            "",
            "Error: Disk, 2 new since 2026-02-21 10:59:59 UTC",
            f"{link}disk&segment=open",
        )
    ]
    request = receiver.requests[0]
    assert request.path == "/hook/" and "Authorization" not in request.headers
    moment, signature = (part.split("=")[1] for part in request.headers["X-OpenClaw-Signature"].split(","))
    signed = moment.encode() + b"." + request.body
    assert signature == hmac.new(SECRET.encode(), signed, "sha256").hexdigest()
    (message,) = mailbox
    assert (message.to, message.subject, message.body) == (
        ["mei@example.com"],
        "OpenClaw Web: 3 new problems",
        body["text"],
    )
    assert job.message == "2 messages sent." and not Notification.objects.exists()
    sent = [request.body.decode(), str(request.headers), message.message().as_string(), caplog.text, str(job.__dict__)]
    assert not any(word in text for word in (CANARY, "canary", "mei/", SECRET) for text in sent)
    later(hours=1)
    assert work() == []  # nothing is new


def test_nothing_is_sent_until_it_is_turned_on(settings, as_admin):
    plant()
    assert work() == []
    configuration.put("schedule.notifyMinutes", 1)
    assert work() == []
    as_admin.post("/operations/notifications/test/")
    (job,) = work()
    assert job.state == "refused" and "set OPENCLAW_WEB_WEBHOOK_URL" in job.message


DISK = problem_store.problem_id("disk", "", "")


def find_disk(**finding):
    """Store that a check found this problem and looked for no other one."""
    result = problem_store.PassResult(kinds.all_kinds(), {})
    result.findings = [("disk", "", kinds.Finding(**finding))]
    problem_store.store_findings(result)


def test_what_came_back_or_got_worse_is_sent_again(receiver, later):
    find_disk(severity=40)
    configuration.put("notifications.warnings", True)
    work()
    find_disk(severity=96)
    later(hours=1)
    work()
    assert [body["problems"][0]["severity"] for body in bodies(receiver)] == ["warning", "error"]
    services.close(DISK, by="mei")
    find_disk(level=1)
    later(hours=2)
    work()
    assert len(receiver.requests) == 3
    services.mute(DISK, by="mei", reason="Known.")
    services.unmute(DISK, by="mei")
    later(hours=3)
    assert work() == []
    services.mute(DISK, by="mei", reason="Known.", until="2099-01-01")
    Problem.objects.update(muted_until=clock.now_ms() - 1)
    find_disk(level=1)
    later(hours=4)
    work()
    assert len(receiver.requests) == 4


FAILURES = {
    "redirects to another address (status 307)": scripted.redirects("http://127.0.0.1:9/"),
    "failed (status 500)": scripted.fails(500),
    "refused the key (status 401). Check OPENCLAW_WEB_WEBHOOK_SECRET": scripted.fails(401),
    "refused the request (status 404)": scripted.fails(404),
    "accepts no more requests": scripted.fails(429),
    "did not complete its answer within 0.2 seconds": scripted.hangs(),
    "did not answer as an API does. Check OPENCLAW_WEB_WEBHOOK_URL": scripted.says_bytes(b"SSH-2.0\r\n\r\n"),
    "ended the connection": scripted.resets(),
}


@pytest.mark.parametrize("sentence", FAILURES)
def test_a_message_that_fails_is_tried_again_with_its_id(receiver, mailbox, later, monkeypatch, sentence):
    monkeypatch.setattr(delivery, "SECONDS", 0.2)
    receiver.then(FAILURES[sentence])
    plant()
    (job,) = work()
    assert sentence in job.message and len(mailbox) == 1  # a webhook that is down holds up no mail
    assert [text for text in check() if sentence in text and "Notifications do not get through" in text]
    assert SECRET not in job.message and "/hook" not in job.message
    later(seconds=62)
    plant("2")
    receiver.then(scripted.sends(b"", status=204))
    work()
    ids = [request.headers["Idempotency-Key"] for request in receiver.requests]
    assert ids[0] == ids[1] != ids[2] and receiver.requests[0].body == receiver.requests[1].body
    assert len(mailbox) == 2 and not Notification.objects.exists()
    assert not [text for text in check() if "do not get through" in text]


def test_answers_of_any_length_and_type_are_enough(receiver, monkeypatch):
    monkeypatch.setattr(delivery, "SECONDS", 0.5)
    plant()
    for number, behaviour in enumerate((scripted.too_large(), scripted.trickles(), scripted.web_page()), 1):
        receiver.then(behaviour)
        Problem.objects.update(notified_severity=0)
        JobRun.objects.all().delete()
        assert [job.message for job in work()] == ["1 message sent."] and len(receiver.requests) == number


def test_tries_are_bounded_and_their_problem_is_told_to_nobody(receiver, later):
    configuration.put("notifications.warnings", True)
    receiver.then(scripted.fails(503))
    plant()
    for minutes in range(0, 6 * 60, 10):
        later(seconds=minutes * 61)
        work()
        if minutes % 60 == 0:
            check()
    ids = [request.headers["Idempotency-Key"] for request in receiver.requests]
    assert max(map(ids.count, ids)) == 10 and Notification.objects.count() <= 2
    assert "not_notified" not in {problem["kind"] for body in bodies(receiver) for problem in body["problems"]}
    assert Problem.objects.get(kind="not_notified").state == "open"
    receiver.then(scripted.sends(b""))
    later(hours=40)
    plant("new")
    work()
    assert not Notification.objects.exists()


def test_few_messages_wait_and_what_begins_meanwhile_is_sent_afterwards(receiver, later):
    receiver.then(scripted.fails(503))
    for number in range(30):
        later(seconds=number * 61)
        plant(str(number))
        work()
    assert Notification.objects.count() == 20
    receiver.then(scripted.sends(b""))
    for hours in (2, 3):
        later(hours=hours)
        work()
    sent = {body["text"]: sum(problem["count"] for problem in body["problems"]) for body in bodies(receiver)}
    assert not Notification.objects.exists() and 10 in sent.values()


QUIET = {  # UTC hour: whether it is quiet
    "22:00-07:00": {21: False, 22: True, 0: True, 6: True, 7: False},
    "22:00-07:00 Asia/Shanghai": {13: False, 14: True, 22: True, 23: False},
    "01:00-02:00 UTC": {0: False, 1: True, 2: False},
    "07:00-07:00": {6: False, 7: False},
}


@pytest.mark.parametrize("hours", QUIET)
def test_quiet_hours(receiver, monkeypatch, hours):
    configuration.put("notifications.quietHours", hours)
    for number, (hour, is_quiet) in enumerate(QUIET[hours].items()):
        at = int(datetime(2026, 3, 1, hour, 0, 30, tzinfo=UTC).timestamp() * 1000)
        monkeypatch.setattr(clock, "now_ms", lambda at=at: at)
        JobRun.objects.all().delete()
        Problem.objects.all().delete()
        plant(str(number))
        before = len(receiver.requests)
        work()
        assert (len(receiver.requests) == before) == is_quiet, hour


def test_what_began_in_quiet_hours_goes_out_together_also_when_the_clock_jumps(receiver, monkeypatch):
    configuration.put("notifications.quietHours", "22:00-07:00")
    receiver.then(scripted.fails(500), scripted.sends(b""))
    times = [(1, 23), (2, 3), (2, 7), (1, 8), (1, 9)]  # after the failure at 7:00 the clock was put back by a day
    for number, (day, hour) in enumerate(times):
        at = int(datetime(2026, 3, day, hour, tzinfo=UTC).timestamp() * 1000)
        monkeypatch.setattr(clock, "now_ms", lambda at=at: at)
        plant(str(number)) if hour in (23, 3) else None
        work()
    assert [body["problems"][0]["count"] for body in bodies(receiver)] == [2, 2]
    assert len({request.headers["Idempotency-Key"] for request in receiver.requests}) == 1


def test_a_test_message(receiver, mailbox, as_admin):
    page = as_admin.get(reverse("people:settings")).text
    assert 'form="notification-test"' in page and SECRET not in page and "/hook" not in page
    assert as_admin.post("/operations/notifications/test/").status_code == 302
    (job,) = work()
    assert job.message == "The test message was sent: webhook, mail."
    assert bodies(receiver)[0]["problems"] == [] and "test message" in mailbox[0].subject
    assert AuditEntry.objects.filter(action="notifications_started", actor="root").exists()
    receiver.then(scripted.fails(500))
    assert as_admin.post(TEST, {}, JSON).status_code == 202
    (job,) = work()
    assert job.state == "refused" and "(status 500)" in job.message and not Notification.objects.exists()
    assert len(mailbox) == 2  # the other receiver got it all the same


def test_only_operators_send_test_messages(receiver, as_stranger, as_operator):
    answers = [as_stranger.post(TEST, {}, JSON), as_stranger.post("/operations/notifications/test/")]
    assert [answer.status_code for answer in answers] == [403, 403]
    assert not JobRun.objects.exists()
    assert as_operator.post(TEST, {}, JSON).status_code == 202


@pytest.mark.parametrize(
    ("url", "secret", "sentence"),
    [
        ("http://192.168.0.2/hook", SECRET, "OPENCLAW_WEB_WEBHOOK_URL would send texts unencrypted"),
        ("https://mei:pw@example.com/", SECRET, "OPENCLAW_WEB_WEBHOOK_URL must be an address without a user name"),
        ("ftp://example.com/", SECRET, "OPENCLAW_WEB_WEBHOOK_URL must be an address that begins with https://"),
        ("http://127.0.0.1:9/", "", "Set OPENCLAW_WEB_WEBHOOK_SECRET"),
        ("http://127.0.0.1:9/", "two words", "OPENCLAW_WEB_WEBHOOK_SECRET contains characters"),
        ("http://127.0.0.1:9/", SECRET, "Nothing answers at 127.0.0.1:9"),
    ],
)
def test_receivers_that_cannot_be_used(receiver, settings, as_operator, url, secret, sentence):
    settings.WEBHOOK_API_URL, settings.WEBHOOK_API_SECRET = url, secret
    jobs.start("notifications", {"test": True}, by="otto")
    (job,) = work()
    assert job.state == "refused" and sentence in job.message and "pw" not in job.message


class MailServer(socketserver.StreamRequestHandler):
    """A mail server that answers the command `refused` with status 554, and every other one with success."""

    def handle(self):
        self.answer(220)
        while line := self.rfile.readline():
            command = line[:4].upper().strip().decode()
            self.answer(554 if command == self.server.refused else 354 if command == "DATA" else 250)
            while command == "DATA" and line not in (b"", b".\r\n"):
                line = self.rfile.readline()
                self.server.lines.append(line)
            if command == "DATA":
                self.answer(250)

    def answer(self, status):
        self.wfile.write(b"%d canary\r\n" % status)


@pytest.fixture
def mail_server(mailbox, settings):
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = "django.core.mail.backends.smtp.EmailBackend", "127.0.0.1"
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), MailServer) as server:
        server.refused, server.lines, settings.EMAIL_PORT = "", [], server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_mail_over_a_real_connection_has_the_same_id_in_each_try(mail_server, later):
    plant()
    mail_server.refused = "RCPT"
    (job,) = work()
    assert "127.0.0.1 did not take the mail (SMTPRecipientsRefused)" in job.message and "canary" not in job.message
    key = Notification.objects.get(failure=job.message).id
    assert [text for text in check() if text.startswith("Notifications do not get through: 127.0.0.1")]
    later(seconds=62)
    mail_server.refused = ""
    work()
    text = b"".join(mail_server.lines).decode()
    assert f"Message-ID: <{key}@openclaw-web>" in text and "Error: Disk, 1 new since" in text and CANARY not in text
    mail_server.shutdown()
    mail_server.socket.close()
    plant("2")
    later(seconds=130)
    (job,) = work()
    assert "127.0.0.1 did not take the mail (Connection refused)." in job.message
