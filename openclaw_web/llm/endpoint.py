"""Addresses that this process may post to, from the environment: the model endpoint, and the checks of others.

Addresses and keys are neither stored nor shown.
"""

import ipaddress
import re
from dataclasses import dataclass, field

from django.conf import settings
from django.utils.translation import gettext as _

from ..errors import Refused

_PRINTABLE = re.compile(r"[!-~]+")
_SHOWN = re.compile(r"[a-z]+://(?:.*@)?([^/?#\\@]*)", re.IGNORECASE)
_PLACE = re.compile(r"(https?)://(\[[0-9a-f:.]+\]|[\w.-]+)(?::([0-9]{1,5}))?(?:/.*)?", re.IGNORECASE | re.ASCII)
_NAME = re.compile(r"(?!-)[\w-]{1,63}(?:\.(?!-)[\w-]{1,63})*\.?", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class Endpoint:
    """An OpenAI-compatible API: `/chat/completions` is below its address. Or with `is_model=False` another receiver.

    Only `host` may be shown to people and in logs. Sentences name the variables that address and key come from.
    """

    base_url: str
    key: str = field(repr=False)
    url_variable: str = "OPENCLAW_WEB_LLM_URL"
    key_variable: str = "OPENCLAW_WEB_LLM_KEY"
    is_model: bool = True

    def __repr__(self) -> str:
        return f"Endpoint({self.host!r})"

    @property
    def host(self) -> str:
        """`host` or `host:port`, without user, path and key."""
        match = _SHOWN.match(self.base_url)
        return match[1].lower() if match else ""


def is_configured() -> bool:
    """Whether an address is set. `from_environment` says whether it can be used."""
    return bool(settings.LLM_API_URL)


def from_environment() -> Endpoint:
    """The endpoint of the environment. Raises Refused when there is no usable one."""
    if not is_configured():
        text = _("No endpoint for language models is configured. Set OPENCLAW_WEB_LLM_URL to its address.")
        raise Refused(text)
    endpoint = Endpoint(settings.LLM_API_URL.rstrip("/"), settings.LLM_API_KEY)
    if problem := problem_of(endpoint):
        raise Refused(problem)
    return endpoint


def describe_problem() -> str:
    """Why the environment has no usable endpoint, as a sentence; empty when it has one."""
    try:
        from_environment()
    except Refused as refused:
        return refused.sentence
    return ""


def problem_of(endpoint: Endpoint) -> str | None:
    """Why an endpoint cannot be used, as a sentence without its address, or None."""
    address, names = endpoint.base_url, {"url": endpoint.url_variable, "key": endpoint.key_variable}
    if not _PRINTABLE.fullmatch(address) or not address.lower().startswith(("https://", "http://")):
        return _("%(url)s must be an address that begins with https://.") % names
    if any(sign in address for sign in "@?#\\"):
        text = _("%(url)s must be an address without a user name, “?” and “#”. Set the key in %(key)s.")
        return text % names
    place = _PLACE.fullmatch(address)
    if place is None or not _is_possible(host := place[2].strip("[]"), int(place[3] or 1)):
        return _("%(url)s names no possible host and port.") % names
    if place[1].lower() == "http" and not _is_loopback(host):
        text = _(
            "%(url)s would send texts unencrypted to another machine. "
            "Use https://; http:// is for 127.0.0.1, [::1] and localhost only."
        )
        return text % names
    if endpoint.key and not _PRINTABLE.fullmatch(endpoint.key):
        return _("%(key)s contains characters that no key has, such as a space or a line break.") % names
    return None


def _is_possible(host: str, port: int) -> bool:
    is_host = _is_address(host) if ":" in host else _NAME.fullmatch(host)
    return bool(is_host) and 0 < port < 65_536


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host).is_loopback if _is_address(host) else host.lower().rstrip(".") == "localhost"
