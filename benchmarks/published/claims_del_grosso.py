"""What the text of del Grosso (2023) claims, and whether it holds in the kept results."""

from statistics import NormalDist

import pandas as pd
from scipy.stats import binomtest

from .page import Section, to_number, to_table
from .strategies import STRATEGIES

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be said"
WITHOUT_SAMPLES = ["baseline", "softmax response", "modified entropy", "loss", "gradient norm x"]
WITHOUT_SAMPLES += ["gradient norm w", "adv. distance l2", "adv. distance linf", "Merlin"]
WITHOUT_SAMPLES += ["ODIN", "DOCTOR"]
WHITE = ["gradient norm x", "gradient norm w"]  # of these, with access to the net
OUTSIDE = ["ODIN", "DOCTOR", "Mahalanobis", "Fisher-Rao"]  # from tests for other distributions
DISTANCES = ["adv. distance l2", "adv. distance linf"]
N_FIRST = len(STRATEGIES) // 3  # comparable to the best: among the first third
NEAR = 0.02  # all printed differences between the loss and the diversity are smaller
ERROR = 0.024  # standard error of an AUROC from 300 + 300 records without leakage
N_WRITERS = 44


def _judge(true):
    return HOLDS if true else FAILS


def _span(values, decimals=3):
    return f"{to_number(values.min(), decimals)} to {to_number(values.max(), decimals)}"


def _of_ranks(auc, ranks):
    """Claims on mean ranks by AUROC."""
    best = ranks.idxmin()
    yield (
        '"Div. Metric" has the best mean rank (3.3, figure 3.3)',
        _judge(best == "diversity"),
        f"{ranks['diversity']:.1f} of {len(ranks)}; the first is {best} ({ranks[best]:.1f})",
    )
    first, second = ranks[WITHOUT_SAMPLES].nsmallest(2).index
    yield (
        "modified entropy is the best strategy without further samples (3.3)",
        _judge(first == "modified entropy"),
        f"of {len(WITHOUT_SAMPLES)} the first is {first} "
        f"({ranks[first]:.1f}), then {second} ({ranks[second]:.1f})",
    )
    for name, claim in (
        ("diversity, learned", "the learned diversity is similar to the best (2.2.4)"),
        ("Renyi", "Rényi is comparable to the best or better (2.2.5)"),
    ):
        place = int(ranks.rank()[name])
        figure = f"mean rank {ranks[name]:.1f}, place {place} of {len(ranks)}; first on "
        figure += f"{(auc.idxmax() == name).sum()} of {auc.shape[1]} nets"
        yield claim, _judge(place <= N_FIRST), figure
    outside = ranks[OUTSIDE]
    figure = f"mean ranks {_span(outside, 1)}, but among the first three on "
    figure += f"{(auc.rank(ascending=False).loc[OUTSIDE] <= 3).any().sum()} of {auc.shape[1]} nets"
    middle = (len(ranks) + 1) / 2
    yield "methods for other distributions are weaker (2.3)", _judge(outside.min() > middle), figure


def _of_differences(auc):
    """Claims on differences between strategies."""
    n_nets, n_pairs = auc.shape[1], len(auc) * (len(auc) - 1) // 2
    smallest = 2.0 ** (1 - n_nets)
    yield (
        "no pair of strategies differs significantly (3.3)",
        OPEN if smallest > 0.05 / n_pairs else FAILS,
        f"{n_nets} nets: no p-value can be below {smallest:.1g}, one of {n_pairs} pairs needs "
        f"{0.05 / n_pairs:.1g}; the seven of the thesis less still",
    )
    off = auc.loc["diversity"] - auc.loc["loss"]
    yield (
        "the loss and the closed-form diversity are equivalent (3.3)",
        _judge(off.abs().max() <= NEAR),
        f"diversity minus loss: {_span(off)}; within {to_number(NEAR, 2)}, as all printed "
        f"differences, on {(off.abs() <= NEAR).sum()} of {n_nets} nets",
    )
    gains = [name for name in auc.index if name not in WITHOUT_SAMPLES] + WHITE
    lead = auc.loc[gains] - auc.loc["modified entropy"]
    ahead = (lead > 0).sum(axis=1)
    # Nets on one data set are not independent: the sign test counts data sets.
    by_data = lead.T.groupby(lambda name: name.split(",")[0]).mean()
    p = min(1, len(gains) * binomtest(int((by_data > 0).sum().max()), len(by_data)).pvalue)
    yield (
        "known members and access to the net give no significant gain (3.3)",
        FAILS if p < 0.05 else OPEN,
        f"{ahead.idxmax()} is ahead of modified entropy on {ahead.max()} of {n_nets} nets (sign "
        f"test over {len(by_data)} data sets, p = {p:.2g} for the best of {len(gains)})",
    )


def _lead_of_ensemble(auc, architecture):
    """Ensemble minus the best of the others, on nets of this kind."""
    part = auc[[name for name in auc if architecture in name]]
    others = part.drop("ensemble")
    lead = part.loc["ensemble"] - others.max()
    said = (f"{name}: {to_number(lead[name])} against {others[name].idxmax()}" for name in part)
    return lead, "; ".join(said)


