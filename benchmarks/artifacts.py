"""Measures the artifact store against its floor: hash, write, sync and rename a file.

    python benchmarks/artifacts.py [--outputs 10000] [--kept 100000] [--gigabytes 1] [--json]

Every step runs in its own process, in a temporary home in TMPDIR. Without --json the result is a table.
"""

import argparse
import gzip
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZE = 20_000
WORDS = [f"word{number}" for number in range(2_000)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outputs", type=int, default=10_000)
    parser.add_argument("--kept", type=int, default=100_000)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(globals()[options.step](options)))
        return
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
        rows = measure(home)
    print(json.dumps(rows, indent=1) if options.json else table(rows))


def measure(home):
    """Every row of the table: name, figure, floor, bar."""
    floor, floor_gzipped = step("floor", f"{home}/floor"), step("floor_gzipped", f"{home}/floor-gzip")
    plain = step("stash_plain", f"{home}/plain")
    gzipped, tenth = step("stash_gzipped", f"{home}/gzip"), step("stash_tenth", f"{home}/tenth")
    again, single = step("stash_plain", f"{home}/plain"), step("stash_one_by_one", f"{home}/one")
    big, clear = step("big", f"{home}/big"), step("clear", f"{home}/clear")
    return [
        row("stash, plain", plain["seconds"], floor["seconds"], 3, "s"),
        row("stash, compressed", gzipped["seconds"], floor_gzipped["seconds"], 3, "s"),
        row("stash, compressed, on disk", gzipped["stored"] / 1e6, floor["stored"] / 1e6, 1, "MB"),
        row("the same contents again", again["seconds"], floor["seconds"], 3, "s"),
        row("stash one at a time, a tenth of them", single["seconds"] * 10, floor["seconds"], None, "s"),
        row("peak memory against a tenth of the outputs", gzipped["peak_mb"], tenth["peak_mb"], 1.1, "MB"),
        row("stash of the big one", big["stash"], big["floor"], None, "s"),
        row("peak memory of that", big["stash_peak_mb"], big["idle_mb"], None, "MB"),
        row("headtail of the big one", big["headtail_ms"], None, 100, "ms"),
        row("tail of the big one", big["tail_ms"], None, 100, "ms"),
        row("grep through the big one", big["grep"], None, None, "s"),
        row("range at its end", big["range"], None, None, "s"),
        row("peak memory of all that", big["peak_mb"], big["stash_peak_mb"], 1.1, "MB"),
        row("gc, nothing to remove", clear["nothing"], None, 20, "s"),
        row("gc, half of them to look for and to remove", clear["half"], None, 20, "s"),
        row("gc, CPU seconds of that", clear["half_cpu"], None, None, "s"),
        row("gc, peak memory", clear["peak_mb"], None, None, "MB"),
    ]


def row(name, figure, floor, bar, unit):
    return {
        "row": name,
        "figure": figure,
        "floor": floor,
        "ratio": figure / floor if floor else None,
        "bar": bar,
        "unit": unit,
    }


