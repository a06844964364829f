"""Reads `guarantees.toml`, and finds the place of each fault in the code of today."""

import ast
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.suite.sources import MODULES, ROOT, SCRIPTS, TEMPLATES

LIST = Path(__file__).with_name("guarantees.toml")


class OutOfDate(Exception):
    """An entry that no longer fits the code: its fault applies nowhere or at several places, or its test is gone."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """One promise. The fault replaces the text `find` by `replace`; it must turn the test with this node id red."""

    number: int
    promise: str
    docs: str
    file: str
    find: str
    replace: str
    test: str

    def locate_fault(self) -> Path:
        """The file that the fault goes into, relative to the checkout. Raises OutOfDate.

        Code that moved is looked for in all production files.
        """
        path = ROOT / self.file
        if path.is_file() and read_text(path).count(self.find) == 1:
            return Path(self.file)
        counts = {path: read_text(path).count(self.find) for path in MODULES + TEMPLATES + SCRIPTS}
        if sum(counts.values()) != 1:
            times = f"{sum(counts.values())} times in all files" if any(counts.values()) else "nowhere"
            raise OutOfDate(f"{self.number}: the fault of {self.file} applies {times}: {self.find!r}")
        return max(counts, key=counts.get).relative_to(ROOT)

    def check_test(self) -> None:
        """Raise OutOfDate when the file of the test does not define it."""
        file, _, name = self.test.partition("[")[0].rpartition("::")
        file = file.partition("::")[0]
        if not (ROOT / file).is_file() or name not in list_functions(ROOT / file):
            raise OutOfDate(f"{self.number}: there is no test {self.test}")
        if f"@pytest.mark.nightly\ndef {name}(" in re.sub(
            r"\n *@(?!pytest.mark.nightly).*", "", read_text(ROOT / file)
        ):
            raise OutOfDate(f"{self.number}: not every run has the test {self.test}")


def read_guarantees() -> list[Guarantee]:
    entries = tomllib.loads(LIST.read_text())["guarantee"]
    return [Guarantee(number, **entry) for number, entry in enumerate(entries, start=1)]


@cache
def read_text(path: Path) -> str:
    return path.read_text()


@cache
def list_functions(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(read_text(path))) if isinstance(node, ast.FunctionDef)}