def _of_single(auc):
    """Claims on one strategy."""
    lead, figure = _lead_of_ensemble(auc, "AlexNet")
    far = lead[lead.abs() > ERROR]
    yield (
        "the ensemble is ahead of all others on AlexNet (2.2.2)",
        OPEN if far.empty else _judge((far > 0).all()),
        f"{figure}; the standard error is up to {to_number(ERROR)}",
    )
    _, figure = _lead_of_ensemble(auc, "ResNet")
    yield "and like the others on ResNeXt (2.2.2)", OPEN, f"not trained; {figure or 'nor ResNet'}"
    distances, baseline = auc.loc[DISTANCES], auc.loc["baseline"]
    above = (distances > baseline).all().sum()
    yield (
        "adversarial distances of members are larger (2.2.3, figure 2.4)",
        _judge((distances > 0.5).all(axis=None)),
        f"AUROC {_span(distances.stack())}, above the baseline on {above} of {auc.shape[1]} nets",
    )
    merlin = auc.loc["Merlin"]
    near = ((merlin - 0.5).abs() <= 0.05).sum()
    yield (
        "Merlin is near a random guess (2.2.6)",
        _judge(near == len(merlin)),
        f"AUROC {_span(merlin)}, within .05 of .5 on {near} of {len(merlin)} nets",
    )


def _of_figure_31(results):
    table = pd.read_csv(results / "del_grosso_figure31.csv").sort_values("rows")
    columns = ["repeated", "upper_bound", "lower_bound"]
    first, last = (table[columns].iloc[k] for k in (0, -1))
    falls = bool((table[columns[1:]].diff().dropna() <= 0).all(axis=None) and (last < first).all())
    yield (
        "success and bounds fall to 1/2 with n, and the bounds say something (3.2.1, figure 3.1)",
        _judge(falls and (table["upper_bound"] < 1).sum() >= len(table) - 1),
        f"n = {table['rows'].min()} to {table['rows'].max()}: success {to_number(first.iloc[0])} "
        f"to {to_number(last.iloc[0])}, upper bound {to_number(first.iloc[1])} to "
        f"{to_number(last.iloc[1])} (1 at the smallest n alone), lower bound "
        f"{to_number(first.iloc[2])} to {to_number(last.iloc[2])}",
    )


def _of_figure_32(results):
    table = pd.read_csv(results / "del_grosso_figure32.csv")
    wide = table.pivot(index=["images", "members"], columns="quantity", values="mean")
    by_images = wide.groupby(level="images")
    follows = by_images.apply(lambda one: one["bound"].corr(one["loss"], method="spearman"))
    falls = by_images.apply(lambda one: one["gap"].corr(one["loss"], method="spearman"))
    yield (
        "the lower bound follows the success, and both fall with the gap (3.2.2, figure 3.2)",
        _judge(min(follows.min(), falls.min()) > 0.5),
        f"rank correlation over sizes of the success by loss with the bound {_span(follows, 2)}, "
        f"with the gap {_span(falls, 2)}, on {len(follows)} sets",
    )
    below = (wide["softmax > .8"] < wide["bound"]).sum()
    printed = (wide["softmax > .8"] < wide["printed bound"]).sum()
    yield (
        "softmax response can fall below the lower bound (3.2.2)",
        _judge(below > 0),
        f"at a threshold of .8 in {below} of {len(wide)} cells, below the printed bound in "
        f"{printed}",
    )


def _of_figure_38(results):
    table = pd.read_csv(results / "pendigits_attributes.csv")
    means = table[table["kind"] == "members"].groupby(["n_members", "criterion"])["success"].mean()
    best = means.unstack().max(axis=1)
    gain, large = best[100] - 1 / N_WRITERS, best[best.index.max()] * N_WRITERS
    yield (
        "attribute inference gains 25 points at n = 100 and is right twice as often as a guess at "
        "large n (3.4, figure 3.8)",
        _judge(gain >= 0.25 and large >= 2),
        f"{100 * gain:.0f} points, and {large:.1f} times at n = {best.index.max():,}, by the best "
        "criterion; without a net a forest is right more often",
    )
    table = table[table["criterion"] == "loss"]
    wide = table.pivot(index=["n_members", "seed"], columns="kind")
    right = wide["accuracy_of_net"]
    membership = (1 + right["members"] - right["others"]) / 2
    attribute = wide["success"]["members"]
    rank = membership.corr(attribute, method="spearman")
    yield (
        "the success of attribute inference follows that of membership inference (3.4)",
        _judge(rank > NormalDist().inv_cdf(0.975) / (len(wide) - 1) ** 0.5),
        f"rank correlation {to_number(rank, 2)} over {len(wide)} nets (membership by the baseline, "
        "attributes of members by loss)",
    )


def make_claims(auc, results):
    """Claim with its place, verdict and figure, a row each.

    Parameters
    ----------
    auc : DataFrame
        AUROC of the strategies (rows) against nets (columns).
    results : Path
    """
    ranks = auc.rank(ascending=False).mean(axis=1)
    rows = [*_of_ranks(auc, ranks), *_of_differences(auc), *_of_single(auc)]
    rows += [*_of_figure_31(results), *_of_figure_32(results), *_of_figure_38(results)]
    counts = {one: sum(row[1] == one for row in rows) for one in (HOLDS, FAILS, OPEN)}
    agreement = (
        f"of {len(rows)} claims {counts[HOLDS]} hold here, {counts[FAILS]} do not, and "
        f"{counts[OPEN]} cannot be said"
    )
    body = to_table(rows, ["claim (section)", "here", "figure"]) + (
        f"\n\nRanks are by AUROC over {auc.shape[1]} nets, several of which share a data "
        f'set. "Best" is the first third of {len(ranks)} rows.'
    )
    return Section(
        "del Grosso, claims",
        "[strategies](membership_strategies.md), [figure 3.1](del_grosso_figure31.md), "
        "[figure 3.2](del_grosso_figure32.md), [figure 3.8](pendigits_attributes.md)",
        agreement,
        body,
    )
