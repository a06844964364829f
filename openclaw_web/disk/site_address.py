"""The address of the running site, stored in the home for links in commands.

`serve` writes it, and commands print their links with it. A second line says where the site listens, for the health
check (operations/server/health_check.py): behind a proxy the address is another.

The file counts only while the lock of the server is held. The kernel releases that lock however the server ends, so
an address that a killed server left behind is never used.
"""

from contextlib import suppress

from django.conf import settings

from . import locks

PORT = 8765
FILE = "serve.address"
LONGEST = 500


def site_address(host: str = "127.0.0.1", port: int = PORT) -> str:
    """The address for browsers of a site that listens on `host` and `port`.

    It has no slash at the end.
    """
    # The name of the site behind its TLS proxy, which listens on the usual port.
    public = next(filter(_is_public, settings.ALLOWED_HOSTS), None) if settings.HTTPS else None
    if public:
        return f"https://{public}"
    reached = _find_reachable_host(host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def write_site_address(host: str, port: int) -> None:
    """Store the address of the site that this process begins to serve.

    On a full disk nothing is written, and links name the usual port.
    """
    file = _get_path()
    draft = file.with_suffix(".new")
    with suppress(OSError):
        draft.write_text(f"{site_address(host, port)}\n{_find_reachable_host(host)} {port}\n")
        draft.chmod(0o600)
        draft.replace(file)


def remove_site_address() -> None:
    """Remove the address when the site stops."""
    with suppress(OSError):
        _get_path().unlink()


def running_site_address() -> str | None:
    """The address of the site that serves this home now, or None.

    None when no site runs, or when this machine cannot tell.
    """
    if not locks.is_held(_get_path().with_name(locks.SERVING)):
        return None
    try:
        address = _get_path().read_text()[:LONGEST].partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError):
        return None
    return address if address.startswith(("http://", "https://")) and not set(address) & set(" \n\r\t") else None


def address_of_links(chosen: str | None = None) -> str:
    """The address that links of a command begin with.

    That is the chosen one, else that of the running site, else the usual one.
    """
    return (chosen or running_site_address() or site_address()).rstrip("/")


def _find_reachable_host(host):
    """The host by which this machine reaches a site that listens on `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - not to listen on


def _is_public(host):
    return "*" not in host and not host.startswith(".") and host not in ("127.0.0.1", "localhost", "[::1]")


def _get_path():
    return settings.HOME_DIR / "state" / FILE
