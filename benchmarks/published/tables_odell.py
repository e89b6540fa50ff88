"""Tables 7.3 to 7.6 of O'Dell (2023)."""

import numpy as np
import pandas as pd

from skmia.disparity import DisparityTest

from .page import Section, to_number, to_table

PARTS = {"7.4": "law_school", "7.6": "adult"}
DATA = {"7.3": "Law School", "7.5": "Adult", "7.4": "Law School", "7.6": "Adult"}


def _overall(row):
    times = row["published_F"] / row["F"]
    body = to_table(
        [
            ["F(4, 796)", f"{row['F']:.2f}", f"{row['published_F']:.6f}"],
            ["p", f"{row['p']:.1e}", f"{row['published_p']:.7g}"],
        ],
        ["", "here", "printed"],
    )
    agreement = f"both reject equal groups at .01; the printed F is {times:.1f} times ours"
    if row["table"] == "7.3":
        body += (
            "\n\nThe printed F and p contradict each other: p = 4.44e-15 belongs to F = 19.185115, "
            "whose leading 1 is lost."
        )
        agreement = (
            "both reject equal groups at .01; the F that fits the printed p, 19.19, is "
            f"{19.185115 / row['F']:.1f} times ours"
        )
    return agreement, body


def _read_batches(results, data):
    """Rounds with other sizes of batches: size, seed, all people, and the groups by round."""
    kept = pd.read_csv(results / "odell_batches.csv")
    for (size, seed), part in kept[kept["table"] == data].groupby(["batch_size", "seed"]):
        of_groups, of_all = part[part["group"] != "all"], part[part["group"] == "all"]
        yield (
            size,
            seed,
            of_all,
            of_groups.pivot(index="round", columns="group", values="vulnerability"),
        )


def _batches(results, data):
    """What other sizes of batches give; F grows with the number of rounds."""
    rows = []
    for size, seed, of_all, wide in _read_batches(results, data):
        F, means = DisparityTest.from_table(wide).anova_statistic_, wide.mean()
        low, high = (to_number(100 * value, 2) for value in (means.min(), means.max()))
        rank = of_all["vulnerability"].corr(of_all["gap"].abs())
        cells = [size, seed, len(wide), f"{F:.1f}", f"{F * 200 / len(wide):.0f}"]
        cells += [f"{low}% ({means.idxmin()}) to {high}% ({means.idxmax()})", to_number(rank, 2)]
        rows.append(cells)
    if not rows:
        return ""
    head = ["batches of", "seed", "rounds", "F", "F for 200 rounds", "vulnerability of groups"]
    return (
        "\n\nThe thesis does not print the size of the batches; above it is 128. With others "
        "(`odell_batches.csv`; the last column is the correlation with the worst case):\n\n"
        + to_table(rows, [*head, "worst case"])
    )


def _agree(pairs, t, rejected):
    printed = pairs["published_reject_null"].astype(str).to_numpy() == "True"
    signs = np.sign(t) == np.sign(pairs["published_t"].to_numpy())
    rank = pd.Series(t).corr(pairs["published_t"].reset_index(drop=True), method="spearman")
    return (
        f"{(printed == rejected).sum()} of {len(pairs)} decisions and {signs.sum()} of "
        f"{len(pairs)} signs agree; rank correlation of t {to_number(rank, 2)}"
    )


def _pairs(pairs, results, data):
    rows = [
        [
            row.pair,
            f"{row.t:.2f}",
            f"{row.published_t:g}",
            f"{row.p_corr:.4f}",
            f"{row.published_p_corr:.4f}",
            "yes" if row.reject_null else "no",
            "yes" if str(row.published_reject_null) == "True" else "no",
        ]
        for row in pairs.itertuples()
    ]
    head = ["pair", "t", "printed", "p, adjusted", "printed", "differ at .01", "printed"]
    remark = (
        "\n\nDependent t-tests over rounds, adjusted by Benjamini and Hochberg: from the printed "
        "t, this correction gives all printed p-values, though the thesis calls them "
        "Bonferroni-corrected."
    )
    for size, seed, _, wide in _read_batches(results, data):
        found = DisparityTest.from_table(wide, correction="fdr_bh").pairwise_.set_index(
            ["group", "other"]
        )
        found = found.loc[[tuple(pair.split(" - ")) for pair in pairs["pair"]]]
        rejected = found["t_pvalue_adjusted"].to_numpy() <= 0.01
        said = _agree(pairs, found["t_statistic"].to_numpy(), rejected)
        remark += f" With batches of {size} (seed {seed}, {len(wide)} rounds) {said}."
    agreement = _agree(pairs, pairs["t"].to_numpy(), pairs["reject_null"].to_numpy())
    return agreement, to_table(rows, head) + remark


def make_sections(results):
    tests = pd.read_csv(results / "odell_tests.csv", dtype={"table": str})
    pairs = pd.read_csv(results / "odell_pairs.csv", dtype={"table": str})
    for table, data in DATA.items():
        if table in set(tests["table"]):
            row = tests[tests["table"] == table].iloc[0]
            agreement, body = _overall(row)
            body += _batches(results, row["data"])
        else:
            agreement, body = _pairs(pairs[pairs["table"] == table], results, PARTS[table])
        source = (
            f"[200 rounds](odell.md) on the {'same table' if data == 'Adult' else 'same people'}"
        )
        yield Section(f"O'Dell, table {table} ({data})", source, agreement, body)
