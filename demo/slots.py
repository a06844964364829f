"""Fills the slots `[[...]]` of a story: words, numbers, names and dates."""

import re
from decimal import Decimal

from . import moments, vocabulary

SLOT = re.compile(r"\[\[(.+?)\]\]")
RANGE = re.compile(r"(-?[\d.]+)\.\.(-?[\d.]+)$")
NUMBER = re.compile(r"-?\d+(\.\d+)?$")


class Slots:
    """The names of one performance of a story; `now` returns the moment for dates."""

    def __init__(self, chance, now, known=None):
        self.chance = chance
        self.now = now
        self.names = dict(known or {})

    def fill(self, text):
        """The text with every slot filled in."""
        return SLOT.sub(lambda match: str(self.value(match[1])), text) if "[[" in text else text

    def set(self, text):
        """Give names their values: `p = @products; n = 2..6; total = n * p.price`."""
        for part in re.split(r"[;\n]", text):
            name, _, expression = part.partition("=")
            self.names[name.strip()] = self.value(expression.strip())

    def value(self, expression):
        """The value of an expression."""
        if expression.startswith("@"):
            return self.chance.choice(vocabulary.LISTS[expression[1:]])
        if "|" in expression:
            return self.chance.choice(expression.split("|"))
        if match := RANGE.match(expression):
            return self._draw_number(match[1], match[2])
        if " " in expression:
            return self._calculate(expression.split())
        return self._look_up(expression)

    def _draw_number(self, low, high):
        places = len(low.partition(".")[2])
        scale = 10**places
        number = self.chance.randint(round(Decimal(low) * scale), round(Decimal(high) * scale))
        return f"{Decimal(number) / scale:.{places}f}"

    def _calculate(self, words):
        """The result of numbers and names joined by + - * /, from left to right.

        It is as exact as its parts, or as `:2` says.
        """
        places = int(words.pop()[1:]) if words[-1].startswith(":") else None
        numbers = [Decimal(str(self._look_up(word))) for word in words[::2]]
        if places is None:
            places = max(max(0, -number.as_tuple().exponent) for number in numbers)
        total = numbers[0]
        for sign, number in zip(words[1::2], numbers[1:], strict=True):
            total = {"+": total.__add__, "-": total.__sub__, "*": total.__mul__, "/": total.__truediv__}[sign](number)
        return f"{total:.{places}f}"

    def _look_up(self, name):
        if NUMBER.match(name):
            return name
        if name in DATES:
            return DATES[name](self.now())
        first, _, rest = name.partition(".")
        value = self.names[first]
        return value[rest] if rest else value


DATES = {
    "today": moments.format_day,
    "yesterday": lambda ms: moments.format_day(ms - moments.DAY),
    "tomorrow": lambda ms: moments.format_day(moments.next_baking_day(ms)),
    "nextweek": lambda ms: moments.format_day(ms + 7 * moments.DAY),
    "lastweek": lambda ms: moments.format_day(ms - 7 * moments.DAY),
    "weekday": lambda ms: moments.WEEKDAYS[moments.to_local(ms).weekday()],
    "weekday_zh": lambda ms: moments.WEEKDAYS_ZH[moments.to_local(ms).weekday()],
    "tomorrowday": lambda ms: moments.WEEKDAYS[moments.to_local(moments.next_baking_day(ms)).weekday()],
    "tomorrowday_zh": lambda ms: moments.WEEKDAYS_ZH[moments.to_local(moments.next_baking_day(ms)).weekday()],
    "time": lambda ms: f"{moments.to_local(ms):%H:%M}",
    "month": lambda ms: moments.MONTHS[moments.to_local(ms).month - 1],
    "iso": moments.format_iso,
}
