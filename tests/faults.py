"""Injects faults and outside changes when a file is opened or a statement is run.

Nothing of ours is replaced. Python reports every file that is opened, listed or renamed (audit events), Django every
statement.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connections

_listeners: list[Callable] = []
_is_listening: list[bool] = []


@contextmanager
def watch_files(callback: Callable[[str, str], object]) -> Iterator[None]:
    """Call `callback(event, path)` before each file event.

    The events are `open`, `os.scandir`, `os.rename`, `os.link`, `os.chmod` and `ctypes.dlopen`. The callback may raise
    an exception.
    """
    if not _is_listening:  # an audit hook cannot be removed
        sys.addaudithook(_notify_listeners)
        _is_listening.append(True)
    _listeners.append(callback)
    try:
        yield
    finally:
        _listeners.remove(callback)


@contextmanager
def before_file_event(event: str, matches: Callable[[str], bool], action: Callable[[], object]) -> Iterator[None]:
    """Call `action` just before the first `event` on a path for which `matches(path)` is true."""
    waiting = [action]

    def on_event(name, path):
        if waiting and name == event and matches(path):
            waiting.pop()()

    with watch_files(on_event):
        yield
    assert not waiting, "what was waited for never happened"


@contextmanager
def before_statement(db: str, matches: Callable[[str], bool], action: Callable[[], object]) -> Iterator[None]:
    """Call `action` just before the first statement for `db` for which `matches(sql)` is true.

    The action may raise an exception.
    """
    waiting = [action]

    def run_action_before(execute, sql, params, many, context):
        if waiting and matches(sql):
            waiting.pop()()
        return execute(sql, params, many, context)

    with connections[db].execute_wrapper(run_action_before):
        yield
    assert not waiting, "what was waited for never happened"


def _notify_listeners(event, args):
    if event == "ctypes.dlopen" and _listeners:  # of the C library, before one of its functions is called: no path
        args = ("",)
    elif not isinstance(args[0] if args else None, str | bytes | os.PathLike):
        return
    if _listeners and event in ("open", "os.scandir", "os.rename", "os.link", "os.chmod", "ctypes.dlopen"):
        for listener in list(_listeners):
            listener(event, os.fsdecode(args[0]))
