"""The plan of the demo home: who talks where, how long, with which stories."""

from dataclasses import dataclass, field

from .moments import DAY, HOUR, is_closed, to_local
from .places import Place, build_direct_chat
from .screenplay import read_stories
from .vocabulary import PEOPLE

SPAN_DAYS = 35
MINUTE = 60_000
SONNET, OPUS, HAIKU = "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-5", "anthropic/claude-haiku-4-5"
GPT, MINI, LOCAL = "openai/gpt-5.2", "openai/gpt-5-mini", "ollama/qwen3:14b"
KITCHEN, STUDY = "-1005550001", "-1005550002"


@dataclass(slots=True)
class Sitting:
    """One session: its place, its days, about how many turns, and its fixed stories.

    `at`: the day of each story, where it is not left to chance.
    """

    place: Place
    days: tuple[float, float]
    turns: int
    model: str = SONNET
    state: str = "live"
    pinned: tuple[str, ...] = ()
    damage: dict[int, str] = field(default_factory=dict)
    starts_with: str = ""
    thinking: str = "low"
    at: tuple[float, ...] = ()


@dataclass(slots=True)
class Booking:
    """A story at its time in its session."""

    at_ms: int
    sitting: int
    story: str


def list_sittings():
    """The sessions of the demo, except those of scheduled jobs and sub-agents."""
    return [*_list_bakery(), *_list_lab(), *_list_wrong_fact()]


def _list_bakery():
    mei, arjun, xiaowen, ben = (build_direct_chat("main", PEOPLE[key]) for key in ("mei", "arjun", "xiaowen", "ben"))
    kitchen = ("mei", "ben", "xiaowen")
    own_desk = Place("main", "webchat", label="Mei at her desk", people=("mei",))
    order_desk = Place("main", "desk", "order-desk", "Order desk 点单台", ("xiaowen",))
    return [
        Sitting(own_desk, (0, 13), 18, state="reset"),
        Sitting(
            own_desk, (13, 35), 38, starts_with="new-session-main",
            pinned=("switch-to-opus", "orders-as-json", "price-round", "rewound-newsletter", "pasted-key"),
        ),
        Sitting(mei, (0, 35), 36, pinned=("supplier-prices", "photo-of-a-crumb", "tea-eggs-reminder")),
        Sitting(xiaowen, (0, 14), 16, state="reset"),
        Sitting(xiaowen, (14, 35), 32, starts_with="new-session-main", pinned=("strange-review", "address-in-arabic")),
        Sitting(
            arjun, (1, 35), 34, model=GPT, damage={60: "nul_bytes"},
            pinned=(
                "whole-access-log", "site-speed", "tests-fail", "gateway-log", "tool-that-is-not-there",
                "front-page-again",
            ),
        ),
        Sitting(ben, (2, 35), 26, damage={30: "torn"}),
        Sitting(Place("main", "group", KITCHEN, "Kitchen & counter", kitchen), (0, 35), 30),
        Sitting(Place("main", "topic", KITCHEN, "Kitchen & counter", kitchen, topic="12"), (5, 34), 8),
        Sitting(Place("main", "irc", "arjun", "arjun", ("arjun",)), (3, 30), 9, model=MINI),
        Sitting(Place("main", "ircgroup", "#ops", "#ops", ("arjun", "mei")), (2, 34), 12, model=GPT),
        Sitting(order_desk, (4, 35), 408, model=MINI),
        *_list_calls("main", MAIN_CALLS),
        Sitting(Place("main", "openai", "old-integration-test"), (1, 2), 4, model=MINI, state="orphan"),
    ]  # fmt: skip


def _list_lab():
    hana, zhou = (build_direct_chat("research", PEOPLE[key]) for key in ("hana", "zhou"))
    study_chat = Place("research", "webchat", label="Starter study, main chat", people=("hana",))
    return [
        Sitting(study_chat, (0, 16), 14, state="reset"),
        Sitting(
            study_chat, (16, 35), 24, starts_with="new-session-research",
            pinned=("whole-paper", "plate-readings", "two-methods", "compacted-by-hand"),
            damage={30: "lost"}, thinking="medium",
        ),
        Sitting(hana, (0, 35), 26, pinned=("three-cultivars", "aborted-table")),
        Sitting(zhou, (1, 35), 30, pinned=("parallel-papers",)),
        Sitting(Place("research", "group", STUDY, "Starter study", ("hana", "zhou", "ben")), (3, 34), 16),
        *_list_calls("research", RESEARCH_CALLS),
    ]  # fmt: skip


def _list_wrong_fact():
    """The sessions of a fact that is remembered wrongly, does harm and is found out.

    They come last, so that all other sessions stay as they were.
    """
    oven = Place("main", "topic", KITCHEN, "Kitchen & counter", ("ben",), topic="31")
    labels = Place("main", "topic", KITCHEN, "Kitchen & counter", ("mei", "ben"), topic="44")
    return [
        Sitting(oven, (32, 33), 1, pinned=("mixer-is-clean",), at=(32.15,)),
        Sitting(Place("main", "openai", "shop-chat"), (33, 34), 1, pinned=("may-she-eat-it",), at=(33.3,)),
        Sitting(labels, (34, 35), 4, pinned=("who-says-so", "new-tray"), at=(34.05, 34.9)),
    ]


