"""Measures how well and how quickly exports find duplicate samples.

    python benchmarks/dedup.py [--pairs N] [--samples N] [--json]

First, N labelled pairs of texts of our own: words changed here and there, one template with other values, reports that
differ in their times and numbers, the same prompt with another reply, unrelated texts. The label is the Jaccard of the
sets of five-word runs, computed here, plainly, from 0.8 on. The figures are precision and recall of what the signatures
alone propose (a shared band, and enough equal numbers), and of what is left when the texts are compared.

Then the plan of an export of N samples, of which a tenth is repeated, a twentieth nearly so, and a third fills one of
50 templates: the time and the peak memory of its own process, with signatures stored and without.
"""

import argparse
import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import orjson

ROOT = Path(__file__).resolve().parent.parent
WORDS = """
order bread oven flour driver route morning invoice price customer window delivery shop list tray butter salt night
staff shift change call letter bank total error disk report import backup folder server note paper plan cake apple lemon
sugar cream plate table chair floor light door garden street bridge river train ticket station hour minute week month
early late cold warm fresh empty full heavy small large clean open closed ready again before after under over between
check write read send keep move count sort print pack weigh bake cool cut
""".split()  # noqa: SIM905
LIKE = 0.8


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=6_000)
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        name, _, argument = options.step.partition(":")
        print(json.dumps(globals()[name](argument)))
        return
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
        figures = {"quality": step(home, f"quality:{options.pairs}")}
        step(home, f"prepare:{options.samples}")
        figures |= {name: step(home, f"plan:{duplicates}") for name, duplicates in PLANS.items()}
    print(json.dumps(figures, indent=1) if options.json else table(figures, options))


PLANS = {"without signatures": "one", "one": "one", "keep": "keep"}


