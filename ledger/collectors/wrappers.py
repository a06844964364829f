"""The lines and brackets that OpenClaw's channels put around a person's words.

The blocks of `message_unwrapping` are not among them. These are headers of channels until early 2026, several messages
that were queued, attachments, transcripts of speech, and lines after the words. Whoever types such a line removes their
own words and no others. Pure: no Django, no files.
"""

import re

from .envelopes import FORWARDED, QUOTE, SENDER, Block, UnwrappedMessage

# auto-reply/reply/queue/drain (2026.1.30 to 2026.9.6), each message after its own separator.
QUEUE = "[Queued messages while agent was busy]"
QUEUED = re.compile(r"(?:^|\n)---\nQueued #\d{1,4}(?: \(from ([^\n]{1,200})\))?(?:\n|\Z)")
# auto-reply/media-note and media-understanding/format
MEDIA = re.compile(r"\[media attached(?: \d{1,3}/\d{1,3})?: ([^\n]{1,2000}?)\][^\S\n]*(?:\n|\Z)")
IMAGE_TYPE = re.compile(r"\(image(?:/[\w.+-]{1,40})?\)")
FILE_COUNT = re.compile(r"\d{1,4} files")
MEDIA_HINT = "To send an image back, "
PLACEHOLDER = re.compile(r"<media:(\w{1,20})>(?:\s{0,4}\([^)\n]{0,80}\))?\s*")
NO_CAPTION = "[User sent media without caption]"
SECTION = re.compile(r"\[(Audio|Image|Video)(?: \d{1,3}/\d{1,3})?\]\n")
NEXT_SECTION = re.compile(r"\n\n(?=\[(?:Audio|Image|Video)(?: \d{1,3}/\d{1,3})?\]\n)")
USER_TEXT = "User text:\n"
FILE, FILE_END = re.compile(r'(?:^|\n)<file name="'), "</file>"
# auto-reply/envelope: `[Telegram Ada (@ada) id:42 +3m 2026-01-30 10:00 UTC] words`; a group has its own name there.
CHANNELS = (
    *("WebChat", "WhatsApp", "Telegram", "Signal", "Slack", "Discord", "Google Chat", "iMessage", "Teams", "MS Teams"),
    *("Microsoft Teams", "Matrix", "Zalo Personal", "Zalo", "BlueBubbles", "LINE", "IRC", "Mattermost", "Nostr"),
    *("Nextcloud Talk", "Tlon", "Twitch", "Feishu", "Lark", "Voice Call"),
)
MOMENT = r"(?:[A-Z][a-z]{2} )?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?Z?[^\]\n]{0,40}"
HEADER = re.compile(
    rf"\[({'|'.join(CHANNELS)})(?: ([^\n]{{1,300}}?))??(?: \+\d{{1,4}}[smhd])?(?: {MOMENT}| \+\d{{1,4}}[smhd])\] ?"
)
UNDATED = re.compile(rf"\[({'|'.join(CHANNELS)}) ([^\]\n]{{0,200}} id:[^\]\s]{{1,100}}|\+\d{{5,20}})\] ?")
PERSON = re.compile(r"(.{1,200}?) \(@([^\s()]{1,100})\)")
GROUP = re.compile(r"id:-\d|[#]|@g\.us|[Gg]roup\b|[Gg]uild\b|[Rr]oom\b|[Cc]hannel\b|id:(?:group|channel)")
SPEAKER = re.compile(r"([^\n:()]{1,80}(?: \([^)\n]{1,100}\))?): ")
LABELLED = re.compile(r"([^\n:()]{1,80} \([^)\n]{1,100}\)): ")
# auto-reply/reply/history
HISTORY = ("[Chat messages since your last reply - for context]\n", "[Recent chat messages - for context]\n")
CURRENT = "[Current message - respond to this]\n"
FORWARD = re.compile(r"\[Forwarded from ([^\]\n]{1,200}?)(?: at [^\]\n]{1,40})?\]\n")
# auto-reply/reply/body and get-reply-inline-actions
HINTS = ("Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification.\n",)
SKILL = re.compile(r'Use the "[^"\n]{1,120}" skill for this request\.\n\nUser input:\n')
ID_LINE = re.compile(r"\[(?:message_id|(?:slack|discord|telegram) message id): [^\]\n]{1,200}\]\s*")
FROM_LINE = re.compile(r"\[from: ([^\]\n]{1,200})\]\s*")
QUOTES = {"[/Replying]": re.compile(r"(?:^|\n)\[Replying to "), "[/Quoting]": re.compile(r"(?:^|\n)\[Quoting ")}
LONGEST_LINE = 300
SIGNS = ("[message_id: ", " message id: ", FILE_END, *QUOTES)  # of lines after the words
STARTS = re.compile(r"\s*(?:\[|<<<|<media:|User text:|Use the \"|Note: The previous|To send an image|System)")
# Shapes of wrappers that no version read here writes.
ODD = re.compile(
    r"\[[^\]\n]{2,80} - (?:for context|respond to this)\]"
    r"|\[[A-Za-z][^\]\n:]{1,40}: [^\]\n]{1,2000}\][^\S\n]*(?:\n|\Z)"
    r"|\[[A-Z][\w' -]{1,60}\][^\S\n]*\n"
    r"|\[(?:Audio|Image|Video)(?: \d{1,3}/\d{1,3})?\] [^\n]*\n"
    r"|\[[a-z][\w-]{1,30}:[\w-]{6,}[^\]\n]{0,200}\] "
    r"|\[(?:System|OpenClaw|Internal|Automated|Background|Subagent|Gateway|Runtime)\b[^\]\n]{0,200}\]"
    r"|<<<[A-Z_]{6,}"
    r"|System(?: \([^)\n]{1,40}\))?: [^\n]*\n(?:System[^\n]*\n)*[^\S\n]*\n"
)


