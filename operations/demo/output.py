"""Long outputs of tools, made up line by line."""

import re

from . import moments

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


def expand(text, chance, ms):
    """The text with each line `@@ kind bytes` replaced by that much output."""
    return EXPAND.sub(lambda match: KINDS[match[1]](int(match[2]), chance, ms), text) if "@@ " in text else text


def access_log(size, chance, ms):
    """Lines of the shop's access log, up to about `size` bytes, ending at `ms`."""
    lines, total = [], 0
    at = ms - size * 40
    while total < size:
        at += chance.randint(300, 9_000)
        path = chance.choice(PATHS)
        moment = moments.local(at)
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
            f"{moments.local(minute):%Y-%m-%d %H:%M},{chance.choice(STAGES)},{chance.randint(242, 286) / 10:.1f}"
            f",{chance.randint(68, 84)},{ph:.2f}"
        )
        lines.append(line)
        total += len(line) + 1
    return "\n".join(lines)


KINDS = {"access-log": access_log, "sensor-log": sensor_log}
