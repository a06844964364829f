"""The recorded demo: an OpenClaw home and what its plugins reported, with every date moved so that it ends today.

README.md beside this module says how it was recorded.
"""

import io
import os
import re
import tarfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import orjson
import zstandard

FILE = Path(__file__).parent / "recording.tar.zst"
HOME, SITE = "openclaw/", "site/"
DAY_MS = 86_400_000
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]
# Times in the recording: milliseconds, days as 2026-05-20 with or without their weekday, and days in words.
MOMENT = re.compile(rb"(?<![\w.-])1[78]\d{11}(?![\w.])")
DAY = re.compile(rb"(?:\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?<!\d)(2026)-(\d\d)-(\d\d)(?!\d)")
CLOCK_DAY = re.compile(rb"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2}) (\d\d) (\d\d:\d\d:\d\d \+08 )2026\b")
LONG_DAY = re.compile(
    rb"\b(%s), (%s) (\d{1,2})(?:st|nd|rd|th), 2026\b" % ("|".join(WEEKDAYS).encode(), "|".join(MONTHS).encode())
)


class Recording:
    """The recording as it would have been made on another day; `until_ms` is the midnight (UTC) at which it ends."""

    def __init__(self, until_ms: int):
        with zstandard.open(FILE, "rb") as packed:
            archive = tarfile.open(fileobj=io.BytesIO(packed.read()))  # noqa: SIM115 - the members stay in memory
        self._members = {member.name: (archive.extractfile(member).read(), member.mtime) for member in archive}
        self._days = 0
        (self.facts,) = self.read_rows("recording")
        self._days = (until_ms - self.facts["until_ms"]) // DAY_MS

    def write_home(self, folder: Path) -> None:
        """Write the OpenClaw home into a folder, each file with the time at which it was changed."""
        for name, (content, modified_s) in self._members.items():
            if name.startswith(HOME):
                file = folder / self._move(name.removeprefix(HOME).encode()).decode()
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(self._move(content))
                modified = modified_s + self._days * DAY_MS // 1000
                os.utime(file, (modified, modified))

    def read_rows(self, name: str, agent_id: str | None = None) -> list[dict[str, Any]]:
        """The rows of a table of the site: of one agent without the column `agent`, or of all."""
        rows = map(orjson.loads, self._move(self._members[f"{SITE}{name}.jsonl"][0]).splitlines())
        if agent_id is None:
            return list(rows)
        return [row for row in rows if row.pop("agent") == agent_id]

    def iterate_records(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield the agent and the records of each transcript, without lines that are no records."""
        for name, (content, _modified) in self._members.items():
            if "/sessions/" in name and ".jsonl" in name:
                yield name.split("/")[2], list(_parse_lines(self._move(content)))

    def _move(self, content: bytes) -> bytes:
        if not self._days:
            return content
        shift = self._days * DAY_MS
        content = MOMENT.sub(lambda match: b"%d" % (int(match[0]) + shift), content)
        content = DAY.sub(lambda match: self._write_day(match).encode(), content)
        content = CLOCK_DAY.sub(lambda match: self._write_clock_day(match).encode(), content)
        return LONG_DAY.sub(lambda match: self._write_long_day(match).encode(), content)

    def _write_day(self, match):
        day = date(*(int(part) for part in match.groups()[1:])) + timedelta(self._days)
        return f"{day:%a }{day}" if match[1] else f"{day}"

    def _write_clock_day(self, match):
        month = [name[:3] for name in MONTHS].index(match[2].decode()) + 1
        day = date(2026, month, int(match[3])) + timedelta(self._days)
        return f"{day:%a %b %d} {match[4].decode()}{day.year}"

    def _write_long_day(self, match):
        day = date(2026, MONTHS.index(match[2].decode()) + 1, int(match[3])) + timedelta(self._days)
        ending = "th" if 10 < day.day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
        return f"{WEEKDAYS[day.weekday()]}, {MONTHS[day.month - 1]} {day.day}{ending}, {day.year}"


def _parse_lines(content: bytes) -> Iterator[dict[str, Any]]:
    for line in content.split(b"\n"):
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
