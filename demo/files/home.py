"""Writes the demo home: plays the plan in order of time, and counts it."""

import json
from dataclasses import dataclass

from .. import conversation_plan, moments
from ..chance import Chance
from ..moments import DAY, HOUR
from ..places import Place
from ..prices import MODELS
from ..screenplay import read_stories
from ..stage import Stage
from ..truth import Counts, Truth
from . import configuration, memory, session_index, tool_output
from .schedule import JOBS, Log
from .transcript import Transcript
from .workspace import Workspace

DEFAULT_UNTIL_MS = 1_780_272_000_000  # 2026-06-01 00:00 UTC
FOLDER = "/home/crumb/.openclaw"  # where the transcripts say they were written; nothing is read or written there
AGENTS = (
    ("main", "Crumb 🥐", f"{FOLDER}/workspace", "anthropic/claude-sonnet-4-5"),
    ("research", "Quill 研究助理", f"{FOLDER}/workspace-research", "anthropic/claude-sonnet-4-5"),
)
PUT_AWAY = ("reset", "deleted")


@dataclass(slots=True)
class Child:
    """A sub-agent's run, for the session that asked for it."""

    key: str
    run_id: str
    session_id: str
    started_ms: int
    ended_ms: int
    reply: str
    tokens: int


class Home:
    """A home that is being written.

    `tool_bytes` lengthens the outputs of commands to about that many bytes.
    """

    def __init__(self, out, *, seed, until_ms, agents=AGENTS, tool_bytes=0):
        self.out, self.seed, self.agents, self.tool_bytes = out, seed, agents, tool_bytes
        self.truth = Truth(seed, until_ms, agents={id_: Counts() for id_, *_ in agents})
        self.workspaces = {id_: self.fresh_workspace(id_) for id_, *_ in agents}
        self.indexes = {id_: [] for id_, *_ in agents}
        self.subagents = {}
        for id_, *_ in agents:
            (out / "agents" / id_ / "sessions").mkdir(parents=True)

    def fresh_workspace(self, agent):
        """A workspace as on the first day; agents named research... begin with the lab's."""
        folder = next(path for id_, _, path, _ in self.agents if id_ == agent)
        return Workspace("research" if agent.startswith("research") else "main", folder)

    def open(self, place, *, model, thinking="low", damage=None, words=(), session_id=None, workspace=None):
        """A session that stories can be played in; `words` tell two sessions of one key apart."""
        chance = Chance.from_words(self.seed, place.key, *words)
        session_id = session_id or chance.uuid()
        topic = f"-topic-{place.topic}" if place.topic else ""
        path = self.out / "agents" / place.agent / "sessions" / f"{session_id}{topic}.jsonl"
        workspace = workspace or self.workspaces[place.agent]
        transcript = Transcript(
            path,
            place,
            session_id=session_id,
            chance=chance,
            workspace=workspace.folder,
            model=MODELS[model],
            thinking=thinking,
            damage=damage,
        )
        return Stage(self, transcript, workspace, chance)

    def close(self, stage, *, state="live", spawned_by=None, label=None):
        """Finish a session: count it, list it, and rename it if reset or deleted."""
        transcript = stage.transcript
        if state in ("live", "orphan"):
            if state == "live":
                entry = session_index.build_entry(
                    transcript, stage.workspace, folder=FOLDER, spawned_by=spawned_by, label=label
                )
                self.indexes[transcript.place.agent].append((transcript.place.key, entry))
        else:
            stamp = moments.file_stamp(transcript.ms + 47_313)
            transcript.path = transcript.path.rename(f"{transcript.path}.{state}.{stamp}")
        session = transcript.truth(self.out, state)
        counts = self.truth.put_away if state in PUT_AWAY else self.truth.live
        counts.merge(transcript.counts)
        if state not in PUT_AWAY:
            self.truth.agents[transcript.place.agent].merge(transcript.counts)
        self.truth.sessions.append(session)
        self.truth.states[state] += 1
        for damage in transcript.damage:
            damage.file = session.file
            self.truth.damaged.append(damage)

    def spawn(self, stage, arguments, *, story, names):
        """Run a sub-agent for `stage`, to its end."""
        parent = stage.transcript
        chance = Chance.from_words(self.seed, parent.session_id, arguments["label"])
        place = Place(parent.place.agent, "subagent", chance.uuid(), arguments["label"])
        child = self.open(place, model=parent.model.ref)
        started = parent.ms + chance.between(0.2, 0.9)
        child.perform(read_stories()[story], at_ms=started, known=names | {"task": arguments["task"]})
        transcript, run_id = child.transcript, chance.uuid()
        usage = transcript.counts.usage["totalTokens"]
        self.close(child, spawned_by=parent.place.key, label=arguments["label"])
        self.subagents[run_id] = {
            "runId": run_id,
            "childSessionKey": place.key,
            "requesterSessionKey": parent.place.key,
            "requesterOrigin": {"channel": parent.place.channel},
            "requesterDisplayKey": parent.place.key,
            "task": arguments["task"],
            "cleanup": "keep",
            "expectsCompletionMessage": True,
            "spawnMode": "run",
            "label": arguments["label"],
            "model": parent.model.ref,
            "runTimeoutSeconds": 0,
            "createdAt": parent.ms,
            "startedAt": started,
            "archiveAtMs": parent.ms + HOUR,
            "cleanupHandled": True,
            "endedAt": transcript.ms,
            "outcome": {"status": "ok"},
            "endedReason": "subagent-complete",
            "cleanupCompletedAt": transcript.ms + 240,
        }
        return Child(place.key, run_id, transcript.session_id, started, transcript.ms, child.reply, usage)

    def lengthen(self, tool, text, chance, ms):
        """A command's output, longer when this home is for measuring."""
        if not self.tool_bytes or tool != "exec":
            return text
        size = min(200_000, round(chance.lognormvariate(-0.5, 1.0) * self.tool_bytes))
        return f"{text}\n{tool_output.access_log(size, chance, ms)}" if size > len(text) else text

    def finish(self):
        """Write the files that are not transcripts; return the truth about the home."""
        configuration.write_configuration(self.out, self.agents, FOLDER)
        for agent, entries in self.indexes.items():
            session_index.write_index(self.out / "agents" / agent / "sessions" / "sessions.json", entries)
            folder = self.workspaces[agent].folder.rpartition("/")[2]
            since = self.truth.until_ms - conversation_plan.SPAN_DAYS * DAY
            self.truth.workspace_files[agent] = self.workspaces[agent].write_to(self.out / folder, since_ms=since)
        if self.subagents:
            (self.out / "subagents").mkdir()
            text = json.dumps({"version": 2, "runs": self.subagents}, ensure_ascii=False, indent=2)
            (self.out / "subagents" / "runs.json").write_text(text, encoding="utf-8", newline="\n")
            self.truth.subagent_runs = len(self.subagents)
        sizes = [file.stat().st_size for file in self.out.rglob("*") if file.is_file()]
        self.truth.files, self.truth.bytes = len(sizes), sum(sizes)
        return self.truth


