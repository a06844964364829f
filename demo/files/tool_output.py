"""Long outputs of tools, made up line by line."""

import json
import re

from .. import moments
from ..chance import Chance
from ..vocabulary import LISTS

EXPAND = re.compile(r"^@@ ([\w-]+) (\d+)$", re.MULTILINE)
PATHS = (
    "/",
    "/loaves",
    "/loaves/tide-sourdough",
    "/buns/kaya-brioche",
    "/cart",
    "/cart/add",
    "/checkout",
    "/api/slots?post=048616",
    "/static/app.9f2c.css",
    "/static/hero.webp",
    "/orders/track",
    "/面包/早潮酸面包",
)
CODES = (200, 200, 200, 200, 200, 200, 304, 304, 302, 404, 499, 500)
STAGES = ("autolyse", "bulk ferment", "fold", "preshape", "bench rest", "proof", "bake", "cool")


def expand_output(text, chance, ms):
    """The text with each line `@@ kind bytes` replaced by that much output."""
    return EXPAND.sub(lambda match: KINDS[match[1]](int(match[2]), chance, ms), text) if "@@ " in text else text


def access_log(size, chance, ms):
    """Lines of the shop's access log, up to about `size` bytes, ending at `ms`."""
    lines, total = [], 0
    at = ms - size * 40
    while total < size:
        at += chance.randint(300, 9_000)
        path = chance.choice(PATHS)
        moment = moments.to_local(at)
        line = (
            f"198.51.100.{chance.randint(1, 254)} - - [{moment:%d}/{moments.MONTHS[moment.month - 1][:3]}"
            f'/{moment:%Y:%H:%M:%S} +0800] "GET {path} HTTP/2.0" {chance.choice(CODES)} {chance.randint(90, 48_000)}'
            f" rt={chance.randint(2, 900) / 1000:.3f}"
        )
        lines.append(line)
        total += len(line.encode()) + 1
    return "\n".join(lines)


def sensor_log(size, chance, ms):
    """Readings of the proofing cabinet, one a minute."""
    lines, total = ["time,stage,temp_c,humidity,ph"], 0
    minute, ph = moments.midnight(ms) + 90 * 60_000, 5.9
    while total < size:
        minute += 60_000
        ph = max(3.7, ph - chance.randint(0, 6) / 1000)
        line = (
            f"{moments.to_local(minute):%Y-%m-%d %H:%M},{chance.choice(STAGES)},{chance.randint(242, 286) / 10:.1f}"
            f",{chance.randint(68, 84)},{ph:.2f}"
        )
        lines.append(line)
        total += len(line) + 1
    return "\n".join(lines)


def gateway_log(size, chance, ms):
    """A log of the gateway, in which tokens were renewed."""
    lines, total, at = [], 0, ms - size * 30
    while total < size:
        at += chance.randint(500, 6_000)
        line = f"{moments.format_iso(at)} {chance.choice(NOTES).format(ms=chance.randint(40, 900))}"
        lines.append(line)
        total += len(line) + 1
    return "\n".join(lines)


def pytest_log(size, chance, _ms):
    """A run of the shop's tests in which one fails."""
    lines, total, number = ["============ test session starts ============"], 0, 0
    while total < size:
        number += 1
        name = f"tests/test_{chance.choice(PARTS)}.py::test_{chance.choice(DEEDS)}_{number}"
        lines.append(f"{name} PASSED")
        total += len(name) + 8
    return "\n".join([*lines, *FAILURE, f"============ 1 failed, {number} passed in 41.20s ============"])


def orders_json(size, chance, ms):
    """Orders of the shop as it lists them for programs."""
    orders = []
    while len(orders) * 260 < size:
        product = chance.choice(LISTS["products"])
        placed = moments.format_iso(ms - chance.randint(1, 28 * moments.DAY))
        order = {"id": 184_200 + len(orders), "placedAt": placed, "sku": product["sku"], "name": product["name"]}
        order |= {"pieces": chance.randint(1, 6), "price": product["price"], "slot": chance.choice(("08:30", "15:00"))}
        orders.append(order | {"pickedUpMinutes": chance.randint(0, 45)})
    return json.dumps({"currency": "SGD", "orders": orders}, ensure_ascii=False, indent=2)


