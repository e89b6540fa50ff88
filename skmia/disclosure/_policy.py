"""Policies of release, read from TOML files."""

import re
import tomllib
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Literal

from .._core.guesses import ask_whether, find_meant, suggest_path
from .._core.numbers import check_count, check_number, show
from .._core.types import PathLike

# A policy has some kilobytes. The time to read a name grows with the square of its parts.
_MOST_BYTES, _MOST_DOTS = 10**6, 200


def load_toml(given, name, shipped, folder, make):
    """Make something of the text of a file, which is given by a path or by a name in `shipped`."""
    names = ", ".join(map(repr, shipped))
    if isinstance(given, str) and given in shipped:
        return make(files(__package__).joinpath(f"{folder}/{given}.toml").read_text("utf-8"))
    if not isinstance(given, str | Path) and not hasattr(given, "__fspath__"):
        raise TypeError(f"{name} must be one of {names} or a path; got {show(given)}.")
    path = Path(given)
    if not path.is_file():
        told = f"{name} must be one of {names} or a file; there is no file {show(str(path))}"
        raise FileNotFoundError(f"{told}{_ask_for_other(path, shipped) or '.'}")
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
        return make(_check_size(content, show(path.name)).decode("utf-8"))
    except RecursionError:
        raise ValueError(f"{show(path.name)} is nested too deeply to be a {name}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{show(path.name)} is not valid TOML: {error}.") from None


def _ask_for_other(path, shipped):
    """Return the question whether a name that is shipped, or a file that is there, was meant."""
    meant = find_meant(str(path), shipped, synonyms=False)
    return f"; {ask_whether(meant)}" if meant else suggest_path(path)


def _check_size(content, name):
    """Refuse what no person has written, and what would take minutes to read."""
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{name} has more than {_MOST_BYTES} bytes.")
    for number, line in enumerate(content.splitlines(), 1):
        if line.count(b".") > _MOST_DOTS:
            raise ValueError(f"Line {number} of {name} has more than {_MOST_DOTS} periods.")
    return content.replace(b"\r\n", b"\n")


SHIPPED_POLICIES = ("cautious", "research", "anonymity")
RELEASES = ("file", "service", "table")
LEVELS = ("block", "review", "note")
UNDECIDED = ("cannot be said", "conditions")
REFERENCE, STORED, LISTED = "reference models", "stored numbers", "all training rows"
# What has to be able to find something, by way of release; of a table, every risk is measured.
_ATTACKS = {"file": (REFERENCE, STORED, LISTED), "service": (REFERENCE, LISTED), "table": ()}
_KEYS = {"name", "version", "alpha", "defaults", "limits", "structure", "table"}
_NUMBERS_OF_CHECKS = "k", "small_cells", "smallest_leaf", "residual_dof"
_LISTS = {"required", "requires_attacks"}
_CHECKS = (*_NUMBERS_OF_CHECKS, "class_disclosure", "keeps_rows", "rules", "rounded_answers")


@dataclass(frozen=True)
class StructuralLimit:
    """What a policy says about a structural check.

    Attributes
    ----------
    level : {"block", "review", "note"}
        Whether a flag forbids the release, needs a reason, or is only listed.
    least : float or None
        Smallest value that is not flagged, if the check has a number.
    rules : str or None
        Name or path of the rules about hyper-parameters.
    """

    level: str
    least: float | None = None
    rules: str | None = None


