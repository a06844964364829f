"""Measures how quickly texts are searched for personal data and secrets.

    python benchmarks/checks/detectors.py [--megabytes N] [--json]

Three texts of N megabytes each, the same in every run: records of transcripts (JSON, with results that are JSON within
JSON), prose in two languages, and logs full of numbers, addresses and times. Every hundredth line holds something to
find. The floor of the same run decodes the same text line by line with the JSON reader of Python, and passes once over
it with a set of RE2: what a scan cannot do without. The figures are megabytes a second of processor time, the ratio to
the floor, and the peak memory of a process that searches one text of all megabytes as a whole.

The last rows are texts without an end in sight (digits, quotes, backslashes, beginnings of keys): seconds for each.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import re2

ROOT = Path(__file__).resolve().parent.parent.parent
WORDS = ("order", "bread", "route", "invoice", "customer", "window", "report", "server", "token", "password", "key")
HAN = "请检查昨天的报告然后写一个简短的总结密码不正确手机号已经更新"
FINDS = (
    "mail lena.vogt@brunnenhof.de",
    "key sk-ant-api03-Zk3vQ9xTr7LmWp2YbN8cHd5JfGs1Ae6Uo4Ri0",
    "password=Tr0ub4dor&91",
    "电话 13812345678",
    "card 4539 8685 5118 0492",
    "from 78.47.216.133",
)
FLOOR = (r"[a-z0-9.]+@[a-z0-9.]+", r"sk-[A-Za-z0-9]{20}", r"password\s*[:=]", r"\d{4}[ -]?\d{4}", r"(?:\d+\.){3}\d+")
REPEATED = {
    "digits": "1234567890",
    "quotes": '"',
    "backslashes": "\\",
    "keys": "-----BEGIN PRIVATE KEY-----",
    "passwords": "password=",
    "tokens": '"token":',
    "countries": "+49 ",
    "ats": "@",
    "base64": "QWJjZDEyMzQ1",
}
KINDS = ("transcripts", "prose", "logs")
BAR = 3  # megabytes a second


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=6)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        name, _, argument = options.step.partition(":")
        print(json.dumps(globals()[name](argument, options.megabytes)))
        return
    figures = {kind: step(f"scan:{kind}", options) for kind in KINDS}
    figures |= {name: step(f"repeat:{name}", options) for name in REPEATED}
    print(json.dumps(figures, indent=1) if options.json else table(figures))


def step(name, options):
    """Run a step in its own process; return the JSON of its last line."""
    command = [sys.executable, __file__, "--step", name, "--megabytes", str(options.megabytes)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    answer = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(answer.stdout.splitlines()[-1])


def scan(kind, megabytes):
    lines = list(build_lines(kind, megabytes * 1_000_000))
    size = sum(len(line.encode()) for line in lines)
    from openclaw_web.detectors.detect import find_spans

    find_spans("\n".join(lines[:100]))  # patterns are compiled once
    floor = measure(lambda: pass_over(lines))
    spans = []
    by_line = measure(lambda: spans.extend(span for line in lines for span in find_spans(line)))
    base = peak()
    whole = measure(lambda: find_spans("\n".join(lines)))
    return {
        "megabytes": size / 1e6,
        "spans": len(spans),
        "floor": floor,
        "lines": by_line,
        "whole": whole,
        "base_mb": base,
        "peak_mb": peak(),
    }


def repeat(name, megabytes):
    from openclaw_web.detectors.detect import find_spans

    text = REPEATED[name] * (megabytes * 1_000_000 // len(REPEATED[name]))
    return {"megabytes": len(text) / 1e6, "whole": measure(lambda: find_spans(text)), "peak_mb": peak()}


def build_lines(kind, size):
    """Yield lines of a text of about `size` bytes."""
    chance = random.Random(7)
    number = 0
    while size > 0:
        find = chance.choice(FINDS) if number % 100 == 0 else ""
        line = BUILDERS[kind](chance, number, find)
        number += 1
        size -= len(line.encode()) + 1
        yield line


def build_record(chance, number, find):
    result = {"stdout": build_prose(chance, number, find) + "\n" + build_log(chance, number, ""), "exitCode": 0}
    content = [
        {"type": "text", "text": build_prose(chance, number, "")},
        {"type": "toolResult", "text": json.dumps(result)},
    ]
    message = {"role": "toolResult", "content": content, "usage": {"input": number, "output": 512, "max_tokens": 4096}}
    identity = f"{chance.getrandbits(64):016x}-{chance.getrandbits(64):016x}"
    return json.dumps({"id": identity, "timestamp": 1_770_797_662_123 + number, "message": message}, ensure_ascii=False)


def build_prose(chance, _number, find):
    words = [chance.choice(WORDS) if chance.random() < 0.8 else "".join(chance.sample(HAN, 4)) for _ in range(90)]
    return " ".join([*words, find])


def build_log(chance, number, find):
    hexes = f"{chance.getrandbits(160):040x}"
    address = f"10.{number % 250}.{chance.randrange(250)}.{chance.randrange(250)}:{chance.randrange(60_000)}"
    took = f"{chance.random() * 90:.6f} ms"
    return f"2026-02-11T08:{number % 60:02}:22.123Z INFO {address} commit {hexes} took {took} {find}"


BUILDERS = {"transcripts": build_record, "prose": build_prose, "logs": build_log}


def pass_over(lines):
    """The floor: each line decoded as JSON and searched once by a set of patterns."""
    patterns = re2.Set.SearchSet()
    for pattern in FLOOR:
        patterns.Add(pattern)
    patterns.Compile()
    for line in lines:
        if line.startswith("{"):
            json.loads(line)
        patterns.Match(line.encode())


def measure(act):
    started = time.process_time()
    act()
    return time.process_time() - started


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(figures):
    """The figures as Markdown; a speed below the bar is bold."""
    lines = [
        "| text | by line | whole | floor | ratio | found | peak, before |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind in KINDS:
        row = figures[kind]
        speeds = [row["megabytes"] / max(row[name], 0.001) for name in ("lines", "whole", "floor")]
        by_line, whole = (f"{speed:.1f} MB/s" if speed >= BAR else f"**{speed:.1f} MB/s**" for speed in speeds[:2])
        memory = f"{row['peak_mb']:.0f} MB, {row['base_mb']:.0f}"
        ratio = row["whole"] / max(row["floor"], 0.001)
        lines.append(
            f"| {kind} | {by_line} | {whole} | {speeds[2]:.1f} MB/s | {ratio:.2f} | {row['spans']:,} | {memory} |"
        )
    for name in REPEATED:
        row = figures[name]
        lines.append(
            f"| {row['megabytes']:.0f} MB of {name} | | {row['whole']:.1f} s | | | | {row['peak_mb']:.0f} MB |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