def step(name, home):
    """Run a step in its own process; return the JSON of its last line."""
    Path(home).mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "OPENCLAW_WEB_HOME": home, "PYTHONPATH": str(ROOT), "OPENCLAW_WEB_LOG_LEVEL": "ERROR"}
    command = [sys.executable, __file__, *sys.argv[1:], "--step", name]
    answer = subprocess.run(command, env=environment, cwd=home, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(answer.stdout.strip().splitlines()[-1])


def generate_outputs(count):
    """Different outputs of commands, which compress as logs do."""
    for number in range(count):
        chance = random.Random(number)
        lines = [f"{number}:{line} " + " ".join(chance.choices(WORDS, k=12)) for line in range(200)]
        yield "\n".join(lines).encode()[:SIZE].ljust(SIZE, b".")


def floor(options):
    """The floor: write files that survive a power cut."""
    seconds = 0.0
    for content in generate_outputs(options.outputs):
        started = time.perf_counter()
        name = hashlib.sha256(content).hexdigest()
        with open("draft", "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename("draft", name)
        seconds += time.perf_counter() - started
    return {"seconds": seconds, "stored": options.outputs * SIZE}


def floor_gzipped(options):
    """The same floor with the content compressed by gzip."""
    seconds = stored = 0
    for content in generate_outputs(options.outputs):
        started = time.perf_counter()
        name = hashlib.sha256(content).hexdigest()
        packed = gzip.compress(content, 6)
        with open("draft", "wb") as file:
            file.write(packed)
            file.flush()
            os.fsync(file.fileno())
        os.rename("draft", name)
        seconds += time.perf_counter() - started
        stored += len(packed)
    return {"seconds": seconds, "stored": stored}


def prepare_home():
    """Migrate the home and register the agent main; return the alias of its file."""
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    import django

    django.setup()
    from django.core.management import call_command

    from agents import services

    call_command("migrate", verbosity=0)
    return services.register("main").db


def stash(count, *, is_compressed):
    db = prepare_home()
    from artifacts import services
    from artifacts.models import Artifact

    seconds = 0.0
    with services.open_stash_batch(db) as batch:
        for number, content in enumerate(generate_outputs(count)):
            started = time.perf_counter()
            batch.add(content, place=services.Place("s", f"t{number}", f"r{number}"), is_compressed=is_compressed)
            seconds += time.perf_counter() - started
        started = time.perf_counter()
        batch.save()
        seconds += time.perf_counter() - started
    assert Artifact.objects.using(db).count() == count
    stored = sum(file.stat().st_size for file in Path("artifacts/blobs").rglob("*") if file.is_file())
    return {"seconds": seconds, "stored": stored, "peak_mb": peak()}


def stash_plain(options):
    return stash(options.outputs, is_compressed=False)


def stash_gzipped(options):
    return stash(options.outputs, is_compressed=True)


def stash_tenth(options):
    return stash(options.outputs // 10, is_compressed=True)


def stash_one_by_one(options):
    """Store one content and commit one row at a time, as the command does."""
    db = prepare_home()
    from artifacts import services

    contents = list(generate_outputs(options.outputs // 10))
    started = time.perf_counter()
    for content in contents:
        services.stash(db, content)
    return {"seconds": time.perf_counter() - started}


def big(options):
    """Stash a file of a gigabyte from a stream, then read parts of it."""
    db = prepare_home()
    from artifacts import services
    from artifacts.excerpts import content_fetch
    from artifacts.excerpts.selectors import Selector

    block = b"".join(generate_outputs(50))
    with open("big.txt", "wb") as file:
        for number in range(int(options.gigabytes * 1e9 / len(block))):
            file.write(b"%12d\n" % number + block)
    idle = peak()
    started = time.perf_counter()
    digest = hashlib.sha256()
    with open("big.txt", "rb") as file, open("copy.txt", "wb") as copy:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
            copy.write(chunk)
        os.fsync(copy.fileno())
    floor_seconds = time.perf_counter() - started
    os.unlink("copy.txt")
    started = time.perf_counter()
    with open("big.txt", "rb") as file:
        _row, stored = services.stash(db, file)
    result = {"floor": floor_seconds, "stash": time.perf_counter() - started, "idle_mb": idle, "stash_peak_mb": peak()}

    def timed(**selector):
        began = time.perf_counter()
        content_fetch.fetch(db, stored.handle, Selector(**selector))
        return time.perf_counter() - began

    result["headtail_ms"] = sorted(timed() for _round in range(20))[10] * 1000
    result["tail_ms"] = sorted(timed(mode="tail") for _round in range(20))[10] * 1000
    result["grep"] = timed(mode="grep", pattern="^ +999$|word17 word4 word1$")
    result["range"] = timed(mode="range", lines=f"{_row.lines - 5}:")
    return result | {"peak_mb": peak()}


def clear(options):
    """Run `gc` on --kept artifacts with nothing to remove, then without half of the references.

    As the command does, it searches records for mentions. A tenth of the artifacts without a reference is mentioned.
    """
    db = prepare_home()
    from artifacts import services
    from artifacts.models import Artifact
    from ledger.models import Session, TranscriptEvent

    with services.open_stash_batch(db) as batch:
        for number in range(options.kept):
            batch.add(b"artifact %d" % number, is_compressed=False)
    nothing, first_result = measure_gc()
    assert (first_result.kept_count, first_result.removed) == (options.kept, 0)
    handles = list(Artifact.objects.using(db).order_by("handle").values_list("handle", flat=True))
    Artifact.objects.using(db).filter(handle__lt=handles[options.kept // 2]).delete()
    session = Session.objects.using(db).create(id="s", created_at=0, last_activity_at=0)
    texts = [f'{{"message": {{"content": "{handle} {" ".join(WORDS[:100])}"}}}}' for handle in handles]
    mentioning = texts[: options.kept // 20] + texts[options.kept // 2 :]
    TranscriptEvent.objects.using(db).bulk_create(
        TranscriptEvent(session=session, seq=seq, kind="user", created_at=0, event_json=text)
        for seq, text in enumerate(mentioning)
    )
    half, done = measure_gc()
    assert done.removed == options.kept // 2 - options.kept // 20
    return {"nothing": nothing["wall"], "half": half["wall"], "half_cpu": half["cpu"], "peak_mb": peak()}


def measure_gc():
    """Wall and CPU seconds of one `gc`, and its result."""
    from operations.artifact_gc import services as artifact_gc

    started, before = time.perf_counter(), os.times()
    done = artifact_gc.collect_garbage(older_than=0, is_dry_run=False, by="benchmark")
    after = os.times()
    cpu = after.user + after.system - before.user - before.system
    return {"wall": time.perf_counter() - started, "cpu": cpu}, done


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(rows):
    """The figures beside their floors and bars, as Markdown."""

    def cell(value, unit=""):
        return "" if value is None else f"{value:,.2f} {unit}".strip()

    lines = [
        f"| {entry['row']} | {cell(entry['figure'], entry['unit'])} | {cell(entry['floor'], entry['unit'])} "
        f"| {cell(entry['ratio'])} | {'' if entry['bar'] is None else entry['bar']} |"
        for entry in rows
    ]
    return "\n".join(["| row | figure | floor | ratio | bar |", "| --- | --- | --- | --- | --- |", *lines])


if __name__ == "__main__":
    main()