@dataclass(frozen=True)
class Policy:
    """A policy of release, as :func:`load_policy` reads it.

    A copy with other limits, which ``dataclasses.replace`` makes, does not pass for the policy that
    was read: unless it has a name of its own, it is called ``"... (changed)"``, and it has no text.

    Attributes
    ----------
    name : str
    alpha : float
        One minus the confidence level of the intervals that are compared with limits.
    groups : tuple of str
        ``"all"``, and ``"each"`` if groups of records are judged as well.
    min_group : int
        Number of records below which a group is named and not judged.
    undecided : {"cannot be said", "conditions"}
        What follows if a limit lies within an interval.
    limits : dict of str to dict of str to float
        Limits by way of release (``"file"``, ``"service"``, ``"table"``) and number.
    required : dict of str to tuple of str
        Numbers that must be measured, by way of release.
    structure : dict of str to dict of str to StructuralLimit
        Structural checks by way of release and name.
    text : str
        The policy as it was written; empty if it was changed afterwards.
    sha256 : str
        Hash of the text; empty as well.
    requires_attacks : dict of str to tuple of str
        What must have been able to find something before a release, by way of release:
        ``"reference models"``, an attack that compares the model with others; ``"stored numbers"``
        of a file; and ``"all training rows"``, among the members. An empty tuple waives the rule; a
        way that is not named needs all.
    stand_in : bool
        Whether reference models may be of a stand-in if the recipe is not stated.
    """

    name: str
    alpha: float
    groups: tuple[str, ...]
    min_group: int
    undecided: str
    limits: dict[str, dict[str, float]]
    required: dict[str, tuple[str, ...]]
    structure: dict[str, dict[str, StructuralLimit]]
    text: str = field(repr=False, default="")
    sha256: str = ""
    requires_attacks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    stand_in: bool = False

    def __post_init__(self):
        written = _read_policy(self.text) if self.text else {}
        if all(getattr(self, name) == value for name, value in written.items()):
            return
        changed = {"text": "", "sha256": ""}
        if self.name == written["name"]:
            changed["name"] = f"{self.name} (changed)"
        for name, value in changed.items():
            object.__setattr__(self, name, value)

    def thresholds(self, release: Literal["file", "service", "table"]) -> dict[str, float]:
        """Return the thresholds of the structural checks, as :func:`structural_checks` takes them.

        Parameters
        ----------
        release : {"file", "service", "table"}
            Way of release.

        Returns
        -------
        thresholds : dict of str to float
        """
        limits = self.structure.get(release, {})
        return {name: limit.least for name, limit in limits.items() if limit.least is not None}

    def rules(self, release: Literal["file", "service", "table"]) -> str:
        """Return the rules about hyper-parameters, as :func:`structural_checks` takes them.

        Parameters
        ----------
        release : {"file", "service", "table"}
            Way of release.

        Returns
        -------
        rules : str
        """
        limit = self.structure.get(release, {}).get("rules")
        return "skmia" if limit is None or limit.rules is None else limit.rules


def list_required_attacks(policy, release):
    """What a policy asks to have been able to find something, before a release in this way."""
    return tuple(policy.requires_attacks.get(release, _ATTACKS[release]))


def load_policy(policy: PathLike = "cautious") -> Policy:
    """Load a policy of release.

    Parameters
    ----------
    policy : str or path-like, default="cautious"
        ``"cautious"``, ``"research"``, ``"anonymity"``, or a path to a TOML file in the same
        format.

    Returns
    -------
    policy : Policy
        ``print(policy.text)`` shows all of it.

    Raises
    ------
    ValueError
        If the file is not a policy.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    recommend : Compares measured numbers with a policy.

    Examples
    --------
    >>> from skmia.disclosure import load_policy
    >>> policy = load_policy("cautious")
    >>> policy.limits["file"]["auc"], policy.structure["file"]["smallest_leaf"]
    (0.6, StructuralLimit(level='block', least=10, rules=None))
    """
    return load_toml(policy, "policy", SHIPPED_POLICIES, "policies", _make_policy)


def _make_policy(text):
    return Policy(**_read_policy(text), text=text, sha256=sha256(text.encode()).hexdigest())


def _read_policy(text):
    """Return the fields of a policy, apart from its text."""
    stored = tomllib.loads(text)
    _check_keys(stored, _KEYS, "A policy")
    if not isinstance(stored.get("name"), str) or stored.get("version") != 1:
        raise ValueError("A policy needs a name, which is text, and version = 1.")
    alpha = check_number(stored.get("alpha", 0.05), "alpha", "a fraction in (0, 0.5]", 1e-6, 0.5)
    defaults, limits, structure = (
        _get_table(stored, key) for key in ("defaults", "limits", "structure")
    )
    _check_keys(defaults, {"groups", "min_group", "undecided", "stand_in"}, "defaults")
    stand_in = defaults.get("stand_in", False)
    if not isinstance(stand_in, bool):
        raise ValueError(f"stand_in must be true or false; got {show(stand_in)}.")
    undecided = _check_policy_word(defaults.get("undecided", UNDECIDED[0]), "undecided", UNDECIDED)
    groups = _check_policy_words(defaults.get("groups", ["all"]), "groups", ("all", "each"))
    for name, tables in (("limits", limits), ("structure", structure)):
        _check_keys(tables, {"file", "service"}, name)
    limits = limits | ({"table": stored["table"]} if "table" in stored else {})
    ways = {key: _read_release_table(_get_table(limits, key), key) for key in limits}
    names = "limits", "required", "requires_attacks"
    return {
        "name": stored["name"],
        "alpha": float(alpha),
        "groups": groups,
        "min_group": check_count(defaults.get("min_group", 100), "min_group"),
        "undecided": undecided,
        **{name: {key: way[k] for key, way in ways.items()} for k, name in enumerate(names)},
        "stand_in": stand_in,
        "structure": {key: _read_structure(_get_table(structure, key)) for key in structure},
    }


