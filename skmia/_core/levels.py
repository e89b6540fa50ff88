"""What the words of a conclusion mean: evidence, and the level of a leak."""

from typing import NamedTuple

from .visible import visible

EVIDENCE = LEAK, NONE, SHIFT, REVERSED, UNKNOWN = "leak", "none", "shift", "reversed", "unknown"
CONCLUSIVE = LEAK, NONE


# The three bars of a level.
BARS = {None: "???", 0: "\u00b7\u00b7\u00b7", 1: "\u2582\u00b7\u00b7", 2: "\u2582\u2585\u00b7"}
BARS[3] = "\u2582\u2585\u2588"

# Limits of the levels. Half of those that a false positive rate is multiplied by are members that
# an attacker recognizes by 5 of 6, and by 19 of 20; a member ranks above another record 3 of 5
# times, and 4 of 5; the excess is of attacks on a table. Two of each three are choices. No policy
# sets them, so that one word means the same on all pages; what a policy limits is in its advice.
LIMITS = {
    "ratio": {"clear": 5.0, "severe": 20.0},
    "auc": {"clear": 0.60, "severe": 0.80},
    "excess": {"clear": 0.09, "severe": 0.33},
}
_NAMES = ("slight", "clear", "severe")


class Level(NamedTuple):
    """How much was found: a level of what attacks reach."""

    name: str  # severe, clear or slight; none: nothing was shown; unknown: no verdict
    at_least: bool = False  # an estimate, but not the lower end of its interval, is higher
    # By name ("auc", "ratio") the highest corrected lower end and estimate, and its attack.
    numbers: dict = {}
    groups: tuple = ()  # scope and group of each part of the records, and these fields
    overall: bool = True  # False if only a group is beyond chance

    @property
    def filled(self):
        """Number of bars from 0 to 3; None without a verdict."""
        return {"none": 0, "unknown": None}.get(self.name, 1 + self.rank)

    @property
    def rank(self):
        """Place among the levels, below 0 where no leak was found."""
        return _NAMES.index(self.name) if self.name in _NAMES else -1

    @property
    def order(self):
        return self.rank, self.at_least

    @property
    def word(self):
        words = {"none": "None shown", "unknown": "No verdict"}
        usual = f"At least {self.name}" if self.at_least else self.name.capitalize()
        return words.get(self.name, usual)

    @property
    def heading(self):
        headings = {"none": "No leakage detected", "unknown": "No verdict"}
        return headings.get(self.name, f"{self.word} leakage")


def set_level(evidence, numbers):
    """The level of the numbers, each with ``low`` and ``estimate``, of what an evidence is of."""
    if evidence not in CONCLUSIVE:
        return Level("unknown")
    if evidence == NONE:
        return Level("none", numbers=numbers)
    shown, found = (
        max([0, *(_grade(name, number[end]) for name, number in numbers.items())])
        for end in ("low", "estimate")
    )
    return Level(_NAMES[shown], found > shown, numbers)


def _grade(name, value):
    # A limit that was computed as a quotient of rates, like .35 / .07, may be a rounding below.
    return sum(value >= limit * (1 - 1e-12) for limit in LIMITS[name].values())


def scale(level, stated):
    """How much wider than the stated interval one of another level is, by the normal law."""
    from scipy.special import ndtri  # not for the command line's help, which names roles

    return ndtri((1 + level) / 2) / ndtri((1 + stated) / 2)


def as_plain_level(level, names=("ratio", "auc")):
    """A level for a document, with the limits of the numbers that it was set by."""
    limits = {name: LIMITS[name] for name in names}
    return {**level._asdict(), "groups": list(level.groups), "limits": limits}


def read_level(plain):
    """A level of a document, or that of one of its groups."""
    return Level(**{name: plain[name] for name in Level._fields if name in plain})


def write_conclusion(grounds, evidence, headlines, describe):
    """Return 'headline. description' for a verdict."""
    return visible(f"{headlines[evidence]}. {describe[evidence](grounds)}")


def check_evidence(document, evidence):
    """Refuse a document with another evidence than the one that follows from its numbers."""
    if evidence != document["evidence"]:
        raise ValueError(
            f"evidence is {document['evidence']!r}, but its numbers and checks say {evidence!r}"
        )
