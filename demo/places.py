"""Places of conversations: session keys, people, and the gateway's envelopes around their words."""

import json
from dataclasses import dataclass

from . import moments
from .vocabulary import PEOPLE, Person

CHANNELS = {"telegram": "telegram", "group": "telegram", "topic": "telegram", "irc": "irc", "ircgroup": "irc"}
SUBAGENT = "[Subagent Context] You are running as a subagent (depth 1/1). Your result is announced to whoever asked."
ON = {"topic": "group", "ircgroup": "irc"}


@dataclass(frozen=True, slots=True)
class Place:
    """One session key; `name` is the peer, group or job as the key has it."""

    agent: str
    kind: str
    name: str = ""
    label: str = ""
    people: tuple[str, ...] = ()
    topic: str = ""

    @property
    def key(self):
        """The session key."""
        kind, name = self.kind, self.name
        rest = {
            "webchat": "main",
            "telegram": f"telegram:direct:{name}",
            "group": f"telegram:group:{name}",
            "topic": f"telegram:group:{name}:topic:{self.topic}",
            "desk": f"openai:{name}",
            "irc": f"irc:direct:{name}",
            "ircgroup": f"irc:group:{name}",
        }.get(kind, f"{kind}:{name}")
        return f"agent:{self.agent}:{rest}"

    @property
    def job(self):
        """The id of the job whose run this is: `cron:<job>:run:<session>`."""
        return self.name.partition(":")[0]

    @property
    def on(self):
        """The name of this kind of place in a story's `on` tag."""
        return ON.get(self.kind, self.kind)

    @property
    def channel(self):
        """The channel's name in deliveries; webchat where there is no channel."""
        return CHANNELS.get(self.kind, "webchat")

    @property
    def is_group(self):
        return self.kind in ("group", "topic", "ircgroup")

    @property
    def address(self):
        """The address that the gateway delivers to."""
        return f"{self.channel}:{self.name}"

    def wrap(self, text, *, person, ms, message_id):
        """A person's words as the transcript has them."""
        if self.kind == "webchat":
            return f"[{moments.format_short(ms)}] {text}"
        if self.kind == "cron":
            return f"[cron:{self.job} {self.label}] {text}\nCurrent time: {moments.format_long(ms)}"
        if self.kind == "subagent":
            return f"[{moments.format_short(ms)}] {SUBAGENT}\n\n[Subagent Task]: {text}"
        if self.kind not in CHANNELS:
            return text
        info = {"timestamp": moments.format_short(ms)}
        if self.kind != "irc":
            sender = PEOPLE[person]
            sender_id = sender.telegram if self.channel == "telegram" else f"{sender.handle}!{person}@bakery.example"
            info = {"message_id": message_id, "sender_id": sender_id, "sender": sender.name, **info}
        if not self.is_group:
            return _format_block("Conversation info", info) + text
        info |= {"conversation_label": f"{self.label} id:{self.name}", "group_subject": self.label}
        info |= {"topic_id": self.topic} if self.topic else {}
        info |= {"is_group_chat": True, "was_mentioned": True}
        sender_info = {"label": sender.name, "name": sender.name, "username": sender.handle}
        return _format_block("Conversation info", info) + _format_block("Sender", sender_info) + text


def build_direct_chat(agent: str, person: Person) -> Place:
    """The Telegram chat between a person and an agent."""
    return Place(agent, "telegram", person.telegram, f"{person.name} (@{person.handle})", (person.key,))


def _format_block(title, content):
    return f"{title} (untrusted metadata):\n```json\n{json.dumps(content, ensure_ascii=False, indent=2)}\n```\n\n"
