"""The scripts of a text and, among those of Latin letters, its language: enough to compare a reply with a question."""

import re
from collections import Counter

CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,200}`|https?://\S+|(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]+)+", re.DOTALL)
# A letter of these scripts counts as much of a language as `WEIGHTS` says; a Latin word as 1.
SCRIPTS = {
    "latin": re.compile(r"[A-Za-z\u00c0-\u024f][A-Za-z\u00c0-\u024f'’]*"),
    "han": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]"),
    "kana": re.compile(r"[\u3040-\u30ff]"),
    "hangul": re.compile(r"[\uac00-\ud7af]"),
    "cyrillic": re.compile(r"[\u0400-\u04ff]+"),
    "arabic": re.compile(r"[\u0600-\u06ff]+"),
    "devanagari": re.compile(r"[\u0900-\u097f]+"),
    "greek": re.compile(r"[\u0370-\u03ff]+"),
    "hebrew": re.compile(r"[\u0590-\u05ff]+"),
    "thai": re.compile(r"[\u0e00-\u0e7f]+"),
}
RARE = re.compile(r"[\u0370-\u0fff\uac00-\ud7af]")  # letters of the other scripts
WEIGHTS = {"han": 0.6, "kana": 0.5, "hangul": 0.5}
# Frequent short words that the other languages of this list do not have.
WORDS = {
    "en": "the and is are was of to that this it you for with have not be what how my your can will they who why which",
    "de": "der die das und ist nicht ich sie es ein eine mit für auf zu den dem von wie wir auch sind habe werden",
    "fr": "le les des et est une pour que qui dans vous je pas avec sur du au ce nous votre sont être il",
    "es": "el los las y es una para que con por su se del está usted como más pero tiene hay son lo",
    "it": "il gli che è una per con non di della sono questo più come anche si del ha nel alla",
    "nl": "het een niet van ik je dat op te zijn met voor maar ook dan naar bij hem",
    "pt": "o os as e é uma para que com não do da em por você se mais foi está são no na",
}
LANGUAGES = {language: frozenset(words.split()) for language, words in WORDS.items()}
QUOTED = re.compile(r"[\"“«][^\"”»\n]{1,400}[\"”»]")
MOST = 1_500  # characters that are enough to know


def strip_code(text: str) -> str:
    """A text without code, addresses and paths, which have no language."""
    return CODE.sub(" ", text) if "`" in text or "/" in text else text


def count_scripts(text: str) -> Counter[str]:
    """About how many words of each script a text has."""
    plain = strip_code(text[:MOST])
    counts = Counter({"latin": len(SCRIPTS["latin"].findall(plain))})
    if not plain.isascii():
        for name in SCRIPTS if RARE.search(plain) else ("han", "kana"):
            if name != "latin" and (amount := len(SCRIPTS[name].findall(plain))):
                counts[name] = amount * WEIGHTS.get(name, 1)
    return counts


def detect_language(text: str) -> str:
    """The language of a text of Latin letters; empty where it is not clear."""
    words = frozenset(SCRIPTS["latin"].findall(QUOTED.sub(" ", strip_code(text[:MOST])).lower()))
    counts = sorted((len(words & known), language) for language, known in LANGUAGES.items())
    (next_most, _second), (most, first) = counts[-2:]
    return first if most >= 2 and most >= 2 * next_most else ""
