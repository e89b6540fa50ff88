"""Write what attacks and signals declare into the tables of the user guide.

    make tables

The columns in GENERATED come from the declarations; all others are written by hand.
"""

import inspect
import re
from pathlib import Path

from skmia.base import BaseAttack
from skmia.signals._registry import get_signal

GUIDE = Path(__file__).parent / "user_guide"
PAGE = GUIDE / "table_of_attacks.md"

GENERATED = {
    "Membership": ("reads", "access", "shadow models", "known"),
    "Signals": ("reads", "access"),
    "Signals of texts": ("access",),
}

_ANSWERS = {
    "proba": "probabilities",
    "logits": "probabilities",
    "decision": "decision values",
    "label": "labels",
    "value": "values",
}
_NOTHING = "-"


def find_attack(name):
    """The class of an attack on membership of records, by its name."""
    import skmia.attacks
    import skmia.games
    import skmia.leakage
    import skmia.synthetic

    rooms = ("white_box", "equal_rates", "recovered")
    attacks = skmia.attacks, *(getattr(skmia.attacks, room) for room in rooms)
    packages = *attacks, skmia.games, skmia.leakage, skmia.synthetic
    return next(getattr(package, name) for package in packages if hasattr(package, name))


def find_attacks():
    """Every attack of skmia.attacks on membership of records, by name."""
    import skmia.attacks

    modules = skmia.attacks, skmia.attacks.white_box
    public = {name: getattr(module, name) for module in modules for name in module.__all__}
    return {
        name: one
        for name, one in public.items()
        if inspect.isclass(one) and issubclass(one, BaseAttack) and not inspect.isabstract(one)
    }


def describe_reads(kinds):
    """Kinds of outputs in words, from the most to the least telling."""
    words = dict.fromkeys(word for kind, word in _ANSWERS.items() if kind in kinds)
    return "any" if len(words) == len(set(_ANSWERS.values())) else ", ".join(words)


def _show(what):
    if what == "auto":
        return "signal"
    return f"signal at temperature {what[1]:g}" if isinstance(what, tuple) else what


def describe_attack(name):
    """The generated cells of an attack, with its default parameters."""
    needs = find_attack(name)().needs()
    known = [] if needs.known == "nobody" else [needs.known]
    lacks = [f"`{one}`" for one in needs.lacks]
    kept = sorted(sorted(map(_show, needs.keeps)), key=len)
    kept += [f"{one} if kept" for one in sorted(map(_show, needs.uses), key=len)]
    return {
        "reads": describe_reads(needs.reads),
        "access": ", ".join(sorted(needs.access)) or _NOTHING,
        "shadow models": ", ".join(kept) or _NOTHING,
        "known": ", ".join(known + lacks) or _NOTHING,
    }


def describe_signal(name):
    """The generated cells of a signal."""
    signal = get_signal(name)
    return {"reads": describe_reads(signal.reads), "access": ", ".join(signal.access) or _NOTHING}


def describe_text_signal(name):
    """The generated cells of a signal of texts, by its class."""
    from skmia.signals import sequences

    return {"access": ", ".join(getattr(sequences, name).access)}


def _fill(table, describe, columns):
    """A table of Markdown with its generated columns written again."""
    head, rule, *rows = table.splitlines()
    names = [cell.strip() for cell in head.strip("|").split("|")]
    lines = [head, rule]
    for row in rows:
        cells = dict(zip(names, (cell.strip() for cell in row.strip("|").split("|")), strict=True))
        made = describe(cells[names[0]].strip("`"))
        cells.update({column: made[column] for column in columns})
        lines.append(f"| {' | '.join(cells.values())} |")
    return "\n".join(lines)


def rewrite(text):
    """The page with what the code declares today."""
    described = {
        "Membership": describe_attack,
        "Signals": describe_signal,
        "Signals of texts": describe_text_signal,
    }
    for title, describe in described.items():
        place = rf"(^##+ {title}\n.*?\n)(\|.*?\n)(?=\n|\Z)"
        section = re.search(place, text, re.MULTILINE | re.DOTALL)
        table = _fill(section[2].rstrip("\n"), describe, GENERATED[title]) + "\n"
        text = text[: section.start(2)] + table + text[section.end(2) :]
    return text


if __name__ == "__main__":
    PAGE.write_text(rewrite(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
