"""What the words of a conclusion mean: evidence, and the level of a leak."""

import operator

from .escaping import visible

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
    # Training rows that a file stores whole, of which one is enough.
    "rows": {"severe": 1},
}
# The words of a leak, and all words in their order.
_LEAKS = ("slight", "clear", "severe")
_NAMES = (UNKNOWN, NONE, *_LEAKS)


class Level(str):
    """How much was found: a word that is ordered by harm.

    A level is a str, one of "unknown" (no verdict), "none" (nothing was shown), "slight", "clear"
    and "severe". It compares with another level, or with one of these words, in this order.

    Attributes
    ----------
    name : str
        The word as a plain str.
    at_least : bool
        Whether an estimate, but not the lower end of its interval, reaches a higher level.
    numbers : dict
        By name ("auc", "ratio") the highest corrected lower end and estimate, and its attack.
    groups : tuple of dict
        ``scope`` and ``group`` of each part of the records, and these attributes of its level.
    overall : bool
        False if only a group is beyond chance.

    Examples
    --------
    >>> from skmia.report import Level
    >>> level = Level("clear")
    >>> level == "clear", level > "slight", max(level, Level("severe"))
    (True, True, 'severe')
    """

    _fields = ("name", "at_least", "numbers", "groups", "overall")

    at_least: bool
    numbers: dict
    groups: tuple
    overall: bool

    def __new__(
        cls,
        name: str,
        at_least: bool = False,
        numbers: dict | None = None,
        groups: tuple = (),
        overall: bool = True,
    ) -> "Level":
        if name not in _NAMES:
            raise ValueError(_refuse_level(name))
        self = super().__new__(cls, name)
        self.at_least, self.groups, self.overall = at_least, tuple(groups), overall
        self.numbers = {} if numbers is None else numbers
        return self

    def __lt__(self, other: str) -> bool:
        return self._compare(other, operator.lt)

    def __le__(self, other: str) -> bool:
        return self._compare(other, operator.le)

    def __gt__(self, other: str) -> bool:
        return self._compare(other, operator.gt)

    def __ge__(self, other: str) -> bool:
        return self._compare(other, operator.ge)

    def _compare(self, other, holds):
        if not isinstance(other, str):
            return NotImplemented
        if other not in _NAMES:
            raise ValueError(_refuse_level(other))
        return holds(_NAMES.index(self), _NAMES.index(other))

    @property
    def name(self) -> str:
        """The word as a plain str."""
        return str(self)

    def as_dict(self):
        """Return the word with all attributes, in plain values."""
        return {field: getattr(self, field) for field in self._fields}

    def change(self, **fields):
        """Return the same level with other values of some attributes."""
        return Level(**(self.as_dict() | fields))

    @property
    def filled(self) -> int | None:
        """Number of bars from 0 to 3; None without a verdict."""
        return None if self == UNKNOWN else _NAMES.index(self) - 1

    @property
    def rank(self) -> int:
        """Place among the levels, below 0 where no leak was found."""
        return max(-1, _NAMES.index(self) - 2)

    @property
    def order(self) -> tuple:
        """Place among the levels, above which is one that is at least so."""
        return self.rank, self.at_least

    @property
    def word(self) -> str:
        """The level in a table."""
        words = {"none": "None shown", "unknown": "No verdict"}
        usual = f"At least {self.name}" if self.at_least else self.name.capitalize()
        return words.get(self.name, usual)

    @property
    def heading(self) -> str:
        """The level as a heading."""
        headings = {"none": "No leakage detected", "unknown": "No verdict"}
        return headings.get(self.name, f"{self.word} leakage")


def _refuse_level(name):
    from .numbers import show  # not for the command line's help, which draws bars

    return f"A level must be one of {', '.join(map(repr, _NAMES))}; got {show(name)}."


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
    return Level(_LEAKS[shown], found > shown, numbers)


def _grade(name, value):
    reached = (word for word in LIMITS[name] if reaches(word, name, value))
    return max(map(_LEAKS.index, reached), default=0)


def reaches(word, name, value):
    """Return whether a number of a name reaches the limit of a level.

    A limit that was computed as a quotient of rates, like .35 / .07, may be a rounding below.
    """
    return value >= LIMITS[name][word] * (1 - 1e-12)


def scale_interval(level, stated):
    """Return how much wider than the stated interval one of another level is, by the normal law."""
    from scipy.special import ndtri  # not for the command line's help, which names roles

    return ndtri((1 + level) / 2) / ndtri((1 + stated) / 2)


def as_plain_level(level, names=("ratio", "auc")):
    """Return a level for a document, with the limits of the numbers that it was set by."""
    limits = {name: LIMITS[name] for name in names}
    return {**level.as_dict(), "groups": list(level.groups), "limits": limits}


def read_level(plain):
    """Return a level of a document, or that of one of its groups."""
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
