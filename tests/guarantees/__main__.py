"""Plants each fault of `guarantees.toml` in a copy of the checkout, and runs the test that must turn red.

A red test counts when its own call fails: with a wrong assertion, or with what the fault raises. It does not count when
the copy is broken: a module that cannot be imported, an unknown name, a fixture that fails, a test that is not there.
"""

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.guarantees.catalogue import ROOT, Guarantee, OutOfDate, read_guarantees

# Exceptions of code that does not run at all; a fault that causes one proves nothing.
BROKEN = ("SyntaxError", "IndentationError", "ImportError", "ModuleNotFoundError", "NameError", "UnboundLocalError")
PATIENCE_SECONDS = 600
RED, GREEN, UNCLEAR = "red", "GREEN", "?"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a test: red, GREEN, or ? with the reason."""

    result: str
    why: str


class Copy:
    """A copy of the checkout that faults are planted in, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.edits = 0
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listing, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0"):
            if name and (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        if (ROOT / ".prepared").is_dir():
            shutil.copytree(ROOT / ".prepared", folder / ".prepared")

    def run_with_fault(self, guarantee: Guarantee) -> Outcome:
        """Run the test while the fault is planted. Raises OutOfDate."""
        path = self.folder / guarantee.locate_fault()
        original = path.read_text()
        self._write(path, original.replace(guarantee.find, guarantee.replace))
        try:
            return self.run_test(guarantee.test)
        finally:
            self._write(path, original)

    def run_test(self, node: str) -> Outcome:
        report = self.folder / ".report.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-x", f"--junitxml={report}", node]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        try:
            run = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS
            )
        except subprocess.TimeoutExpired:
            return Outcome(UNCLEAR, f"no result after {PATIENCE_SECONDS} s")
        if not report.exists():
            return Outcome(UNCLEAR, (run.stdout + run.stderr).strip().rpartition("\n")[2])
        return _read_report(report)

    def _write(self, path, text):
        """Write a file with a time that it never had, so that Python compiles it again."""
        path.write_text(text)
        self.edits += 1
        os.utime(path, (time.time() + self.edits, time.time() + self.edits))


def _read_report(report):
    cases = list(ET.parse(report).iter("testcase"))
    for kind in ("error", "failure"):
        for element in (case.find(kind) for case in cases):
            if element is None:
                continue
            line = (element.get("message") or element.text or "").strip().partition("\n")[0]
            is_own = kind == "failure" and not line.startswith(BROKEN)
            return Outcome(RED if is_own else UNCLEAR, line)
    if not cases or all(case.find("skipped") is not None for case in cases):
        return Outcome(UNCLEAR, "no test ran")
    return Outcome(GREEN, "")


def check(copies: queue.SimpleQueue, guarantee: Guarantee, *, is_planted: bool) -> Outcome:
    """Run the test of a guarantee in a free copy, and print the outcome."""
    copy, began = copies.get(), time.monotonic()
    try:
        outcome = copy.run_with_fault(guarantee) if is_planted else copy.run_test(guarantee.test)
    except OutOfDate as exc:
        outcome = Outcome(UNCLEAR, str(exc))
    finally:
        copies.put(copy)
    seconds = time.monotonic() - began
    print(f"{guarantee.number:>3} {outcome.result:<5} {seconds:5.1f} s  {guarantee.promise}")  # noqa: T201
    print(f"{'':19}{guarantee.test}: {outcome.why[:160]}", flush=True)  # noqa: T201
    return outcome


def parse_numbers(text: str) -> set[int]:
    """The numbers of `3,10-12`."""
    spans = [part.partition("-") for part in text.split(",")]
    return {number for first, _dash, last in spans for number in range(int(first), int(last or first) + 1)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.guarantees", description=__doc__)
    parser.add_argument("--only", type=parse_numbers, metavar="N,...", help="numbers of guarantees, such as 3,10-12")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the checkout that are used at the same time")
    parser.add_argument("--no-fault", action="store_true", help="run the tests without the faults: all must be green")
    options = parser.parse_args()
    guarantees = [each for each in read_guarantees() if options.only is None or each.number in options.only]
    expected = GREEN if options.no_fault else RED
    copies: queue.SimpleQueue = queue.SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="guarantees-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        for number in range(options.jobs):
            copies.put(Copy(Path(folder, str(number))))
        outcomes = list(pool.map(partial(check, copies, is_planted=not options.no_fault), guarantees))
    wrong = [str(each.number) for each, outcome in zip(guarantees, outcomes, strict=True) if outcome.result != expected]
    print(f"{len(outcomes) - len(wrong)} of {len(outcomes)} are {expected}. Others: {', '.join(wrong) or 'none'}")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
