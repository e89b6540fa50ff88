"""Summary of the worst-case vulnerability in words."""

from textwrap import indent

from .._core.pvalues import format_pvalue
from .._core.visible import visible

_NAMES = {
    "plugin": "observed frequencies",
    "kde": "kernel densities",
    "neighbors": "nearest neighbors",
    "classifier": "a cross-fitted classifier",
}


def describe_worst_case(worst):
    """Lines about a fitted WorstCaseVulnerability."""
    level = f"{100 * worst.confidence_level:g}%"
    n_members, n_nonmembers = worst.n_members_, worst.n_nonmembers_
    rows = [
        ("vulnerability", f"{worst.vulnerability_:.3f}"),
        ("lower bound", f"{worst.lower_bound_:.3f} at {level} confidence"),
    ]
    if len(worst.null_):
        chance = f"{worst.bias_:.3f} on average over {len(worst.null_)} shuffles"
        p = format_pvalue(worst.pvalue_, 1 / (1 + len(worst.null_)), digits=3)
        rows.insert(1, ("without leakage", f"{chance}, {p}"))
    if worst.threshold_advantage_ is not None:
        estimate, low, high = worst.threshold_advantage_
        band = f"{estimate:.3f}, {level} interval [{low:.3f}, {high:.3f}]"
        rows.append(("best threshold", band))
    if worst.signed_gap_ is not None:
        rows.append(("signed gap", f"{worst.signed_gap_:+.3f}"))
    lines = [
        f"Worst-case vulnerability by {_NAMES[worst.method_]}: "
        f"{n_members:,} members, {n_nonmembers:,} non-members",
        *(f"  {name:<17}{text}" for name, text in rows),
    ]
    if worst.group_vulnerability_ is not None:
        table = worst.group_vulnerability_.rename(index=visible)
        text = table.to_string(index_names=False, float_format="{:.3f}".format, na_rep="-")
        lines.append(indent(text, "  "))
    return "\n".join(lines)
