"""Writes a big OpenClaw home for benchmarks.

    python benchmarks/corpus.py --out DIR --sessions 1000 --turns 50

It repeats the stories of the demo, one session after another.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from demo.chance import Chance
from demo.files.home import DEFAULT_UNTIL_MS, FOLDER, Home
from demo.moments import DAY, HOUR
from demo.places import Place
from demo.screenplay import read_stories
from demo.vocabulary import PEOPLE

SPAN_DAYS = 120
MODELS = ("anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5", "openai/gpt-5.2")
KINDS = ("telegram", "telegram", "openai", "group")
PUT_AWAY_SHARE = 0.08


def write_bulk_home(out, *, agents=4, sessions=1000, turns=50, seed=7, tool_bytes=0, until_ms=DEFAULT_UNTIL_MS):
    """Write sessions of about `turns` turns, and return the truth about the home.

    `sessions` is their number in all `agents` agents together.
    """
    home = Home(out, seed=seed, until_ms=until_ms, agents=_build_agents(agents), tool_bytes=tool_bytes)
    for number in range(sessions):
        agent = home.agents[number % agents][0]
        _write_session(home, agent, number, turns)
    return home.finish()


def _build_agents(count):
    """Alternate bakeries and labs: main, research, main-2, research-2 and so on."""
    agents = []
    for number in range(count):
        name = ("main", "research")[number % 2] + (f"-{number // 2 + 1}" if number > 1 else "")
        folder = f"{FOLDER}/workspace" + ("" if name == "main" else f"-{name}")
        agents.append((name, name.capitalize(), folder, MODELS[0]))
    return tuple(agents)


def _write_session(home, agent, number, turns):
    chance = Chance.from_words(home.seed, "session", number)
    kind = chance.choice(KINDS)
    person = chance.choice(("hana", "zhou") if agent.startswith("research") else ("mei", "arjun", "xiaowen", "ben"))
    name = f"{'-100' if kind == 'group' else ''}{555_100_000 + number}"
    place = Place(agent, kind, name, PEOPLE[person].name, (person,))
    # Each session has its own workspace, or MEMORY.md would grow by the notes of all sessions.
    stage = home.open(place, model=chance.choice(MODELS), workspace=home.fresh_workspace(agent))
    turn_goal, turn_count = chance.randint(max(1, turns // 2), max(1, turns * 3 // 2)), 0
    at_ms = home.truth.until_ms - chance.randint(20 * DAY, SPAN_DAYS * DAY)
    deck = _choose_stories(agent)
    while turn_count < turn_goal:
        story = read_stories()[chance.choice(deck)]
        stage.perform(story, at_ms=at_ms, speaker=person)
        turn_count += story.turns
        at_ms += chance.randint(HOUR // 4, 9 * HOUR)
    state = chance.choice(("reset", "deleted")) if chance.random() < PUT_AWAY_SHARE else "live"
    home.close(stage, state=state)


def _choose_stories(agent):
    kind = "research" if agent.startswith("research") else "main"
    return sorted(
        name
        for name, story in read_stories().items()
        if story.fits(agent=kind) and "once" not in story.tags and "job" not in story.tags
    )


def main():
    """Parse the arguments, write the home, and print its size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