def write_home(out, *, seed=7, until_ms=DEFAULT_UNTIL_MS):
    """Write the demo home under the empty or new folder `out`; return its truth.

    The same arguments write the same bytes.
    """
    home = Home(out, seed=seed, until_ms=until_ms)
    log = Log(seed, until_ms - conversation_plan.SPAN_DAYS * DAY, until_ms)
    _play_sittings(home, until_ms)
    _play_jobs(home, log)
    home.truth.cron_jobs, home.truth.cron_runs = log.write(out)
    memory.write_changes(out, home.workspaces, until_ms)
    return home.finish()


def _play_sittings(home, until_ms):
    chance = Chance.from_words(home.seed, "plan")
    sittings, stages = conversation_plan.list_sittings(), {}
    for booking in conversation_plan.plan_bookings(chance, until_ms):
        sitting = sittings[booking.sitting]
        if booking.sitting not in stages:
            options = {"model": sitting.model, "thinking": sitting.thinking, "damage": sitting.damage}
            stages[booking.sitting] = home.open(sitting.place, words=(sitting.days[0],), **options)
        people = [person for person in sitting.place.people if read_stories()[booking.story].fits(by=person)]
        speaker = chance.choice(people) if people else None
        stages[booking.sitting].perform(read_stories()[booking.story], at_ms=booking.at_ms, speaker=speaker)
    for number, stage in sorted(stages.items()):
        home.close(stage, state=sittings[number].state, label=sittings[number].place.label or None)


def _play_jobs(home, log):
    for job in JOBS:
        log.pruned(job)
        scenes = sorted(
            name
            for name, story in read_stories().items()
            if story.fits(on="cron") and job.key in story.tags.get("job", ())
        )
        for index, ms in enumerate(log.times(job)[-job.kept_runs :]):
            session_id = Chance.from_words(home.seed, job.key, ms).uuid()
            place = Place(job.agent, "cron", f"{job.id(home.seed)}:run:{session_id}", job.name)
            stage = home.open(place, model=job.model, thinking="off", session_id=session_id)
            story = read_stories()[scenes[index % len(scenes)]]
            stage.perform(story, at_ms=ms, known={"message": job.message})
            run = stage.transcript
            result = {"is_error": not run.usage["totalTokens"], "model": run.model, "usage": run.usage}
            log.enter(job, run.session_id, ms, run.ms - ms, stage.reply, **result)
            home.close(stage, label=f"Cron: {job.name}")
