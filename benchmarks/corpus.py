"""Write a big OpenClaw home to measure with: python benchmarks/corpus.py --out DIR --sessions 1000 --turns 50"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bulk import write_bulk_home


def main():
    """Parse the arguments, write the home, print what it holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=Path, help="a folder that does not exist or is empty")
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--sessions", type=int, default=1000, help="in all agents together")
    parser.add_argument("--turns", type=int, default=50, help="about how many in a session")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--tool-bytes", type=int, default=0, help="about how long the output of a command is")
    options = vars(parser.parse_args())
    out = options.pop("out")
    if out.exists() and any(out.iterdir()):
        parser.error(f"{out} is not empty")
    truth = write_bulk_home(out, **options)
    (out / "ground_truth.json").write_text(json.dumps(truth.as_dict(), ensure_ascii=False), encoding="utf-8")
    live = truth.live
    print(f"{truth.bytes / 1e6:.1f} MB in {truth.files} files: {live.sessions} live sessions, {live.records} records,")
    print(
        f"{live.turns} turns, {live.tool_results} tool results of which {live.failed_tools} failed, US$ {live.cost:.2f}"
    )


if __name__ == "__main__":
    main()
