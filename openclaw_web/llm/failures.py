"""Failures of calls to a language model or another receiver, and the sentences about them."""

import math
import socket
import ssl
from enum import StrEnum

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from .. import reasons
from .endpoint import Endpoint
from .usage import NOTHING_KNOWN, Usage

MOST_OF_BODY = 20_000  # characters that are kept of a useless answer


class Failure(StrEnum):
    """Why a call has no answer."""

    unreachable = "unreachable"
    timed_out = "timed_out"
    http_error = "http_error"
    rate_limited = "rate_limited"
    redirected = "redirected"
    cut_off = "cut_off"
    too_large = "too_large"
    wrong_type = "wrong_type"
    not_json = "not_json"
    no_answer = "no_answer"


class CallFailed(Exception):
    """A call without an answer. `is_final`: the same call would fail again.

    `usage` is what the call cost nevertheless, as far as the endpoint reported it.
    """

    def __init__(
        self,
        kind: Failure,
        sentence: str,
        *,
        status: int | None = None,
        body: str = "",
        latency_ms: int = 0,
        retry_after: float | None = None,
        is_final: bool = False,
        usage: Usage = NOTHING_KNOWN,
    ) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence
        self.status = status
        self.body = body[:MOST_OF_BODY]
        self.latency_ms = latency_ms
        self.retry_after = retry_after
        self.is_final = is_final
        self.usage = usage


def from_status(status: int) -> Failure | None:
    """The failure of an HTTP status; None for 200 to 299."""
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return Failure.redirected
    return Failure.rate_limited if status == 429 else Failure.http_error


def is_final(kind: Failure, status: int | None, cause: OSError | None) -> bool:
    """Whether the same call would fail again at any time."""
    if kind == Failure.http_error:
        return status is not None and 400 <= status < 500 and status != 408
    if kind == Failure.unreachable:
        is_name = isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_NONAME
        return cause is None or is_name or isinstance(cause, ssl.SSLCertVerificationError)
    return kind == Failure.redirected


def describe_failure(
    kind: Failure, endpoint: Endpoint, *, status: int | None, cause: OSError | None, seconds: float
) -> str:
    """Describe a failure and its remedy, without any text from the endpoint."""
    names = {"host": endpoint.host, "status": status, "reason": reasons.describe_os_error(cause) if cause else ""}
    names |= {"url": endpoint.url_variable, "key": endpoint.key_variable}
    if kind == Failure.unreachable:
        return _describe_unreachable(cause) % names
    if kind == Failure.http_error:
        return _describe_refusal(status or 0, endpoint) % names
    if kind == Failure.timed_out:
        text = ngettext(
            "%(host)s did not complete its answer within %(seconds)s second.",
            "%(host)s did not complete its answer within %(seconds)s seconds.",
            1 if seconds == 1 else max(2, math.ceil(seconds)),
        )
        return text % {**names, "seconds": f"{seconds:g}"}
    return {
        Failure.rate_limited: _("%(host)s accepts no more requests for now (status %(status)s). Try again later."),
        Failure.redirected: _(
            "%(host)s redirects to another address (status %(status)s), which is not followed. "
            "Set %(url)s to the final address."
        ),
        Failure.cut_off: _("%(host)s ended the connection before its answer was complete."),
        Failure.too_large: _("The answer of %(host)s is larger than 1 MB."),
        Failure.wrong_type: _(
            "%(host)s did not answer as an API does. Check %(url)s: the address of a model often ends with /v1."
        ),
        Failure.not_json: _("The answer of %(host)s is not valid JSON."),
        Failure.no_answer: _("The answer of %(host)s contains no text of the model."),
    }[kind] % names


def _describe_unreachable(cause):
    if isinstance(cause, ConnectionRefusedError):
        return _("Nothing answers at %(host)s. Check that the server runs, and %(url)s.")
    if isinstance(cause, socket.gaierror):
        return _("No machine is known by the name in %(host)s. Check %(url)s.")
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _("The certificate of %(host)s is not trusted, so nothing was sent.")
    if isinstance(cause, ssl.SSLError):
        return _("%(host)s offers no encrypted connection. Check %(url)s.")
    if cause is None:
        return _("%(url)s names no possible address: %(host)s.")
    return _("%(host)s cannot be reached: %(reason)s.")


def _describe_refusal(status, endpoint):
    if status in (401, 403) and not endpoint.key:
        return _("%(host)s asks for a key (status %(status)s). Set %(key)s.")
    if status in (401, 403):
        return _("%(host)s refused the key (status %(status)s). Check %(key)s.")
    if status == 404 and endpoint.is_model:
        return _("%(host)s does not know the address or the model (status %(status)s). Check both.")
    if status >= 500:
        return _("%(host)s failed (status %(status)s). Try again later.")
    return _("%(host)s refused the request (status %(status)s).")