# Programs that use the OpenAI-compatible endpoint: a name each, the day, turns, model, state.
MAIN_CALLS = (
    ("menu-copy", 2, 6, SONNET, "live", ()),
    ("alt-texts", 4, 5, HAIKU, "live", ()),
    ("refund-letter", 6, 4, SONNET, "deleted", ()),
    ("price-board", 8, 7, MINI, "live", ()),
    ("allergen-labels", 11, 9, SONNET, "live", ()),
    ("faq-widget", 14, 12, HAIKU, "live", ("cut-short",)),
    ("postcode-check", 17, 5, MINI, "deleted", ()),
    ("newsletter", 19, 8, OPUS, "live", ("front-page-source",)),
    ("checkout-errors", 22, 10, GPT, "live", ("overloaded-then-fine",)),
    ("gift-cards", 24, 3, HAIKU, "live", ()),
    ("spam-filter", 26, 4, MINI, "deleted", ()),
    ("holiday-hours", 28, 6, SONNET, "live", ()),
    ("wholesale-quote", 31, 8, SONNET, "live", ()),
    ("translate-product-pages", 33, 11, SONNET, "live", ()),
    ("sunday-banner", 34, 4, HAIKU, "live", ()),
)
RESEARCH_CALLS = (
    ("reference-list", 3, 6, SONNET, "live", ()),
    ("figure-captions", 9, 7, SONNET, "live", ()),
    ("plate-counts", 13, 9, GPT, "live", ()),
    ("reviewer-two", 20, 10, OPUS, "live", ()),
    ("abstract-250-words", 23, 5, SONNET, "live", ()),
    ("units", 27, 3, LOCAL, "live", ()),
    ("protocol-v3", 30, 8, SONNET, "live", ()),
    ("talk-outline", 34, 6, SONNET, "live", ()),
)


def _list_calls(agent, rows):
    for name, day, turns, model, state, pinned in rows:
        yield Sitting(Place(agent, "openai", name), (day, day + 0.9), turns, model, state, pinned)


class Deck:
    """Deals stories: rarely played ones first, each at most once in a session."""

    def __init__(self, chance):
        self.chance = chance
        self.play_counts = {name: 0 for name, story in read_stories().items() if "once" not in story.tags}

    def deal(self, place, used):
        """The next story for a place, or None when all that fit were played there."""
        on, who = place.on, place.people[0] if len(place.people) == 1 else None
        fitting = [name for name in self.play_counts if name not in used and self._may_play(name, place.agent, on, who)]
        if not fitting:
            return None
        least = min(self.play_counts[name] for name in fitting)
        name = self.chance.choice([name for name in fitting if self.play_counts[name] == least])
        self.play_counts[name] += 1
        return name

    def _may_play(self, name, agent, on, who):
        story = read_stories()[name]
        conditions = {"agent": agent, "on": on} | ({"by": who} if who else {})
        return self.play_counts[name] < story.limit and story.fits(**conditions)


def plan_bookings(chance, until_ms):
    """Every booking of the demo, in the order of time."""
    deck, since_ms = Deck(chance), until_ms - SPAN_DAYS * DAY
    bookings = []
    for number, sitting in enumerate(list_sittings()):
        names = _choose_stories(deck, sitting, chance)
        bookings += _book_stories(number, sitting, names, since_ms, until_ms, chance)
    return sorted(bookings, key=lambda booking: (booking.at_ms, booking.sitting))


def _choose_stories(deck, sitting, chance):
    """The stories of a session: its fixed ones, among others until it is long enough."""
    names, used = list(sitting.pinned), set(sitting.pinned)
    turns = sum(read_stories()[name].turns for name in names)
    while turns < sitting.turns:
        if sitting.turns > 100 and len(used) >= 24:
            used.clear()  # one long session repeats the same small stories
        if (name := deck.deal(sitting.place, used)) is None:
            break
        used.add(name)
        names.insert(len(names) if sitting.turns > 100 else chance.randint(0, len(names)), name)
        turns += read_stories()[name].turns
    return [sitting.starts_with, *names] if sitting.starts_with else names


def _book_stories(number, sitting, names, since_ms, until_ms, chance):
    """Yield bookings of a session's stories: by day, in shop hours, before the end."""
    first, last = (since_ms + round(day * DAY) for day in sitting.days)
    times = sorted(_move_to_shop_hours(chance.randint(first, last - HOUR), chance) for _ in names)
    if sitting.at:
        times = [since_ms + round(day * DAY) for day in sitting.at]
    elif sitting.place.on == "openai":
        times = [times[0] + index * 7 * MINUTE for index in range(len(names))]
    elif sitting.state == "live" and last >= until_ms:
        times[-1] = until_ms - chance.randint(9, 20) * HOUR
    cursor = first
    for name, at_ms in zip(names, sorted(times), strict=True):
        story = read_stories()[name]
        length = story.waits_ms + story.turns * 5 * MINUTE + 10 * MINUTE
        at_ms = min(max(at_ms, cursor), until_ms - length - HOUR)
        at_ms = max(at_ms, cursor)
        if at_ms + length < until_ms or name in sitting.pinned:
            yield Booking(at_ms, number, name)
            cursor = at_ms + length


def _move_to_shop_hours(ms, chance):
    """The same day at an hour when the bakery is awake; Mondays are quieter."""
    moment = to_local(ms)
    if is_closed(ms) and chance.random() < 0.6:
        ms += DAY
    midnight = ms - (moment.hour * 60 + moment.minute) * MINUTE
    return midnight + round(chance.triangular(6.5, 21.5, 10.5) * HOUR)
