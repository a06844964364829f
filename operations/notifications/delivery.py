"""Sends one message to its receiver, by webhook or by mail.

The message and its id are the same in each try. A message may arrive twice, when the process was killed before it
stored that the message was sent.
"""

import hmac
import json

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.llm import failures
from openclaw_web.llm.endpoint import Endpoint, problem_of
from people.configuration import setting_values as configuration

ADDRESS = "notifications.mail"
SECONDS = 10  # for a whole post; for each step with the mail server, settings.EMAIL_TIMEOUT


def find_channels() -> list[str]:
    """The channels that have a receiver: webhook, mail."""
    receivers = {"webhook": settings.WEBHOOK_API_URL, "mail": settings.EMAIL_HOST and configuration.get_text(ADDRESS)}
    return [channel for channel, receiver in receivers.items() if receiver]


def post(message_id: str, body: str) -> None:
    """Post a message once. Raises Refused with a sentence that has no text of the receiver, as does `send_mail`."""
    names = ("OPENCLAW_WEB_WEBHOOK_URL", "OPENCLAW_WEB_WEBHOOK_SECRET")
    endpoint = Endpoint(settings.WEBHOOK_API_URL, settings.WEBHOOK_API_SECRET, *names, is_model=False)
    if problem := problem_of(endpoint):
        raise Refused(problem)
    if not endpoint.key:
        raise Refused(_("Set OPENCLAW_WEB_WEBHOOK_SECRET: messages to the webhook are signed with it."))
    from openclaw_web.llm import exchange  # importing httpx takes a quarter of a second

    moment = clock.now_ms() // 1000
    signature = hmac.new(endpoint.key.encode(), f"{moment}.{body}".encode(), "sha256").hexdigest()
    headers = {"X-OpenClaw-Signature": f"t={moment},v1={signature}", "Idempotency-Key": message_id}
    answer = exchange.post(endpoint, "", body.encode(), SECONDS, headers)
    if failure := failures.from_status(answer.status) if answer.status else answer.failure:
        facts = {"status": answer.status, "cause": answer.cause, "seconds": SECONDS}
        raise Refused(failures.describe_failure(failure, endpoint, **facts))


def send_mail(message_id: str, body: str) -> None:
    """Mail the text of a message once."""
    address, text = configuration.get_text(ADDRESS), json.loads(body)["text"]
    headers = {"Message-ID": f"<{message_id}@openclaw-web>", "Auto-Submitted": "auto-generated"}
    subject, sender = text.partition("\n")[0], settings.DEFAULT_FROM_EMAIL or address
    try:
        EmailMessage(subject, text, sender, [address], headers=headers).send()
    # Those of smtplib are OSErrors too; their texts are those of the server. A ValueError: a password it cannot send.
    except (OSError, ValueError) as exc:
        words = {"host": settings.EMAIL_HOST, "reason": getattr(exc, "strerror", None) or type(exc).__name__}
        sentence = _("%(host)s did not take the mail (%(reason)s). Check OPENCLAW_WEB_SMTP_URL and the mail address.")
        raise Refused(sentence % words) from exc


SENDERS = {"webhook": post, "mail": send_mail}
