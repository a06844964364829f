"""Prepares a site before it serves: updates the home and loads the code once."""

import gc
import hashlib
import logging
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from wsgiref.util import setup_testing_defaults

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.urls import get_resolver, reverse
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from agents import database_loss, databases
from guardian.rollbacks import recovery
from jobs import automatic_tasks
from jobs import kinds as job_kinds
from openclaw_web.disk import reserve
from openclaw_web.errors import Refused
from openclaw_web.sqlite import known_migrations
from problems import kinds as problem_kinds

from . import database_update
from .processes import die_with_parent

log = logging.getLogger(__name__)


@contextmanager
def run_apart(work: Callable[[], object]) -> Iterator[None]:
    """Run `work` in a child process during the block, so that the memory it takes ends with it.

    Where it fails, it says why in the child, and this process ends with its status.
    """
    connections.close_all()
    sys.stdout.flush()
    parent, status = os.getpid(), None
    previous = signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # else the kernel may forget how the child has ended
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)  # Ctrl-C is for the parent, which passes it on
        die_with_parent(parent, "preparation")
        gc.enable()
        work()
        sys.stdout.flush()
        os._exit(0)
    try:
        yield
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        if status is None:
            os.kill(child, signal.SIGINT)
            os.waitpid(child, 0)
        signal.signal(signal.SIGCHLD, previous or signal.SIG_DFL)
    if status:
        if status < 0:
            log.error("The preparation of the site was ended by signal %s.", -status)
        raise SystemExit(max(status, 1))


def bring_up_to_date(say: Callable[[str], object], *, with_backup: bool = True) -> None:
    """Update the databases and static files of the home; fast when they are current.

    Databases with content are backed up before. Raises Refused when that is not possible.
    """
    known_migrations.refuse_other_version(connections[DEFAULT_DB_ALIAS])
    database_update.update_databases(say, with_backup=with_backup)
    if not settings.DEBUG:
        _collect_static()
    for problem in database_loss.find_problems().values():
        say(problem)
    for sentence in recovery.recover_all():
        say(sentence)
    reserve.refill(settings.HOME_DIR)
    connections.close_all()


def load_code() -> None:
    """Import everything that requests and jobs need, so that the forks share it."""
    get_resolver().url_patterns  # noqa: B018 - imports all pages
    databases.get_schema_version()  # reads the migrations once for everybody
    job_kinds.build_choices()  # these import the kinds and their modules
    problem_kinds.labels()


def load_site() -> None:
    """Load the code, and use it once on a home that is up to date: what that creates, the forks share as well."""
    load_code()
    application = import_string("openclaw_web.wsgi.application")
    # Request a page without sign-in, to load what every fork would load again.
    host = settings.ALLOWED_HOSTS[0].lstrip("*.") or "localhost"
    scheme = "https" if settings.HTTPS else "http"  # a redirect to https would load nothing
    environ = {"PATH_INFO": reverse(settings.LOGIN_URL), "HTTP_HOST": host, "wsgi.url_scheme": scheme}
    setup_testing_defaults(environ)
    for _part in (answer := application(environ, lambda *_: None)):
        pass
    answer.close()
    with suppress(DatabaseError):  # such as a full disk: the job worker says so
        automatic_tasks.start_due()
    connections.close_all()
    gc.freeze()  # later collections leave shared pages alone; one now would leave gaps, which the forks would fill
    gc.enable()


def _collect_static():
    """Collect static files when a path, size or time of their sources has changed."""
    stamp = settings.HOME_DIR / "state" / "static.sha256"
    digest = hashlib.sha256(settings.STORAGES["staticfiles"]["BACKEND"].encode())
    for finder in finders.get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    current = digest.hexdigest()
    if stamp.exists() and stamp.read_text() == current and settings.STATIC_ROOT.is_dir():
        return
    shutil.rmtree(settings.STATIC_ROOT, ignore_errors=True)
    try:
        call_command("collectstatic", interactive=False, verbosity=0)
        stamp.write_text(current)
    except OSError as exc:
        log.error("Static files cannot be collected: %s", exc)
        raise Refused(_("The static files could not be prepared. See the messages above.")) from exc
