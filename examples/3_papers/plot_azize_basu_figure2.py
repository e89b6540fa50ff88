"""
Leakage of a record through a released mean (Azize and Basu, figure 2)
======================================================================

Azize and Basu (2024) describe the leakage of each record by one number, the leakage score, and
check it by simulation in their Figure 2: means of 1,000 rows of 5,000 binary columns. This example
redraws the figure with confidence bands, and shows where the printed theory of sub-sampling is
wrong.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import binom, norm

from skmia.leakage import (
    MahalanobisLeakage,
    MeanGLiRAttack,
    MeanLikelihoodRatioAttack,
    MeanScalarProductAttack,
)
from skmia.metrics import clopper_pearson

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer rows, columns and rounds
N_ROWS, N_COLUMNS, N_ROUNDS = (
    (100, 200, 500) if FAST else (1000, 5000, 10_000)
)

# %%
# Rows and targets
# ----------------
# Each column has its own probability between 1/4 and 3/4. The easiest target is the most unusual
# row, the hardest the most usual one; a medium target is an average row.

rng = np.random.default_rng(0)
p = rng.uniform(0.25, 0.75, N_COLUMNS)
targets = {
    "easiest": (p <= 0.5).astype(float),
    "medium": (rng.random(N_COLUMNS) < p).astype(float),
    "hardest": (p > 0.5).astype(float),
}
moments = {"mean": p, "covariance": p * (1 - p), "n_samples": N_ROWS}
leakage = MahalanobisLeakage.from_moments(**moments)
for name, target in targets.items():
    print(
        f"{name:8s} score {leakage.score_samples([target])[0]:.3f}, "
        f"advantage of the best attacker {leakage.advantage([target])[0]:.3f}"
    )

# %%
# The game
# --------
# In each round the mean of fresh rows is released. In the rounds with the target, it replaces one
# row. The rows themselves are not drawn, because the sums of binary columns are binomial. After
# sub-sampling the mean has fewer rows, and the target is among them as often as any other row.


def release(target, n_rounds, member, noise_scale=0.0, sampling_ratio=1.0):
    """Draw released means of data sets with (member=True) or without the
    target."""
    k, shape = round(N_ROWS * sampling_ratio), (n_rounds, N_COLUMNS)
    last_row = (rng.random(shape) < p).astype(float)
    if member:
        last_row[rng.random(n_rounds) < sampling_ratio] = target
    means = (rng.binomial(k - 1, p, shape) + last_row) / k
    if noise_scale:
        means += rng.normal(0, noise_scale / np.sqrt(k), shape)
    return means


def play(target, attacks, **mechanism):
    """Scores of each attack, in the rounds without and in those with the
    target."""
    scores = {name: ([], []) for name in attacks}
    for start in range(0, N_ROUNDS, 250):
        for member in (0, 1):
            X = release(
                target, min(250, N_ROUNDS - start), member, **mechanism
            )
            for name, attack in attacks.items():
                scores[name][member].append(attack.score_samples(X))
    return {
        name: tuple(map(np.concatenate, both))
        for name, both in scores.items()
    }


# %%
# The simulated power has limits that hold for any distribution of scores. The threshold of a false
# positive rate lies between two order statistics of the scores without the target, and the share of
# scores above it is binomial.


def simulated_power(without, with_target, fpr, confidence_level=0.95):
    """Estimate and limits of the true positive rate at a false positive
    rate."""
    tail, n = (1 - confidence_level) / 4, len(without)
    ordered = np.concatenate([[np.inf], np.sort(without)[::-1], [-np.inf]])
    strict, lax = binom.ppf([tail, 1 - tail], n, fpr).astype(int)
    counts = [
        (with_target >= ordered[rank]).sum()
        for rank in (strict, round(n * fpr), lax + 1)
    ]
    limits = clopper_pearson(counts, n, confidence_level=1 - 2 * tail)
    return counts[1] / n, limits[0][0], limits[1][2]


RATES = np.round(np.geomspace(20 / N_ROUNDS, 0.9, 15), 4)
rows = []


def record(panel, setting, scores, power_theory):
    """Add the power of one attack at all rates to the table."""
    for fpr, theory in zip(RATES, power_theory, strict=True):
        rows.append(
            (panel, setting, fpr, theory, *simulated_power(*scores, fpr))
        )


# %%
# Targets, tests and mechanisms
# -----------------------------
# The likelihood ratio uses the mean and the variances. In panel (c) it was built for another
# target, which differs from the true one in some columns; panel (d) shows other tests.

for name, target in targets.items():
    attacks = {
        "LR": MeanLikelihoodRatioAttack.from_moments(target, **moments)
    }
    if name == "easiest":
        for share in (0.1, 0.25, 0.4):
            wrong = np.where(
                rng.random(N_COLUMNS) < share, 1 - target, target
            )
            attacks[share] = MeanLikelihoodRatioAttack.from_moments(
                wrong, **moments
            )
        other_row = (rng.random(N_COLUMNS) < p).astype(float)
        attacks["GLiR"] = MeanGLiRAttack.from_moments(target, **moments)
        attacks["scalar product"] = MeanScalarProductAttack.from_moments(
            target, **moments, reference=other_row
        )
    scores = play(target, attacks)
    record("b", name, scores["LR"], leakage.power([target], RATES)[0])
    if name == "easiest":
        easiest_scores = scores["LR"]
        for share in ("LR", 0.1, 0.25, 0.4):
            pair = leakage.misspecified([target], [attacks[share].target_])
            setting = (
                "right target" if share == "LR" else f"{share:.0%} wrong"
            )
            record("c", setting, scores[share], pair.power(RATES)[0])
        for test in ("LR", "GLiR", "scalar product"):
            record("d", test, scores[test], attacks[test].power(RATES))

# %%
# The mechanism of panel (e) adds noise; the mechanism of panel (f) releases the mean of a part of
# the rows.

target = targets["easiest"]
published = {}
mechanisms = [
    ("e", "noise_scale", value) for value in (0.0, 0.25, 0.5, 1.0, 2.0)
]
mechanisms += [
    ("f", "sampling_ratio", value) for value in (1.0, 0.75, 0.5, 0.25, 0.1)
]
for panel, parameter, value in mechanisms:
    params = {parameter: value}
    attack = MeanLikelihoodRatioAttack.from_moments(
        target, **moments, **params
    )
    claimed = MahalanobisLeakage.from_moments(**moments, **params)
    setting = f"{'γ' if panel == 'e' else 'ρ'} = {value:g}"
    scores = play(target, {"LR": attack}, **params)["LR"]
    record(panel, setting, scores, claimed.power([target], RATES)[0])
    if panel == "f":
        printed = MahalanobisLeakage.from_moments(
            **moments, **params, subsampling="published"
        )
        published[setting] = printed.power([target], RATES)[0]

columns = [
    "panel",
    "setting",
    "fpr",
    "power_theory",
    "power_simulated",
    "low",
    "high",
]
table = pd.DataFrame(rows, columns=columns)

# %%
# Theory and simulation
# ---------------------
# Lines show the theory, points the simulation, and bands the pointwise 95% limits.

COLORS = plt.get_cmap("viridis")([0.0, 0.25, 0.5, 0.7, 0.87])
TITLES = {
    "b": "(b) three targets",
    "c": "(c) a test for another target",
    "d": "(d) three tests",
    "e": "(e) noise in each row, of the deviation γ",
    "f": "(f) mean of the share ρ of the rows",
}


def draw_score_laws(ax):
    """Histograms of the likelihood ratio of the easiest target, and their
    limit laws."""
    m = leakage.score_samples([target])[0]
    grid = np.linspace(-m / 2 - 4 * np.sqrt(m), m / 2 + 4 * np.sqrt(m), 400)
    for scores, sign, color, label in zip(
        easiest_scores,
        (-1, 1),
        COLORS[[3, 1]],
        ("without the target", "with it"),
        strict=True,
    ):
        ax.hist(
            scores, bins=50, density=True, color=color, alpha=0.3, linewidth=0
        )
        density = norm.pdf(grid, sign * m / 2, np.sqrt(m))
        ax.plot(grid, density, color=color, linewidth=1.8, label=label)
    ax.axvline(0, color="0.4", linestyle=":", linewidth=1.2)
    ax.set(
        xlabel="log-likelihood ratio (nats)", ylabel="density", ylim=(0, 0.16)
    )
    ax.set_title("(a) the likelihood ratio of the easiest target", pad=24)


def draw_powers(ax, panel):
    """Power against false positive rate, a color for each setting."""
    part = table[table["panel"] == panel]
    for color, (setting, curve) in zip(
        COLORS, part.groupby("setting", sort=False)
    ):
        x, style = curve["fpr"], "--" if setting == "GLiR" else "-"
        ax.fill_between(
            x,
            curve["low"],
            curve["high"],
            color=color,
            alpha=0.22,
            linewidth=0,
        )
        ax.plot(
            x,
            curve["power_theory"],
            style,
            color=color,
            linewidth=1.8,
            label=setting,
        )
        ax.plot(
            x,
            curve["power_simulated"],
            "o",
            color=color,
            markersize=3.5,
            markeredgewidth=0,
        )
        if panel == "f" and setting != "ρ = 1":
            ax.plot(
                x,
                published[setting],
                color=color,
                linewidth=1.2,
                linestyle=(0, (4, 2)),
            )
    chance = np.geomspace(RATES[0], 1, 100)
    ax.plot(chance, chance, color="0.4", linestyle=":", linewidth=1.2)
    ax.set(xscale="log", xlim=(RATES[0], 1), ylim=(0, 1.01))
    ax.set(xlabel="false positive rate", ylabel="true positive rate")
    ax.set_title(TITLES[panel], pad=24)
    ax.xaxis.set_major_formatter("{x:g}")


figure, axes = plt.subplots(2, 3, figsize=(13, 8), layout="constrained")
draw_score_laws(axes[0, 0])
for ax, panel in zip(axes.flat[1:], TITLES, strict=True):
    draw_powers(ax, panel)
axes[1, 2].plot(
    [], [], color="0.3", linewidth=1.2, linestyle=(0, (4, 2)), label="printed"
)
for ax in axes.flat:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.5", alpha=0.15, linewidth=0.6)
    handles, labels = ax.get_legend_handles_labels()
    row = {
        "loc": "lower center",
        "bbox_to_anchor": (0.5, 0.99),
        "ncols": len(labels),
    }
    space = {"handlelength": 1.2, "handletextpad": 0.4, "columnspacing": 0.9}
    ax.legend(
        handles, labels, frameon=False, fontsize="small", **row, **space
    )
figure.suptitle(
    f"Means of {N_ROWS:,} rows, {N_COLUMNS:,} columns, {N_ROUNDS:,} rounds "
    "each"
)
figure.get_layout_engine().set(hspace=0.08)
plt.show()

# %%
# Sub-sampling
# ------------
# The printed theory multiplies the score by the sampling ratio. But the target is either in the
# sub-sample or not, for all columns at once: if it is not, no test can identify it. The power is
# therefore a mixture, and it cannot exceed the sampling ratio by more than the false positive rate.

inside = (table["low"] <= table["power_theory"]) & (
    table["power_theory"] <= table["high"]
)
print(
    "theory within the 95% limits: "
    f"{inside.groupby(table['panel']).mean().round(2).to_dict()}"
)
half = table[table["setting"] == "ρ = 0.5"]
printed_inside = (half["low"] <= published["ρ = 0.5"]) & (
    published["ρ = 0.5"] <= half["high"]
)
print(f"printed theory for half of the rows: {printed_inside.mean():.2f}")