def is_odd_wrapper(text: str, at: int) -> bool:
    """Whether the text at `at` has the shape of a wrapper, and is no known one."""
    if text.startswith(QUEUE, at) and QUEUED.search(text, at):
        return False
    if text.startswith(NO_CAPTION, at) or SECTION.match(text, at) or ID_LINE.match(text, at):
        return False
    return ODD.match(text, at) is not None


def find_wrapper_end(text: str, at: int, message: UnwrappedMessage) -> int:
    """Read the line or bracket that begins here; return its end, or -1 without one."""
    if text.startswith("[", at):
        return _read_bracket(text, at, message)
    if text.startswith(MEDIA_HINT, at):
        end = text.find("\n", at)
        return (len(text) if end < 0 else end) + 1
    if hint := next((hint for hint in HINTS if text.startswith(hint, at)), ""):
        return at + len(hint)
    if skill := SKILL.match(text, at):
        return skill.end()
    if media := PLACEHOLDER.match(text, at):
        _count_media(message, is_image=media[1] in ("image", "sticker"))
        return media.end()
    return -1


def split_queued_messages(text: str, at: int) -> list[tuple[str, str]] | None:
    """The queued messages of a list that begins here, as `(sender, text)`.

    The sender is empty when it is not named. None when no list begins here. Every separator counts, also one that
    somebody typed: a real one is never taken for words.
    """
    if not text.startswith(QUEUE, at):
        return None
    separators = list(QUEUED.finditer(text, at + len(QUEUE)))
    if not separators:
        return None
    ends = [match.start() for match in separators[1:]] + [len(text)]
    messages = [
        (match[1] or "", text[match.end() : end].strip("\n")) for match, end in zip(separators, ends, strict=True)
    ]
    return [(name, message) for name, message in messages if name or message.strip()]


