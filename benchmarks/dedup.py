"""How well and how quickly exports find samples that say the same.

    python benchmarks/dedup.py [--pairs N] [--samples N] [--json]

First, N labelled pairs of texts of our own: words changed here and there, one template with other values, reports that
differ in their times and numbers, the same prompt with another reply, nothing in common. The label is the Jaccard of
the sets of five-word runs, computed here, plainly, from 0.8 on. Told are precision and recall of what the signatures
alone propose (a shared band, and enough equal numbers), and of what is left when the texts are compared.

Then the plan of an export of N samples, of which a tenth is said twice, a twentieth nearly so, and a third fills one of
50 templates: the time and the peak memory of a process of its own, with signatures stored and without.
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
        found = {"quality": step(home, f"quality:{options.pairs}")}
        step(home, f"prepare:{options.samples}")
        found |= {name: step(home, f"plan:{duplicates}") for name, duplicates in PLANS.items()}
    print(json.dumps(found, indent=1) if options.json else table(found, options))


PLANS = {"without signatures": "one", "one": "one", "keep": "keep"}


def step(home, name):
    """Run one step in a process of its own; its last line is the answer."""
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "OPENCLAW_WEB_LOG_LEVEL": "ERROR"}
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment |= {"PYTHONPATH": paths, "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    command = [sys.executable, __file__, "--step", name]
    answer = subprocess.run(command, env=environment, cwd=home, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(answer.stdout.strip().splitlines()[-1])


# Pairs with a label


def pairs(count):
    """(kind, text, text), the same ones every time."""
    chance = random.Random(7)
    kinds = [paraphrase, template, report, other_reply, unrelated]
    weights = [6, 2, 2, 1, 1]
    for kind in chance.choices(kinds, weights, k=count):
        yield kind.__name__, *kind(chance)


def sentence(chance, length):
    return [chance.choice(WORDS) for _ in range(length)]


def paraphrase(chance):
    """Words changed one by one, and now and then a part moved: every Jaccard from 0.3 to 1."""
    words = sentence(chance, chance.randint(12, 240))
    changed = list(words)
    for _ in range(chance.randint(0, max(1, len(words) // 30))):
        changed[chance.randrange(len(changed))] = chance.choice(WORDS) + "s"
    if chance.random() < 0.2:
        at = chance.randrange(len(changed))
        changed = changed[at:] + changed[:at]
    return " ".join(words), " ".join(changed)


def template(chance):
    """The same sentences around other contents."""
    frame = [sentence(chance, chance.randint(4, 30)) for _ in range(3)]
    filled = [[word for part in frame for word in (*part, *sentence(chance, chance.randint(1, 12)))] for _ in range(2)]
    return tuple(map(" ".join, filled))


def report(chance):
    """What a scheduled task says each day: the same words, with other times and numbers."""
    words = sentence(chance, chance.randint(30, 200))
    places = chance.sample(range(len(words)), chance.randint(1, 4))
    days = []
    for _ in range(2):
        filled = list(words)
        for place in places:
            filled[place] = f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02} {chance.randint(0, 999)}"
        days.append(" ".join(filled))
    return tuple(days)


def other_reply(chance):
    """A long prompt answered in two ways."""
    prompt = sentence(chance, chance.randint(20, 150))
    return tuple(" ".join(prompt + sentence(chance, chance.randint(1, 30))) for _ in range(2))


def unrelated(chance):
    """Nothing in common but single words."""
    return tuple(" ".join(sentence(chance, chance.randint(5, 120))) for _ in range(2))


def exact(one, other):
    """The Jaccard of the five-word runs of two texts."""
    one, other = (runs(text.replace("-", " ").split()) for text in (one, other))
    return len(one & other) / len(one | other)


def runs(words):
    return {" ".join(words[at : at + 5]) for at in range(max(1, len(words) - 4))}


def quality(count):
    """What is proposed and what is found, against the labels."""
    start_django()
    from datasets.dedup import clusters, minhash
    from datasets.dedup.signature_file import SignatureFile
    from datasets.dedup.texts import build_grams, split_words

    labelled = list(pairs(int(count)))
    texts = [text for _kind, *both in labelled for text in both]
    numbers = SignatureFile(Path())
    found = [build_grams(split_words("", text)) for text in texts]
    numbers.add([minhash.compute_signature(one) for one in found])
    hashed = [frozenset(map(hash, one)) for one in found]
    seen = Recorded()

    def grams_of(place):
        seen.proposed.add((seen.last, place))  # the texts of a pair are asked for one after the other
        seen.last = place
        return hashed[place]

    clusters.join_similar(numbers, range(len(texts)), grams_of, seen)
    answer = Counter()
    for number, (kind, *both) in enumerate(labelled):
        place, is_alike = (2 * number, 2 * number + 1), exact(*both) >= LIKE
        kinds = ("alike" if is_alike else "different", f"{kind}, {'alike' if is_alike else 'different'}")
        for name in kinds:
            answer[name] += 1
            answer[f"{name}, proposed"] += place in seen.proposed
            answer[f"{name}, found"] += place in seen.found
    return dict(answer)


class Recorded:
    """Remembers what it is told, and wants to know everything."""

    def __init__(self):
        self.proposed, self.found, self.last = set(), set(), None

    def is_worth(self, one, other):
        return one != other

    def still_open(self, places):
        return places

    def join(self, place, others):
        self.found |= {(place, other) for other in others}


# The plan of an export


def prepare(count):
    """A home with samples, none of which has a signature."""
    start_django()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    store = sqlite3.connect("state/openclaw.sqlite")
    columns = "id, sample_type, session_id, content, annotation_status, created_at, agent_id, turn_number, prompted_by"
    columns += ", reply_stop, turn_traits"
    insert = f"INSERT INTO dataset_samples ({columns}) VALUES ({','.join('?' * 9)}, '', '')"
    store.executemany(insert, samples(int(count)))
    store.commit()


def samples(count):
    """Rows of `dataset_samples`: sessions of 40 turns, replies of about 90 words."""
    chance = random.Random(11)
    frames = [[sentence(chance, 25) for _ in range(3)] for _ in range(50)]
    before = []
    for number in range(count):
        words = reply(chance, frames, before)
        before = [*before[-99:], words]
        said = {"type": "annotated_turn", "userMessage": " ".join(sentence(chance, 3)), "agentReply": " ".join(words)}
        if chance.random() < 0.85:
            said["userMessage"] = f"Turn {number} " + said["userMessage"]
        place = (f"s{number // 40}", orjson.dumps(said | {"context": []}).decode())
        yield (f"x{number:07}", "annotated_turn", *place, "approved", number, "ada", number % 40, "")


def reply(chance, frames, before):
    kind = chance.random()
    if before and kind < 0.15:
        words = list(chance.choice(before))
        if kind < 0.05:
            words[chance.randrange(len(words))] = chance.choice(WORDS)
        return words
    if kind < 0.45:
        return [word for part in chance.choice(frames) for word in (*part, *sentence(chance, 6))]
    return sentence(chance, chance.randint(20, 160))


def plan(duplicates):
    """Compare everything, as the job that builds an export does."""
    start_django()
    from datasets.exports.builder.decision_verdicts import DecisionVerdicts
    from datasets.exports.builder.export_plan import build_export_plan
    from datasets.exports.builder.source import Source
    from datasets.exports.options import Options

    options = Options("alpaca", "reply", duplicates=duplicates)
    base, started, worked = peak(), time.perf_counter(), time.process_time()
    found = build_export_plan(Source(options), options, DecisionVerdicts(options), Path(), lambda _count: None)
    times = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - worked}
    return times | {
        "peak_mb": peak(),
        "base_mb": base,
        "samples": len(found.keys),
        "left_out": sum(fate >= 128 for fate in found.assignments),
    }


def start_django():
    sys.path.insert(0, str(ROOT))  # before this folder, where artifacts.py is a benchmark
    import django

    django.setup()


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(found, options):
    """The figures as Markdown."""
    lines = ["| labelled pairs | | proposed | found |", "| --- | --- | --- | --- |"]
    told = found["quality"]
    for name in sorted(name for name in told if not name.endswith(("proposed", "found"))):
        lines.append(f"| {name} | {told[name]:,} | {told[f'{name}, proposed']:,} | {told[f'{name}, found']:,} |")
    for way in ("proposed", "found"):
        right, wrong = told[f"alike, {way}"], told[f"different, {way}"]
        recall, precision = right / told["alike"], right / (right + wrong)
        lines.append(f"| {way} | precision {precision:.4f} | recall {recall:.4f} | |")
    head = f"| plan of {options.samples:,} samples | time | processor | peak | left out |"
    lines += ["", head, "| --- | --- | --- | --- | --- |"]
    for name in PLANS:
        row = found[name]
        memory = f"{row['peak_mb']:.0f} MB, {row['base_mb']:.0f} before"
        lines.append(f"| {name} | {row['seconds']:.1f} s | {row['cpu']:.1f} s | {memory} | {row['left_out']:,} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
