"""Measures imports of the plugin's small files that are costly: memory, growth, new lines.

    python benchmarks/writes/reflection.py [--tenth] [--only SHAPE] [--runs 3] [--json]

Each shape of tests/gate/collectors/reflection_files.py is imported by a real `openclaw-web collect` into an empty home,
at the size that was reported and at ten times that size (--tenth: at a tenth of it and at that size). Growth is the
ratio of what both cost over an import of nothing: processor seconds and bytes of the store. The floor is that import of
nothing. New lines: 100 after 1,000 and after 10,000, processor seconds over an import in which nothing is new.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
MOST_MB, MOST_GROWTH, MOST_NEW = 200, 12, 1.5
# Shape: its function, the parameter that grows, the size that was reported, and the files it writes.
SHAPES = {
    "writes of the same two versions of 1 MB": ("write_same_versions", "writes", 2_000),
    "writes of many versions without an index": ("write_many_versions", "writes", 2_000),
    "decisions and messages of one turn": ("write_one_turn", "decisions messages", 3_000),
    "corrections of one write": ("write_corrections", "corrections", 30_000),
    "equal decisions in a log": ("write_equal_lines", "lines", 50_000),
    "equal writes in a log": ("write_equal_writes", "lines", 50_000),
    "lines of a conversation": ("write_conversation", "lines", 10_000),
    "lines of write_guardian": ("write_writes", "lines", 10_000),
}
IN_LOG = ("write_equal_lines", "write_conversation")
LOG = "reflection-2026-09-21.log"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tenth", action="store_true")
    parser.add_argument("--only", default="", help="only shapes with these words in their names; `new` for new lines")
    parser.add_argument("--runs", type=int, default=3, help="of new lines, whose median counts")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as folder:
        floor = Site(Path(folder, "floor")).collect()
        for number, (name, shape) in enumerate(SHAPES.items()):
            if options.only in name:
                rows += measure_shape(Path(folder, str(number)), name, shape, floor, is_tenth=options.tenth)
        if options.only in "new lines":
            rows += [measure_new_lines(Path(folder, kind), kind, options.runs) for kind in ("decisions", "writes")]
    print(json.dumps(rows, indent=1) if options.json else table(rows))


class Site:
    """A home of ours, an OpenClaw home with a workspace, and a folder of logs."""

    def __init__(self, folder: Path):
        from tests.gate.collectors import reflection_files

        self.folder, self.logs = folder, folder / "logs"
        self.logs.mkdir(parents=True)
        self.workspace = reflection_files.make_home(folder / "openclaw")
        self._run("settings", "set", "reflection.logFolder", str(self.logs))

    def write(self, function: str, **sizes):
        """Write one of the shapes."""
        from tests.gate.collectors import reflection_files

        place = self.logs / LOG if function in IN_LOG else self.workspace
        return getattr(reflection_files, function)(place, **sizes)

    def settle(self):
        """Make all files old, so that they count as complete."""
        for file in (*self.logs.iterdir(), *(self.workspace / ".openclaw-reflection").iterdir()):
            if time.time() - file.stat().st_mtime < 60:
                os.utime(file, (time.time() - 3_600,) * 2)

    def collect(self) -> dict[str, float]:
        """Import once: processor seconds, peak memory in MB, bytes of the store."""
        self.settle()
        used = self._run("collect", "--source", str(self.folder / "openclaw"))
        store = sum(file.stat().st_size for file in (self.folder / "home").rglob("*") if file.is_file())
        return {"seconds": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024, "bytes": store}

    def _run(self, *words):
        environment = os.environ | {"OPENCLAW_WEB_HOME": str(self.folder / "home")}
        environment.pop("PYTHONDEVMODE", None)
        command = [sys.executable, "-m", "openclaw_web", *words]
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        error_text = process.stderr.read().decode()
        _pid, status, used = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status) not in (0, 4):  # 4: something was rejected
            raise SystemExit(error_text)
        return used


def measure_shape(folder, name, shape, floor, *, is_tenth):
    """The figures of a shape at two sizes, and its growth."""
    function, parameters, reported = shape
    sizes = [reported // 10, reported] if is_tenth else [reported, reported * 10]
    figures = []
    for size in sizes:
        site = Site(folder / str(size))
        site.write(function, **dict.fromkeys(parameters.split(), size))
        figures.append(site.collect())
    cost = [{key: max(figure[key] - floor[key], 1e-9) for key in ("seconds", "bytes")} for figure in figures]
    return [
        {
            "shape": f"{size:,} {name}",
            "peak": f"{figure['mb']:.0f} MB",
            "processor": f"{figure['seconds']:.1f} s",
            "store": f"{figure['bytes'] / 1e6:.1f} MB",
            "growth, processor": f"{cost[1]['seconds'] / cost[0]['seconds']:.1f}" if number else "",
            "growth, store": f"{cost[1]['bytes'] / cost[0]['bytes']:.1f}" if number else "",
            "bars": f"{MOST_MB} MB, {MOST_GROWTH}" if number else "",
        }
        for number, (size, figure) in enumerate(zip(sizes, figures, strict=True))
    ]


def measure_new_lines(folder, kind, runs):
    """The cost of 100 new lines after 10,000 lines against after 1,000."""
    function = "write_conversation" if kind == "decisions" else "write_writes"
    cost = {}
    for behind in (1_000, 10_000):
        site, seconds = Site(folder / str(behind)), []
        start = site.write(function, lines=behind)
        site.collect()
        for _ in range(runs):
            nothing = site.collect()["seconds"]
            start = site.write(function, lines=100, start=start)
            seconds.append((site.collect()["seconds"], nothing))
        cost[behind] = [statistics.median(column) for column in zip(*seconds, strict=True)]
    (short, _), (long, _) = cost[1_000], cost[10_000]
    over = [with_lines - without for with_lines, without in cost.values()]
    return {
        "shape": f"100 new lines of {kind} behind 10,000, against 1,000",
        "processor": f"{long:.2f} s, {short:.2f} s",
        "growth, processor": f"{long / short:.2f}; over an import of nothing new {over[1] / max(over[0], 1e-9):.2f}",
        "bars": str(MOST_NEW),
    }


def table(rows):
    """The figures as Markdown."""
    names = list(rows[0]) if rows else []
    lines = [[str(row.get(name, "")) for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, ["---"] * len(names), *lines])


if __name__ == "__main__":
    main()
