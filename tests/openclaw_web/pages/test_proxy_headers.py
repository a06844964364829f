"""Headers of proxies: who is believed, which address counts, which settings are refused."""

import ipaddress

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from openclaw_web.pages import proxy_headers
from openclaw_web.pages.proxy_headers import find_client, parse_address, read_proxies

SIGN_IN = "/sign-in/"
PROXIES = read_proxies("10.0.0.1, 10.0.1.0/24, 2001:db8::/64")
PEER = ipaddress.ip_address("10.0.0.1")
ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))
CLIENTS = ADDRESSES.filter(lambda address: not proxy_headers.is_listed(parse_address(str(address)), PROXIES))
ENTRIES = {
    "192.0.2.1": "192.0.2.1",
    " 192.0.2.1\t": "192.0.2.1",
    "192.0.2.1:4711": "192.0.2.1",
    "2001:DB8::1": "2001:db8::1",
    "[2001:db8::1]": "2001:db8::1",
    "[2001:db8::1]:443": "2001:db8::1",
    "fe80::1%eth0": "fe80::1",
    "::ffff:192.0.2.1": "192.0.2.1",
    "[::ffff:192.0.2.1]:80": "192.0.2.1",
}
GARBAGE = [
    *("", " ", "unknown", "_hidden", "unix:", "localhost", "192.0.2", "192.0.2.256", "192.0.2.1:", "192.0.2.1:x"),
    *(
        "192.0.2.1:123456",
        "[192.0.2.1]",
        "[::1",
        "::1]",
        "[::1]x",
        "[]",
        "1",
        "0x7f.1",
        "192.0.2.1 evil",
        "192.0.2.1/32",
    ),
    *("٣.0.2.1", "1" * 5000, "[" * 5000, ":" * 5000, "192.0.2.1;192.0.2.2"),
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_an_address_in_one_form(entry):
    assert str(parse_address(entry)) == ENTRIES[entry]


@pytest.mark.parametrize("entry", GARBAGE)
def test_anything_else_is_no_address(entry):
    assert parse_address(entry) is None


@given(st.text(max_size=200))
def test_every_text_is_an_address_or_none(text):
    assert isinstance(parse_address(text), ipaddress.IPv4Address | ipaddress.IPv6Address | None)


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("9.9.9.9, 192.0.2.1", "192.0.2.1"),
        ("9.9.9.9,192.0.2.1,10.0.1.7", "192.0.2.1"),
        ("9.9.9.9, 192.0.2.1:80, [2001:db8::5]:443, 10.0.1.7", "192.0.2.1"),
        ("10.0.1.7, 10.0.1.8", "10.0.1.7"),  # the client is a proxy's machine
        ("", "10.0.0.1"),
        ("192.0.2.1, unknown", "10.0.0.1"),
        ("192.0.2.1,", "10.0.0.1"),
        ("192.0.2.1, , 10.0.1.7", "10.0.1.7"),
        ("9.9.9.9, " + ", ".join(["10.0.1.7"] * 100), "10.0.1.7"),
        (", ".join(["9.9.9.9"] * 100), "9.9.9.9"),
        ("," * 8000, "10.0.0.1"),
    ],
)
def test_the_last_address_that_is_no_proxy_is_the_client(forwarded, client):
    assert str(find_client(PEER, forwarded, PROXIES)) == client


@given(forged=st.text(max_size=300), client=CLIENTS, hops=st.integers(0, 5))
@example(forged="9.9.9.9,", client=ipaddress.ip_address("192.0.2.1"), hops=1)
def test_a_client_cannot_forge_its_address(forged, client, hops):
    """Each listed proxy appends the address of its peer, whatever the client has sent."""
    forwarded = ", ".join([forged, str(client), *["10.0.1.9"] * hops])
    assert find_client(PEER, forwarded, PROXIES) == parse_address(str(client))


@given(forwarded=st.text(alphabet="0123456789abf.:[], %x\x00é", max_size=300))
def test_every_header_gives_an_address(forwarded):
    assert parse_address(str(find_client(PEER, forwarded, PROXIES))) is not None


