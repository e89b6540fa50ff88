"""Tables of Pedersen (2022) on generators."""

import pandas as pd

from ._facts import read_printed
from .page import Section, to_number, to_table

SOURCE = "parts of Diabetes 130-US Hospitals with as many rows and columns"


def _mode_collapse(table):
    shares = read_printed("pedersen", "mode collapse")
    groups = table.groupby(["sigma_dp", "dataset"])["rare_percent"]
    means, low, high = groups.mean(), groups.min(), groups.max()
    levels = {0.0: "0", 1e-7: "1e-7", 1e-6: "1e-6", 1e-5: "1e-5", 1e-4: "1e-4"}
    rows = []
    for level, name in levels.items():
        cells = [name]
        for data in (1, 2, 3):
            at = level, data
            cells.append(f"{means[at]:.1f} ({low[at]:.1f} to {high[at]:.1f})")
            cells.append(f"{shares.loc[name, f'data set {data}']:g}")
        rows.append(cells)
    trained = shares.loc["training set"]
    rows.append(["training rows", *(x for value in trained for x in (f"{value:g}", f"{value:g}"))])
    head = ["noise"] + [text for data in (1, 2, 3) for text in (f"data set {data}", "printed")]
    without = means[0.0]
    nearer = [
        abs(means[level, data] - trained[f"data set {data}"])
        < abs(without[data] - trained[f"data set {data}"])
        for level in levels
        if level
        for data in (1, 2, 3)
    ]
    moved = max(abs(means[level, data] - without[data]) for level in levels for data in (1, 2, 3))
    spread = max((high[0.0, data] - low[0.0, data]) for data in (1, 2, 3))
    n_seeds = table["seed"].nunique()
    agreement = (
        f"with {n_seeds} generators in a cell, {sum(nearer)} of 12 means with noise are nearer to "
        "the training share than those without "
        f"(printed: 10 of 12); noise moves means by up to {moved:.1f} points, seeds without noise "
        f"differ by up to {spread:.1f}"
    )
    body = to_table(rows, head) + (
        f"\n\nShare of the rare class in percent, mean of {n_seeds} generators (lowest to "
        "highest). Noise is `noise_multiplier`, noise over the bound of what one row can change; "
        "what the slides scale sigma_dp by is not said. Generators of one seed differ in the "
        f"noise alone. `python benchmarks/bench_mode_collapse.py --seeds {n_seeds}`, 9 s of "
        "processor time a generator."
    )
    return Section("Pedersen, table on mode collapse", SOURCE, agreement, body)


def _results(table):
    names = {"utility": "AUC", "rare_percent": "+Rate, %", "train_resemblance": "TrResembLoss"}
    names |= {"test_resemblance": "TeResembLoss", "privacy_loss": "PrivacyLoss"}
    shown = table[table["published_utility"].notna()]
    means = shown.groupby(["dataset", "sigma_dp"]).mean(numeric_only=True)
    rows, better = [], 0
    for (data, level), row in means.iterrows():
        cells = [data, "w/ D.P." if level else "HGAN"]
        for name in names:
            decimals = 1 if name == "rare_percent" else 3
            cells += [to_number(row[name], decimals), to_number(row[f"published_{name}"], decimals)]
        rows.append(cells)
    for _, part in means.groupby(level="dataset"):
        better += part["utility"].iloc[1] >= part["utility"].iloc[0]
    off = (means["train_resemblance"] - means["published_train_resemblance"]).abs().mean()
    agreement = (
        f"AUC with noise is at least as good on {better} of 3 data sets (printed: 3 of 3, by .001 "
        f"to .043); resemblance to training rows is off by {to_number(off, 2)} on average; privacy "
        "losses are near 0 in both"
    )
    head = ["data set", "generator"] + [
        text for name in names.values() for text in (name, "printed")
    ]
    remark = (
        "\n\nThe noise of the rows w/ D.P. is that whose share of the rare class the table of mode "
        "collapse prints (1e-7, 1e-6, 1e-5). The printed privacy losses of data set 3 are "
        "exchanged: .648 - .628 = .020 and .649 - .627 = .022. Of the rare class of data set 3 "
        "next to nothing is left here, so its AUC is chance. +Rate of data set 2 is 20.1 in one "
        "printed table and 20.2 in the other."
    )
    return Section("Pedersen, table of results", SOURCE, agreement, to_table(rows, head) + remark)


def make_sections(results):
    kept = results / "pedersen_mode_collapse.csv"
    if not kept.exists():
        return []
    table = pd.read_csv(kept)
    return [_mode_collapse(table), _results(table)]
