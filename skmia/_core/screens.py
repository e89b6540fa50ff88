"""What is told first of a result: one value, which pages, texts and reports of tools print."""

from dataclasses import dataclass
from typing import NamedTuple

from .levels import BARS, Level
from .text import escape, quote, wrap_short


class NextStep(NamedTuple):
    """An imperative, a reason, and a place with the words of its link."""

    imperative: str
    why: str
    place: str | None = None
    link: str = ""


class Headline(NamedTuple):
    """What was found, in the fewest words: of all, or of one way of release."""

    words: str
    where: str  # what the words are of
    levels: tuple  # the level, or both where two results are compared
    leads: bool = True  # whether it is as large as any

    @property
    def bars(self):
        """The bars of the levels, once where both are the same."""
        return " -> ".join(dict.fromkeys(BARS[level.filled] for level in self.levels))


@dataclass(frozen=True)
class Screen:
    """The first screen of a result: nothing that prints it chooses another word or number."""

    level: Level  # of the page
    heading: str  # of the page
    headlines: tuple  # each a Headline
    sentence: str  # with what is stressed between two asterisks
    steps: tuple  # what to do next, each a Step

    @property
    def plain(self):
        """The sentence where nothing can be stressed."""
        return self.sentence.replace("**", "")

    @property
    def told(self):
        """Heading and sentence in one line, for what shows no more than that."""
        return f"{self.heading}. {self.plain}"


def write_headlines(screen):
    """Return the headlines as lines of a terminal, the leading ones in capitals."""
    return [
        f"  {one.bars}  {one.words.upper() if one.leads else one.words.lower()}   {one.where}"
        for one in screen.headlines
    ]


def write_steps(screen, width=10):
    """Return what to do next as lines of a terminal, below a heading of so many characters."""
    lines = []
    for place, step in enumerate(screen.steps, 1):
        head = f"{'  Next' if place == 1 else '':{width}s}{place}  "
        lines += wrap_short(f"{step.imperative} {step.why}".replace("`", ""), head, width + 3)
    return lines


def write_as_markdown(screen):
    """Return headlines and sentence as paragraphs of Markdown."""
    lines = [f"**{escape(one.words)}** {escape(one.where)}" for one in screen.headlines]
    return [text for line in [*lines, escape(screen.plain)] for text in (line, "")]


def write_steps_as_markdown(screen):
    """Return what to do next as a numbered list of Markdown."""
    told = [
        f"{place}. {_escape_but_code(f'{step.imperative} {step.why}')}"
        for place, step in enumerate(screen.steps, 1)
    ]
    return ["## What to do next", "", *told, ""] if told else []


def _escape_but_code(text):
    """Return a text with its code, which stands between two single quotes of that kind."""
    parts = text.split("`")
    return "".join(quote(one) if k % 2 else escape(one) for k, one in enumerate(parts))