@pytest.mark.parametrize("text", ["", " ", ",", "127.0.0.1", "127.0.0.1, ::1,", "10.0.0.0/8,fd00::/8"])
def test_the_setting_lists_addresses_and_networks(text):
    assert [str(network) for network in read_proxies(text)] == [
        part if "/" in part else f"{part}/{128 if ':' in part else 32}"
        for part in text.replace(" ", "").split(",")
        if part
    ]


def test_a_mapped_address_is_the_ipv4_address():
    assert read_proxies("::ffff:192.0.2.1, ::ffff:10.0.0.0/104") == read_proxies("192.0.2.1, 10.0.0.0/8")


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "localhost",
        "10.0.0.5/8",
        "10.0.0.0/33",
        "0.0.0.0/0",
        "::/0",
        "::ffff:0:0/96",
        "8.0.0.0/7",
        "fc00::/7",
        "1.2.3.4 5.6.7.8",
    ],
)
def test_other_values_are_refused_in_a_sentence(text):
    with pytest.raises(
        ImproperlyConfigured, match=r"OPENCLAW_WEB_PROXIES must hold .* such as 127\.0\.0\.1,"
    ) as refused:
        read_proxies(f"127.0.0.1,{text}")
    assert repr(text) in str(refused.value)


@pytest.fixture
def behind_proxy(settings):
    """A site with https behind a proxy at 10.0.0.1."""
    settings.HTTPS = settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.PROXIES = PROXIES
    return lambda **environ: Client(**environ).get(SIGN_IN)


@pytest.mark.django_db
class TestRequests:
    FORWARDED = {"HTTP_X_FORWARDED_PROTO": "https", "HTTP_X_FORWARDED_FOR": "192.0.2.1"}

    @pytest.mark.parametrize("peer", ["10.0.0.1", "::ffff:10.0.0.1", "10.0.1.200", "2001:db8::7"])
    def test_a_listed_proxy_is_believed(self, behind_proxy, peer):
        response = behind_proxy(REMOTE_ADDR=peer, **self.FORWARDED)
        assert response.status_code == 200 and response.wsgi_request.META["REMOTE_ADDR"] == "192.0.2.1"

    @pytest.mark.parametrize("peer", ["10.0.0.2", "127.0.0.1", "2001:db8:1::7"])
    def test_nobody_else_is(self, behind_proxy, peer):
        response = behind_proxy(REMOTE_ADDR=peer, **self.FORWARDED)
        assert response.status_code == 400 and f"proxy at {peer} is not in OPENCLAW_WEB_PROXIES" in response.text
        assert "default-src 'none'" in response["Content-Security-Policy"] and response["Permissions-Policy"]
        assert response["Cache-Control"] == "private, no-cache"
        response = behind_proxy(REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR="192.0.2.1")
        assert response.status_code == 301

    @pytest.mark.parametrize("peer", ["10.0.0.1", "192.0.2.9"])
    def test_other_headers_are_removed(self, client, settings, peer):
        settings.PROXIES = PROXIES
        names = ("HOST", "PORT", "PROTO", "SSL", "FOR", "SERVER", "PREFIX", "SCHEME")
        sent = {f"HTTP_X_FORWARDED_{name}": "evil.example" for name in names}
        sent |= {"HTTP_FORWARDED": "for=9.9.9.9", "HTTP_X_REAL_IP": "9.9.9.9"}
        meta = client.get(SIGN_IN, REMOTE_ADDR=peer, **sent).wsgi_request.META
        assert not {name for name in meta if "FORWARDED" in name or "REAL_IP" in name} - {"HTTP_X_FORWARDED_PROTO"}
        assert meta["REMOTE_ADDR"] == peer

    @pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1", "[::1]:8765", "site.localhost"])
    def test_a_browser_on_the_machine_of_the_proxy_is_redirected(self, behind_proxy, host):
        """Browsers treat these hosts as if they used https."""
        sent = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_PROTO": "http", "HTTP_SEC_FETCH_MODE": "navigate"}
        assert behind_proxy(HTTP_HOST=host, **sent).status_code == 301
        assert behind_proxy(HTTP_HOST="agents.example.com", **sent).status_code == 400
