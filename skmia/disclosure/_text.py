"""Structural checks as text for a terminal."""

from .._core.pages.text import wrap
from .._core.visible import visible

_RELEASES = {
    "service": "As a service, by the groups of records with the same answer{decimals}",
    "file": "As a file",
    "both": "Either way",
}
_NEVER = (
    "Structural checks alone never say that a model can be released: a model that passes them can "
    "leak, and one that is flagged may not."
)


def write_summary(report):
    """The text of a StructuralReport."""
    lines = [
        f"Structural checks of {visible(report.model)} for {report.n_members:,} members",
        _write_headline(report),
    ]
    digits = report.decimals
    rounded = "" if digits is None else f", rounded to {digits} digits after the point"
    for release, title in _RELEASES.items():
        checks = [check for check in report.checks if check.release == release]
        if checks:
            lines += ["", title.format(decimals=rounded)]
        for check in checks:
            lines.append(f"  {check.name:18s}{check.status}")
            lines.append(wrap(f"{visible(check.text)} [{visible(check.source)}]", "    "))
    lines += ["", *_write_membership(report.membership)]
    lines += [wrap(f"Note: {visible(note)}") for note in report.notes]
    return "\n".join([*lines, "", wrap(_NEVER)])


def _write_headline(report):
    n_flagged = sum(check.status == "flagged" for check in report.checks)
    n_open = sum(check.status == "cannot be said" for check in report.checks)
    words = f"{n_flagged} of {len(report.checks)} checks are flagged"
    return f"{words}, and {n_open} cannot be said." if n_open else f"{words}."


def _write_membership(measure):
    if measure is None:
        return [wrap("Membership was not measured: pass non-members and their membership.")]
    low, high = measure.auc[1:]
    text = (
        f"Membership by the {measure.signal}: AUC {measure.auc.estimate:.3f} [{low:.3f}, "
        f"{high:.3f}] for {measure.n_members:,} members and {measure.n_nonmembers:,} non-members "
        "(0.5 is chance)."
    )
    if measure.gap is not None:
        low, high = measure.gap[1:]
        text += f" Generalization gap {measure.gap.estimate:.3f} [{low:.3f}, {high:.3f}]."
    return [wrap(text)]