def sessions_json(size, chance, ms):
    """The output of `openclaw sessions list --json`."""
    rows = []
    while len(rows) * 270 < size:
        row = {"key": f"agent:main:openai:{chance.choice(PARTS)}-{len(rows)}", "sessionId": chance.uuid()}
        row |= {"updatedAt": ms - chance.randint(1, 7 * moments.DAY), "model": "claude-sonnet-4-5"}
        rows.append(row | {"totalTokens": chance.randint(900, 140_000), "contextTokens": 200_000})
    return json.dumps({"count": len(rows), "sessions": rows}, ensure_ascii=False, indent=2)


def shop_page(size, _chance, _ms):
    """The shop's front page, always with the same bytes."""
    chance, parts = Chance.from_words("shop page", size), [PAGE_HEAD]
    while sum(map(len, parts)) < size:
        product = chance.choice(LISTS["products"])
        image = f"/static/{product['sku'].lower()}.webp"
        parts.append(
            f'<article class="product"><h2>{product["name"]}</h2><img src="{image}" alt="">\n'
            f"  <p>{product['contains']}</p><p>S$ {product['price']}</p></article>"
        )
    return "\n".join([*parts, "</main></body></html>"])


def paper(size, chance, _ms):
    """The text of a paper."""
    parts = []
    while sum(map(len, parts)) < size:
        number = len(parts) + 1
        text = " ".join(chance.choice(SENTENCES).format(n=chance.randint(3, 24)) for _ in range(6))
        parts.append(f"## {number}. {chance.choice(CHAPTERS)}\n\n{text}\n")
    return "\n".join(parts)


NOTES = (
    "info  telegram: poll answered in {ms} ms",
    "info  telegram: delivered one message in {ms} ms",
    "info  auth: access token renewed, valid for an hour",
    "warn  telegram: 502 from the server, next try in {ms} ms",
    "info  queue: empty",
    "info  irc: ping answered in {ms} ms",
)
PARTS = ("slots", "orders", "refunds", "stock", "labels", "newsletter", "gift_cards")
DEEDS = ("counts_once", "refuses_nothing", "keeps_the_price", "rounds_to_cents", "says_why")
FAILURE = (
    "tests/test_slots.py::test_a_full_slot_is_not_offered FAILED",
    "",
    "================== FAILURES ==================",
    "    def test_a_full_slot_is_not_offered(shop):",
    "        shop.fill('08:30')",
    ">       assert shop.next_slot() != '08:30'",
    "E       AssertionError: assert '08:30' != '08:30'",
    "",
    "tests/test_slots.py:61: AssertionError",
)
PAGE_HEAD = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Morning Tide Bakery</title>\n'
    '<meta name="description" content="Bread and buns, baked twice a day."></head>\n'
    "<body><main><h1>Morning Tide</h1>\n<p>Open from half past seven, closed on Mondays.</p>"
)
CHAPTERS = ("Samples", "Acidification", "Water", "Titration", "Communities", "Limits")
SENTENCES = (
    "The pH of each jar was read every ten minutes with an electrode of its own.",
    "Electrodes were calibrated daily at pH 4 and 7 (n = {n}).",
    "Titration followed at 0, 6, 12 and 24 hours.",
    "Hard water slowed the fall of pH in {n} jars, and the difference was gone after a day.",
    "We did not exchange electrodes between jars, which is a weakness.",
    "Counts are means of {n} plates with their 95% intervals.",
)
KINDS = {
    "access-log": access_log,
    "gateway-log": gateway_log,
    "orders-json": orders_json,
    "paper": paper,
    "sensor-log": sensor_log,
    "sessions-json": sessions_json,
    "shop-page": shop_page,
    "test-log": pytest_log,
}