def _read_release_table(table, release):
    """Return the limits of a way of release, those that are required, and the attacks that are."""
    of = f"of a {release}"
    numbers = {name: value for name, value in table.items() if name not in _LISTS}
    if not numbers:
        raise ValueError(f"The limits {of} must be one or more; there are none.")
    limits = {name: _read_limit(name, value, release) for name, value in numbers.items()}
    required = _check_policy_words(
        table.get("required", list(limits)), f"required {of}", tuple(limits)
    )
    if not required:
        raise ValueError(f"required {of} must name one or more of its limits.")
    # All of what may be asked for, unless the policy says otherwise.
    attacks = _ATTACKS[release]
    if "requires_attacks" in table:
        if not attacks:
            raise ValueError(
                f"A {release} knows no requires_attacks; it is for a service or a file."
            )
        attacks = _check_policy_words(table["requires_attacks"], f"requires_attacks {of}", attacks)
    return limits, required, attacks


# Numbers of an audit that policies limit; those of others have names of their own.
_SHARES = {
    "file": ("auc", "gap", "attribute_gain"),
    "table": ("singling_out", "linkability", "inference", "privacy_loss", "exact_rare_copies"),
}
_SHARES["service"] = _SHARES["file"]
_FURTHER = {
    "file": ("epsilon_lower", "epsilon"),
    "table": ("epsilon_lower", "epsilon", "copies_but_one_cell", "copied_identifiers"),
}
_FURTHER["service"] = _FURTHER["file"]
_RATE = re.compile(r"tpr_at_fpr_\d+")


def is_own_number(name, release):
    """Return whether a limit is one of a number that no audit measures, but its user."""
    known = (*_SHARES[release], *_FURTHER[release])
    return name not in known and not _RATE.fullmatch(name)


def _read_limit(name, value, release):
    """Return the limit of a number: a share, if it is one of an audit, and not a percentage."""
    of, shares = f"of a {release}", _SHARES[release]
    limit = float(check_number(value, f"{name} {of}", "a number"))
    if name in shares or _RATE.fullmatch(name):
        if abs(limit) > 1:
            raise ValueError(
                f"{name} {of} must be a fraction of at most 1, such as 0.05 for 5%; got {limit:g}."
            )
        return limit
    # A slip would be a number that nobody measures; where it is not required, it holds for every
    # model. A known name with further words is a number of one's own, as attribute_gain_income.
    known = (*shares, *_FURTHER[release])
    if re.match("tpr", name, re.IGNORECASE):
        raise ValueError(
            f"No audit measures {show(name)} {of}; a TPR is limited at its false positive rate, as "
            "tpr_at_fpr_01 at 0.01 and tpr_at_fpr_001 at 0.001."
        )
    if name not in known and not name.startswith(tuple(f"{one}_" for one in known)):
        same = [one for one in known if sorted(one) == sorted(name)]
        meant = same or find_meant(name, known, synonyms=False, cutoff=0.8)
        if meant:
            raise ValueError(f"No audit measures {show(name)} {of}; {ask_whether(meant)}")
    return limit


def _read_structure(table):
    _check_keys(table, set(_CHECKS), "structure")
    return {name: _make_limit(name, _get_table(table, name)) for name in table}


def _make_limit(name, table):
    allowed = {"level"} | ({"min"} if name in _NUMBERS_OF_CHECKS else set())
    _check_keys(table, allowed | ({"file"} if name == "rules" else set()), f"structure: {name}")
    level = _check_policy_word(table.get("level"), f"the level of {name}", LEVELS)
    least = table.get("min")
    if least is not None:
        check_number(least, f"min of {name}", "a number")
    rules = table.get("file")
    if rules is not None and not isinstance(rules, str):
        raise ValueError(f"The file of rules must be a name or a path; got {show(rules)}.")
    return StructuralLimit(level, least, rules)


def _get_table(stored, key):
    table = stored.get(key, {})
    if not isinstance(table, dict):
        raise ValueError(f"{key} of a policy must be a table; got {show(table)}.")
    return table


def _check_keys(table, known, name):
    unknown = sorted(set(table) - known)
    if unknown:
        raise ValueError(
            f"{name} knows {', '.join(sorted(known))}; got {', '.join(map(show, unknown))}."
        )


def _check_policy_word(value, name, allowed):
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {show(value)}.")
    return value


def _check_policy_words(values, name, allowed):
    if not isinstance(values, list):
        raise ValueError(f"{name} must be a list; got {show(values)}.")
    return tuple(_check_policy_word(value, name, allowed) for value in values)
