"""Decides which headers of reverse proxies count, before anything else reads a request.

See docs/proxy.md. Only proxies that OPENCLAW_WEB_PROXIES lists may say who the client is and whether the connection is
encrypted; the same headers from anybody else are removed.
"""

import ipaddress
import re

from django.conf import settings
from django.core.exceptions import BadRequest, ImproperlyConfigured
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from .middleware_base import Middleware

VARIABLE = "OPENCLAW_WEB_PROXIES"
LOOPBACK = "127.0.0.1,::1"
HEALTH = "/healthz"  # asked by `serve` itself and by containers, directly
PREFIX = "HTTP_X_FORWARDED_"
OTHERS = ("HTTP_FORWARDED", "HTTP_X_REAL_IP")
CLIENT, SCHEME = "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO"
SCHEMES = ("http", "https")
WIDEST = 8  # bits that the addresses of a listed network share at least
MOST_HOPS = 20
LONGEST_ENTRY = 100
MAPPED = 96  # bits before an IPv4 address in an IPv6 one
# An address, perhaps with a port: 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1]:80.
ENTRY = re.compile(r"\[(?P<inner>[^]]*:[^]]*)\](:\d{1,5})?|(?P<plain>[^:]+)(:\d{1,5})?|(?P<bare>.*)", re.ASCII)
# Hosts that browsers treat like https.
OWN_MACHINE = re.compile(r"(127\.[\d.]+|\[::1\]|([\w.-]+\.)?localhost)(:\d+)?", re.ASCII | re.IGNORECASE)
FAULTS = {
    "unlisted": _(
        "The reverse proxy at %(address)s is not in OPENCLAW_WEB_PROXIES, so the site does not know whether the "
        "connection is encrypted. Add the address to OPENCLAW_WEB_PROXIES. See “Behind a reverse proxy” in the "
        "documentation."
    ),
    "silent": _(
        "The reverse proxy does not say whether the connection is encrypted. It has to set X-Forwarded-Proto to "
        "exactly one value, http or https. See “Behind a reverse proxy” in the documentation."
    ),
    "wrong": _(
        "The reverse proxy says that the connection is not encrypted, but the browser uses https. The proxy has to "
        "set X-Forwarded-Proto to the scheme that the browser uses. See “Behind a reverse proxy” in the documentation."
    ),
}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ProxyFault(BadRequest):
    """A reverse proxy that is not configured for this site."""


def read_proxies(text: str) -> tuple[Network, ...]:
    """Return the networks that a value of the variable lists.

    Raises ImproperlyConfigured for anything else, and for a network wider than WIDEST.
    """
    return tuple(_read_network(part) for part in map(str.strip, text.split(",")) if part)


def _read_network(text):
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        network = None
    if (
        isinstance(network, ipaddress.IPv6Network)
        and network.network_address.ipv4_mapped
        and network.prefixlen >= MAPPED
    ):
        network = ipaddress.ip_network((network.network_address.ipv4_mapped, network.prefixlen - MAPPED))
    if network is None or network.prefixlen < WIDEST:
        raise ImproperlyConfigured(
            f"{VARIABLE} must hold IP addresses or networks of reverse proxies such as 127.0.0.1,172.18.0.0/16, "
            f"separated by commas and no wider than /{WIDEST}, not {text!r}."
        )
    return network


def parse_address(text: str) -> Address | None:
    """Return the address in an entry of `X-Forwarded-For`, or None.

    A port, the brackets and the zone of an IPv6 address are left out; a mapped IPv4 address becomes one.
    """
    match = ENTRY.fullmatch(text.strip()) if len(text) <= LONGEST_ENTRY else None
    try:
        address = ipaddress.ip_address(match["inner"] or match["plain"] or match["bare"]) if match else None
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or ipaddress.IPv6Address(int(address))  # without the zone
    return address


def find_client(peer: Address, forwarded: str, proxies: tuple[Network, ...]) -> Address:
    """Return the address that the nearest listed proxies saw first.

    Read from the right, where proxies append: everything before an address that is not a listed proxy, or before an
    entry that is no address, may be written by the client.
    """
    client = peer
    for entry in reversed(forwarded.rsplit(",", MOST_HOPS)[-MOST_HOPS:]):
        address = parse_address(entry)
        if address is None:
            break
        client = address
        if not is_listed(address, proxies):
            break
    return client


def is_listed(address: Address | None, proxies: tuple[Network, ...]) -> bool:
    """Whether an address belongs to a listed proxy."""
    return address is not None and any(address in network for network in proxies)


class ProxyHeadersMiddleware(Middleware):
    """Sets the client's address, and refuses requests whose scheme cannot be known.

    Without the refusal, the redirect to https would lead to itself for ever.
    """

    def __call__(self, request):
        meta, peer = request.META, parse_address(request.META.get("REMOTE_ADDR", ""))
        is_proxy = is_listed(peer, settings.PROXIES)
        if peer is not None:
            client = find_client(peer, meta.get(CLIENT, ""), settings.PROXIES) if is_proxy else peer
            meta["REMOTE_ADDR"] = str(client)
        fault = _find_fault(meta, peer, is_proxy) if settings.HTTPS and request.path != HEALTH else None
        for name in [name for name in meta if name.startswith(PREFIX) or name in OTHERS]:
            if name != SCHEME or not is_proxy:
                del meta[name]
        if fault:
            translation.activate(translation.get_language_from_request(request))
            raise ProxyFault(FAULTS[fault] % {"address": peer})
        return self.get_response(request)


def _find_fault(meta, peer, is_proxy):
    """The key in FAULTS of a request with an unknown scheme, or None.

    A request that the server sends to itself in one process has no peer.
    """
    scheme = meta.get(SCHEME)
    if not is_proxy:
        return "unlisted" if peer is not None and scheme is not None else None
    if scheme not in SCHEMES:
        return "silent"
    return "wrong" if scheme == "http" and _is_encrypted_in_browser(meta) else None


def _is_encrypted_in_browser(meta):
    """Whether a browser certainly sent this over https.

    Over http, browsers send `Sec-Fetch-Mode` to their own machine alone.
    """
    return "HTTP_SEC_FETCH_MODE" in meta and not OWN_MACHINE.fullmatch(meta.get("HTTP_HOST", ""))
