"""Summary of a disparity test in words."""

from textwrap import indent

from .._core.pvalues import format_pvalue
from .._core.visible import visible

CORRECTIONS = {
    "bonferroni": "Bonferroni",
    "fdr_bh": "Benjamini-Hochberg",
    "fdr_by": "Benjamini-Yekutieli",
    "fdr_tsbh": "two-stage Benjamini-Hochberg",
    "fdr_tsbky": "two-stage Benjamini-Krieger-Yekutieli",
    "holm": "Holm",
    "holm-sidak": "Holm-Sidak",
    "hommel": "Hommel",
    "sidak": "Sidak",
    "simes-hochberg": "Simes-Hochberg",
}
_RATE, _PVALUE = "{:.4f}".format, "{:.2g}".format
_FORMATS = (
    dict.fromkeys(["mean", "std", "standard_error", "low", "high", "difference"], _RATE)
    | dict.fromkeys(["pvalue", "pvalue_adjusted", "t_pvalue_adjusted"], _PVALUE)
    | {"effect_size": "{:.2f}".format}
)
_PAIRS = ["group", "other", "difference", "low", "high"]
_BY_PERMUTATION, _BY_ROUNDS = ["pvalue", "pvalue_adjusted", "reject"], ["t_pvalue_adjusted"]


def describe_test(test):
    """Lines about a fitted DisparityTest."""
    permuted = test.n_permutations_ > 0
    dropped = f" ({test.n_dropped_} incomplete ones left out)" if test.n_dropped_ else ""
    groups = test.group_vulnerability_.rename(index=visible)
    level = f"{100 * test.confidence_level:g}%"
    means = groups.to_string(index_names=False, formatters=_FORMATS)
    columns = [*_PAIRS, *(_BY_PERMUTATION if permuted else _BY_ROUNDS), "effect_size"]
    pairs = test.pairwise_[columns].assign(
        **{name: test.pairwise_[name].map(visible) for name in ("group", "other")}
    )
    pairs = pairs.to_string(index=False, formatters=_FORMATS)
    over = "" if permuted else " over rounds"
    kind = "Pairs" if permuted else "Dependent t-tests over rounds"
    return "\n".join(
        [
            f"Disparity of vulnerability: {len(groups)} groups, {test.n_rounds_} rounds{dropped}",
            f"  largest disparity     {test.disparity_:.4f}, "
            f"{groups['mean'].idxmax()} over {groups['mean'].idxmin()}",
            f"  permutation test      {_describe_permutation(test)}",
            *_describe_analysis(test),
            f"Mean vulnerability of each group, {level} intervals{over}",
            indent(means, "  "),
            f"{kind}, {level} intervals of each pair alone, p-values adjusted by "
            f"{CORRECTIONS[test.correction]}",
            indent(pairs, "  "),
            "All rounds split the same records. The analysis of variance ignores this and rejects "
            "too often.",
        ]
    )


def _describe_permutation(test):
    if not test.n_permutations_:
        return "not possible: a table has no records to permute"
    kept = f"; {test.n_kept_} people in several groups keep them" if test.n_kept_ else ""
    p = format_pvalue(test.pvalue_, 1 / (1 + test.n_permutations_))
    return (
        f"F = {test.statistic_:.3g}, {p} ({test.n_permutations_} permutations of the groups{kept})"
    )


def _describe_analysis(test):
    df = test.anova_["df"]
    return [
        f"  analysis of variance  F({df['groups']}, {df['residual']}) = "
        f"{test.anova_statistic_:.6g}, p = {test.anova_pvalue_:.2g}",
        f"    corrected           p = {test.anova_pvalue_corrected_:.2g} "
        f"(Greenhouse-Geisser, epsilon = {test.epsilon_:.3f})",
        f"    eta squared         {test.partial_eta_squared_:.3f} partial, "
        f"{test.generalized_eta_squared_:.3f} generalized",
    ]
