"""Prepares a site before it serves: updates the home and loads the code once."""

import gc
import hashlib
import logging
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from wsgiref.util import setup_testing_defaults

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections
from django.urls import get_resolver, reverse
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from agents import database_loss, databases
from guardian.rollbacks import recovery
from jobs import kinds as job_kinds
from openclaw_web.disk import reserve
from openclaw_web.errors import Refused
from openclaw_web.sqlite import known_migrations
from problems import kinds as problem_kinds

from . import database_update
from .processes import die_with_parent

log = logging.getLogger(__name__)


def bring_up_to_date(say: Callable[[str], object], *, with_backup: bool = True) -> None:
    """Update the databases and static files of the home; fast when they are current.

    Databases with content are backed up before. Raises Refused when that is not possible.
    """
    known_migrations.refuse_other_version(connections[DEFAULT_DB_ALIAS])
    database_update.update_databases(say, with_backup=with_backup)
    collector_pid = None if settings.DEBUG else _collect_static()
    for problem in database_loss.find_problems().values():
        say(problem)
    for sentence in recovery.recover_all():
        say(sentence)
    reserve.refill(settings.HOME_DIR)
    connections.close_all()
    if collector_pid and os.waitpid(collector_pid, 0)[1]:
        raise Refused(_("The static files could not be prepared. See the messages above."))


def load_site() -> None:
    """Import everything that requests and jobs need, so that the forks share it."""
    application = import_string("openclaw_web.wsgi.application")
    get_resolver().url_patterns  # noqa: B018 - imports all pages
    databases.get_schema_version()  # reads the migrations once for everybody
    job_kinds.build_choices()  # these import the kinds and their modules
    problem_kinds.labels()
    # Request a page without sign-in, to load what every fork would load again.
    host = settings.ALLOWED_HOSTS[0].lstrip("*.") or "localhost"
    scheme = "https" if settings.HTTPS else "http"  # a redirect to https would load nothing
    environ = {"PATH_INFO": reverse(settings.LOGIN_URL), "HTTP_HOST": host, "wsgi.url_scheme": scheme}
    setup_testing_defaults(environ)
    for _part in (answer := application(environ, lambda *_: None)):
        pass
    answer.close()
    connections.close_all()
    gc.collect()
    gc.freeze()  # later collections leave shared pages alone


def _collect_static():
    """Start collecting static files in a child process; returns its pid, None when they are current."""
    stamp = settings.HOME_DIR / "state" / "static.sha256"
    current = _fingerprint_static_sources()
    if stamp.exists() and stamp.read_text() == current and settings.STATIC_ROOT.is_dir():
        return None
    sys.stdout.flush()
    parent = os.getpid()
    if child := os.fork():
        return child
    status = 1
    try:
        die_with_parent(parent, "collectstatic")
        shutil.rmtree(settings.STATIC_ROOT, ignore_errors=True)
        call_command("collectstatic", interactive=False, verbosity=0)
        stamp.write_text(current)
        status = 0
    except OSError as exc:
        log.error("Static files cannot be collected: %s", exc)
    except BaseException:  # the child must end here, whatever happens
        log.exception("collectstatic failed")
    finally:
        os._exit(status)


def _fingerprint_static_sources():
    """A fingerprint of all static files by path, size and time."""
    digest = hashlib.sha256(settings.STORAGES["staticfiles"]["BACKEND"].encode())
    for finder in finders.get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