def step(home, name):
    """Run a step in its own process; return the JSON of its last line."""
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "OPENCLAW_WEB_LOG_LEVEL": "ERROR"}
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment |= {"PYTHONPATH": paths, "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    command = [sys.executable, __file__, "--step", name]
    answer = subprocess.run(command, env=environment, cwd=home, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(answer.stdout.strip().splitlines()[-1])


# Pairs with a label


def pairs(count):
    """Yield (kind, text, text), the same in every run."""
    chance = random.Random(7)
    kinds = [paraphrase, template, report, other_reply, unrelated]
    weights = [6, 2, 2, 1, 1]
    for kind in chance.choices(kinds, weights, k=count):
        yield kind.__name__, *kind(chance)


def choose_words(chance, length):
    return [chance.choice(WORDS) for _ in range(length)]


def paraphrase(chance):
    """Texts with changed words and sometimes a moved part: Jaccards from 0.3 to 1."""
    words = choose_words(chance, chance.randint(12, 240))
    changed = list(words)
    for _ in range(chance.randint(0, max(1, len(words) // 30))):
        changed[chance.randrange(len(changed))] = chance.choice(WORDS) + "s"
    if chance.random() < 0.2:
        at = chance.randrange(len(changed))
        changed = changed[at:] + changed[:at]
    return " ".join(words), " ".join(changed)


def template(chance):
    """Texts with the same sentences around other contents."""
    frame = [choose_words(chance, chance.randint(4, 30)) for _ in range(3)]
    filled = [
        [word for part in frame for word in (*part, *choose_words(chance, chance.randint(1, 12)))] for _ in range(2)
    ]
    return tuple(map(" ".join, filled))


def report(chance):
    """Two daily reports: the same words with other times and numbers."""
    words = choose_words(chance, chance.randint(30, 200))
    places = chance.sample(range(len(words)), chance.randint(1, 4))
    days = []
    for _ in range(2):
        filled = list(words)
        for place in places:
            filled[place] = f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02} {chance.randint(0, 999)}"
        days.append(" ".join(filled))
    return tuple(days)


def other_reply(chance):
    """A long prompt with two replies."""
    prompt = choose_words(chance, chance.randint(20, 150))
    return tuple(" ".join(prompt + choose_words(chance, chance.randint(1, 30))) for _ in range(2))


def unrelated(chance):
    """Two texts that share only single words."""
    return tuple(" ".join(choose_words(chance, chance.randint(5, 120))) for _ in range(2))


def measure_jaccard(text, other_text):
    """The Jaccard of the five-word runs of two texts."""
    ours, theirs = (find_runs(words.replace("-", " ").split()) for words in (text, other_text))
    return len(ours & theirs) / len(ours | theirs)


def find_runs(words):
    return {" ".join(words[at : at + 5]) for at in range(max(1, len(words) - 4))}


def quality(count):
    """Count the pairs that are proposed and found, by label and kind."""
    start_django()
    from datasets.dedup import clusters, minhash
    from datasets.dedup.signature_file import SignatureFile
    from datasets.dedup.texts import build_grams, split_words

    labelled = list(pairs(int(count)))
    texts = [text for _kind, *both in labelled for text in both]
    numbers = SignatureFile(Path())
    grams_by_text = [build_grams(split_words("", text)) for text in texts]
    numbers.add([minhash.compute_signature(text_grams) for text_grams in grams_by_text])
    hashed = [frozenset(map(hash, text_grams)) for text_grams in grams_by_text]
    seen = PairRecorder()

    def grams_of(place):
        seen.proposed.add((seen.last, place))  # the texts of a pair are requested one after the other
        seen.last = place
        return hashed[place]

    clusters.join_similar(numbers, range(len(texts)), grams_of, seen)
    answer = Counter()
    for number, (kind, *both) in enumerate(labelled):
        place, is_alike = (2 * number, 2 * number + 1), measure_jaccard(*both) >= LIKE
        kinds = ("alike" if is_alike else "different", f"{kind}, {'alike' if is_alike else 'different'}")
        for name in kinds:
            answer[name] += 1
            answer[f"{name}, proposed"] += place in seen.proposed
            answer[f"{name}, found"] += place in seen.found
    return dict(answer)


class PairRecorder:
    """Records proposed and found pairs, and compares every pair."""

    def __init__(self):
        self.proposed, self.found, self.last = set(), set(), None

    def plan_comparisons(self, places):
        return ((place, places[number + 1 :]) for number, place in enumerate(places))

    def join(self, place, other):
        self.found.add((place, other))


# The plan of an export


def prepare(count):
    """Make a home with samples without signatures."""
    start_django()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    store = sqlite3.connect("state/openclaw.sqlite")
    columns = "id, sample_type, session_id, content, annotation_status, created_at, agent_id, turn_number, prompted_by"
    columns += ", reply_stop, turn_traits, privacy_checked"
    insert = f"INSERT INTO dataset_samples ({columns}) VALUES ({','.join('?' * 9)}, '', '', 1)"
    store.executemany(insert, samples(int(count)))
    store.commit()


def samples(count):
    """Yield rows of `dataset_samples`: sessions of 40 turns, replies of about 90 words."""
    chance = random.Random(11)
    frames = [[choose_words(chance, 25) for _ in range(3)] for _ in range(50)]
    before = []
    for number in range(count):
        words = build_reply(chance, frames, before)
        before = [*before[-99:], words]
        body = {
            "type": "annotated_turn",
            "userMessage": " ".join(choose_words(chance, 3)),
            "agentReply": " ".join(words),
        }
        if chance.random() < 0.85:
            body["userMessage"] = f"Turn {number} " + body["userMessage"]
        place = (f"s{number // 40}", orjson.dumps(body | {"context": []}).decode())
        yield (f"x{number:07}", "annotated_turn", *place, "approved", number, "ada", number % 40, "")


def build_reply(chance, frames, before):
    kind = chance.random()
    if before and kind < 0.15:
        words = list(chance.choice(before))
        if kind < 0.05:
            words[chance.randrange(len(words))] = chance.choice(WORDS)
        return words
    if kind < 0.45:
        return [word for part in chance.choice(frames) for word in (*part, *choose_words(chance, 6))]
    return choose_words(chance, chance.randint(20, 160))


def plan(duplicates):
    """Make the split and duplicate plan, as the job that builds an export does."""
    start_django()
    from datasets.exports.options import Options
    from datasets.exports.plan import build_export_plan
    from datasets.exports.source import DecisionVerdicts, Source
    from jobs.progress import Progress

    options = Options("alpaca", "reply", duplicates=duplicates)
    base, started, worked = peak(), time.perf_counter(), time.process_time()
    split_plan = build_export_plan(Source(options), options, DecisionVerdicts(options), Path(), Progress(), 0)
    times = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - worked}
    if not split_plan.keys:
        raise SystemExit("The plan has no samples: exports leave all of them out.")
    return times | {
        "peak_mb": peak(),
        "base_mb": base,
        "samples": len(split_plan.keys),
        "left_out": sum(fate >= 128 for fate in split_plan.assignments),
    }


def start_django():
    sys.path.insert(0, str(ROOT))  # before this folder, where artifacts.py is a benchmark
    import django

    django.setup()


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(figures, options):
    """The figures as Markdown."""
    lines = ["| labelled pairs | | proposed | found |", "| --- | --- | --- | --- |"]
    counts = figures["quality"]
    for name in sorted(name for name in counts if not name.endswith(("proposed", "found"))):
        lines.append(f"| {name} | {counts[name]:,} | {counts[f'{name}, proposed']:,} | {counts[f'{name}, found']:,} |")
    for way in ("proposed", "found"):
        right, wrong = counts[f"alike, {way}"], counts[f"different, {way}"]
        recall, precision = right / counts["alike"], right / (right + wrong)
        lines.append(f"| {way} | precision {precision:.4f} | recall {recall:.4f} | |")
    head = f"| plan of {options.samples:,} samples | time | processor | peak | left out |"
    lines += ["", head, "| --- | --- | --- | --- | --- |"]
    for name in PLANS:
        row = figures[name]
        memory = f"{row['peak_mb']:.0f} MB, {row['base_mb']:.0f} before"
        lines.append(f"| {name} | {row['seconds']:.1f} s | {row['cpu']:.1f} s | {memory} | {row['left_out']:,} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