def strip_trailers(words: str, message: UnwrappedMessage) -> str:
    """The words without ids, senders, quotes and files after them."""
    end, cut, speaker = len(words), len(words), ""
    has_header = message.is_unnamed or any(block.kind == SENDER for block in message.blocks)
    while True:
        while end and words[end - 1].isspace():
            end -= 1
        start = words.rfind("\n", 0, end) + 1
        last = words[start : min(end, start + LONGEST_LINE)]
        if ID_LINE.fullmatch(last):
            has_header = True
        elif has_header and not speaker and (sender := FROM_LINE.fullmatch(last)):
            speaker = sender[1]
            message.blocks.append(Block(SENDER, {"name": speaker}))
        elif (opening := _find_quote_start(words, last, end)) >= 0:
            start = opening
            message.blocks.append(Block(QUOTE, words[start:end].split("\n")))
        elif words.endswith(FILE_END, 0, end) and (opening := _find_line_start(FILE, words, end)) >= 0:
            start = opening
            message.files += words.count('<file name="', start, end)
        else:
            break
        end = cut = max(start - 1, 0)
    begin = len(speaker) + 2 if speaker and words.startswith(f"{speaker}: ") else 0
    return words[begin:cut].rstrip("\n") if cut < len(words) else words


def find_spoken_words(text: str, message: UnwrappedMessage) -> str:
    """The words that a person wrote and spoke, where media were put into words.

    Descriptions of images and videos by a program are left out.
    """
    if text.strip() == NO_CAPTION:
        message.images = message.images or 1
        return ""
    written, rest = "", text
    if text.startswith(USER_TEXT) and (first := NEXT_SECTION.search(text)):
        written, rest = text[len(USER_TEXT) : first.start()], text[first.end() :]
    if not SECTION.match(rest):
        return text
    words = [written]
    for section in NEXT_SECTION.split(rest):
        head = SECTION.match(section)
        kind = head[1] if head else ""
        label = "Transcript:\n" if kind == "Audio" else "Description:\n"
        body = section[head.end() if head else 0 :] + "\n"  # a section without words ends with its label
        before, mark, transcript = body.partition(label)
        if not mark or (before and not (before.startswith(USER_TEXT) and before.endswith("\n"))):
            message.unknown = message.unknown or section[:120].partition("\n")[0]
            return text
        words.append(before.removeprefix(USER_TEXT).strip("\n"))
        if kind == "Audio":
            words.append(transcript)
        else:
            _count_media(message, is_image=kind == "Image")
    return "\n\n".join(part.strip("\n") for part in words if part.strip())


def _read_bracket(text, at, message):
    if media := MEDIA.match(text, at):
        if not FILE_COUNT.fullmatch(media[1]):
            _count_media(message, is_image=IMAGE_TYPE.search(media[1]) is not None)
        return media.end()
    if header := HEADER.match(text, at) or UNDATED.match(text, at):
        # Read the header of a channel: the person it names, and the speaker in a group.
        label, _sep, number = (header[2] or "").strip().rpartition(" id:")
        label, is_group = label or number, GROUP.search(header[2] or "") is not None
        speaker = (SPEAKER if is_group else LABELLED).match(text, header.end())
        if speaker:
            message.blocks.append(Block(SENDER, {"name": speaker[1]}))
        message.is_unnamed = not speaker or not speaker[1].endswith(")")
        if label and (speaker or is_group):
            message.blocks.append(Block(SENDER, {"label": label}))
        elif label:
            person = PERSON.fullmatch(label)
            sender = {"name": person[1], "username": person[2]} if person else {"name": label}
            message.blocks.append(Block(SENDER, sender | ({"id": number} if number != label else {})))
        return speaker.end() if speaker else header.end()
    if history := next((mark for mark in HISTORY if text.startswith(mark, at)), ""):
        # The last mark is the right one: the messages before it are other people's.
        current = text.rfind(CURRENT, at)
        if current < 0:
            return -1
        message.blocks.append(Block(QUOTE, text[at + len(history) : current].split("\n")))
        return current + len(CURRENT)
    if forward := FORWARD.match(text, at):
        message.blocks.append(Block(FORWARDED, {"forwarded_from": forward[1]}))
        return forward.end()
    return -1


def _find_quote_start(words, last, end):
    """Where the quote that this last line ends begins; -1 when it ends none."""
    return _find_line_start(QUOTES[last], words, end) if last in QUOTES else -1


def _find_line_start(pattern, words, end):
    match = pattern.search(words, 0, end)
    return -1 if match is None else match.end() - len(match[0].lstrip("\n"))


def _count_media(message, *, is_image):
    if is_image:
        message.images += 1
    else:
        message.files += 1
