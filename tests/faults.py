"""Faults and other people from outside, at an exact moment: when a file is opened or a statement reaches a database.

Nothing of ours is replaced. Python tells of every file that is opened, listed or renamed (audit events), Django of
every statement.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connections

_listeners: list[Callable] = []
_is_listening: list[bool] = []


@contextmanager
def watch_files(heard: Callable[[str, str], object]) -> Iterator[None]:
    """Call `heard(event, path)` before each `open`, `os.scandir`, `os.rename`, `os.link`, `os.chmod`, `ctypes.dlopen`.

    It may raise.
    """
    if not _is_listening:  # such a hook cannot be taken away again
        sys.addaudithook(_tell)
        _is_listening.append(True)
    _listeners.append(heard)
    try:
        yield
    finally:
        _listeners.remove(heard)


@contextmanager
def before_file_event(event: str, is_it: Callable[[str], bool], then: Callable[[], object]) -> Iterator[None]:
    """Do `then` just before the first `event` on a path for which `is_it(path)`."""
    waiting = [then]

    def heard(name, path):
        if waiting and name == event and is_it(path):
            waiting.pop()()

    with watch_files(heard):
        yield
    assert not waiting, "what was waited for never happened"


@contextmanager
def before_statement(db: str, is_it: Callable[[str], bool], then: Callable[[], object]) -> Iterator[None]:
    """Do `then` just before the first statement for `db` for which `is_it(sql)`; it may raise."""
    waiting = [then]

    def passing(execute, sql, params, many, context):
        if waiting and is_it(sql):
            waiting.pop()()
        return execute(sql, params, many, context)

    with connections[db].execute_wrapper(passing):
        yield
    assert not waiting, "what was waited for never happened"


def _tell(event, args):
    if event == "ctypes.dlopen" and _listeners:  # of the C library, before one of its functions is called: no path
        args = ("",)
    elif not isinstance(args[0] if args else None, str | bytes | os.PathLike):
        return
    if _listeners and event in ("open", "os.scandir", "os.rename", "os.link", "os.chmod", "ctypes.dlopen"):
        for heard in list(_listeners):
            heard(event, os.fsdecode(args[0]))
