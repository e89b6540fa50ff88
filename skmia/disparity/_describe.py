"""A disparity test in words."""

from textwrap import indent

_CORRECTIONS = {
    "bonferroni": "Bonferroni",
    "fdr_bh": "Benjamini-Hochberg",
    "fdr_by": "Benjamini-Yekutieli",
    "holm": "Holm",
    "holm-sidak": "Holm-Sidak",
    "hommel": "Hommel",
    "sidak": "Sidak",
    "simes-hochberg": "Simes-Hochberg",
}
_FORMATS = dict.fromkeys(
    ["mean", "standard_error", "low", "high", "difference"], "{:.4f}".format
) | {
    "statistic": "{:.2f}".format,
    "pvalue": "{:.2g}".format,
    "pvalue_adjusted": "{:.2g}".format,
    "effect_size": "{:.2f}".format,
}


def describe_test(test):
    """Lines about a fitted DisparityTest."""
    df, n_rounds = test.anova_["df"], test.n_rounds_
    dropped = f" ({test.n_dropped_} incomplete ones left out)" if test.n_dropped_ else ""
    groups = test.group_vulnerability_
    level = f"{100 * test.confidence_level:g}%"
    correction = _CORRECTIONS.get(test.correction, test.correction)
    means = groups.drop(columns="std").to_string(index_names=False, formatters=_FORMATS)
    pairs = test.pairwise_.drop(columns="df").to_string(index=False, formatters=_FORMATS)
    return "\n".join(
        [
            f"Disparity of vulnerability: {len(groups)} groups, {n_rounds} rounds{dropped}",
            f"  largest disparity  {test.disparity_:.4f}, "
            f"{groups['mean'].idxmax()} over {groups['mean'].idxmin()}",
            f"  F({df['groups']}, {df['residual']}) = {test.statistic_:.6g}, "
            f"p = {test.pvalue_:.2g} if all differences have one variance",
            f"  corrected p        {test.pvalue_corrected_:.2g} "
            f"(Greenhouse-Geisser, epsilon = {test.epsilon_:.3f})",
            f"  eta squared        {test.partial_eta_squared_:.3f} partial, "
            f"{test.generalized_eta_squared_:.3f} generalised",
            f"Mean vulnerability of each group, {level} intervals",
            indent(means, "  "),
            f"Dependent t-tests, {level} intervals of each pair by itself, "
            f"p-values adjusted by {correction}",
            indent(pairs, "  "),
            "All rounds split the same records: standard errors are optimistic.",
        ]
    )
