"""Printed values as further columns of the files in benchmarks/results.

Columns that begin with ``published`` hold printed values, those that begin with ``authors_files``
the points that were published with the authors' code. Shares are between 0 and 1, as in the
results.
"""

import pandas as pd

from ._facts import read_authors_files, read_printed
from .strategies import STRATEGIES

CARLINI_ROWS = {
    # by the names of examples/3_papers/plot_carlini_comparison.py
    "loss (Yeom)": "Yeom et al.",
    "shadow models (Shokri)": "Shokri et al.",
    "Morgan (Jayaraman)": "Jayaraman et al.",
    "modified entropy (Song)": "Song and Mittal",
    "midpoint (Sablayrolles)": "Sablayrolles et al.",
    "vulnerable records (Long)": "Long et al.",
    "calibrated (Watson)": "Watson et al.",
    "attack R (Ye)": "Ye et al.",
    "LiRA": "Ours",
}
# The noise of the rows "w/ D.P." of the results, by data set: the shares of the rare class agree.
WITH_NOISE = {"1": "1e-7", "2": "1e-6", "3": "1e-5"}
MEASURES = {"utility": "Utility - AUC", "train_resemblance": "TrResembLoss"}
MEASURES |= {"test_resemblance": "TeResembLoss", "privacy_loss": "PrivacyLoss"}


def _look_up(table, rows, column, scale=1):
    """Values of a printed column for these rows; NaN where there is no such row."""
    found = table[column].reindex(list(rows)).to_numpy(float) / scale
    return [round(value, 6) for value in found]


def _carlini(rows):
    table = read_printed("slides", "Carlini I")
    made = {}
    for data in ("CIFAR-10", "CIFAR-100", "WikiText-103"):
        name = data.lower().replace("-", "")
        for ours, theirs in (
            ("balanced_accuracy", "balanced accuracy"),
            ("tpr", "TPR at 0.1% FPR"),
            ("tpr_at_0.001", "TPR at 0.001% FPR"),
        ):
            made[f"published_{ours}_{name}"] = _look_up(table, rows, f"{data}, {theirs}", 100)
    return made


def carlini_comparison(table):
    return _carlini(table["attack"].map(CARLINI_ROWS))


def carlini_table_1(table):
    return _carlini(table["attack"])


def carlini_table_3(table):
    printed = read_printed("slides", "Carlini III")
    names = {"published_tpr": "TPR at 0.1% FPR", "published_tpr_at_0.001": "TPR at 0.001% FPR"}
    return {ours: _look_up(printed, table["queries"], name, 100) for ours, name in names.items()}


def _shokri(data, mitigations, names):
    printed = read_printed("slides", "Shokri III")
    values = pd.DataFrame(index=range(len(data)), columns=list(names), dtype=float)
    for row, (one, mitigation) in enumerate(zip(data, mitigations, strict=True)):
        if one and mitigation in printed.index:
            columns = [f"{one}, {column}" for column in names.values()]
            values.loc[row] = printed.loc[mitigation, columns].to_numpy(float)
    return {f"published_{name}": values[name].to_list() for name in names}


def shokri_mitigations(table):
    """Baskets stand beside purchases. Places have no row in the printed table."""
    names = {"test": "testing accuracy", "accuracy": "attack total accuracy"}
    names |= {"precision": "attack precision", "recall": "attack recall"}
    comparable = (table["table"] == "baskets") & (table["attacker"] == "aware")
    mitigations = table["mitigation"].replace(
        {"L2 0.0001": "L2 1e-4", "L2 0.001": "L2 1e-3", "L2 0.01": "L2 1e-2"}
    )
    return _shokri(comparable.map({True: "Purchase", False: ""}), mitigations, names)


def shokri_table_3(table):
    names = {"test": "testing accuracy", "attack_accuracy": "attack total accuracy"}
    names |= {"attack_precision": "attack precision", "attack_recall": "attack recall"}
    return _shokri(table["data"], table["mitigation"], names)


def odell_tests(table):
    printed = {name: read_printed("odell", name) for name in ("7.3", "7.5")}
    return {
        f"published_{column}": [
            printed[name].loc["race", column] for name in table["table"].astype(str)
        ]
        for column in ("F", "p")
    }


def odell_pairs(table):
    made = {}
    for column in ("t", "p", "p_corr", "reject_null"):
        of = "printed" if column == "reject_null" else "value"
        printed = {name: read_printed("odell", name, of=of) for name in ("7.4", "7.6")}
        made[f"published_{column}"] = [
            printed[name].loc[pair, column]
            for name, pair in zip(table["table"].astype(str), table["pair"], strict=True)
        ]
    return made


def membership_strategies_ranks(table):
    names = table["strategy"].map(STRATEGIES)
    made = {}
    for column, number in (("auc", "3.2"), ("best_accuracy", "3.3"), ("tpr_at_95_fpr", "3.4")):
        ranks = read_printed("del_grosso", number).rank(ascending=False).mean(axis=1)
        made[f"published_rank_{column}"] = ranks.reindex(names).round(3).to_list()
    return made


def del_grosso_table_3_1(table):
    printed = read_printed("del_grosso", "3.1")
    names = {"mnist": "MNIST", "cifar10": "CIFAR-10", "fashion_mnist": "Fashion-MNIST"}
    keys = zip(table["attack"], table["images"], strict=True)
    return {
        "published_precision": [printed.loc[row, f"PPV, {names[one]}"] for row, one in keys],
        "published_recall_above": _look_up(printed, table["attack"], "Recall"),
    }


def secret_sharer_table_1(table):
    printed = read_printed("slides", "Secret sharer 1")
    strings = read_printed("slides", "Secret sharer 1", of="printed")
    ranks = table["rank"].astype(str)
    return {
        "published_number": strings["number"].reindex(ranks).to_list(),
        "published_log_perplexity": _look_up(printed, ranks, "log-perplexity"),
    }


def pedersen_mode_collapse(table):
    shares = read_printed("pedersen", "mode collapse")
    results = read_printed("pedersen", "results")
    made = {f"published_{name}": [] for name in ("rare_percent", *MEASURES)}
    for data, level in zip(table["dataset"].astype(str), table["sigma_dp"], strict=True):
        level = f"{float(level):.0e}".replace("e-0", "e-").replace("0e+00", "0")
        column = f"data set {data}"
        made["published_rare_percent"].append(shares.loc[level, column])
        generator = {"0": "HGAN", WITH_NOISE[data]: "w/ D.P."}.get(level)
        for name, printed in MEASURES.items():
            value = results.loc[f"{printed}, {generator}", column] if generator else None
            made[f"published_{name}"].append(value)
    return made


def _points(figure):
    """Value of each point of a figure, by its series, data and size."""
    facts = read_authors_files(figure)
    return dict(
        zip(
            zip(facts["series"], facts["data"], facts["n"], strict=True),
            facts["value"],
            strict=True,
        )
    )


def del_grosso_figure31(table):
    names = {"success": "success rate (SR)", "lower_bound": "lower bound (LB)"}
    points, sizes = _points("3.1 top"), table["rows"].astype(int)
    return {
        f"authors_files_{ours}": [points.get((name, "gaussian", size)) for size in sizes]
        for ours, name in names.items()
    }


def del_grosso_figure32(table):
    series = {"softmax > .8": "success of softmax response (SR)"}
    series |= {"printed bound": "lower bound (LB)", "test accuracy": "accuracy (Acc)"}
    images = {"MNIST": "mnist", "Fashion-MNIST": "fashion_mnist", "CIFAR-10": "cifar10"}
    points = _points("3.2")
    keys = zip(
        table["quantity"].map(series),
        table["images"].map(images),
        table["members"].astype(int),
        strict=True,
    )
    return {"authors_files": [points.get(key) for key in keys]}


def pendigits_attributes(table):
    points = _points("3.8 top")
    keys = zip(
        "attribute inference: " + table["criterion"],
        table["kind"].map({"members": "pendigits"}),
        table["n_members"].astype(int),
        strict=True,
    )
    return {"authors_files": [points.get(key) for key in keys]}


def pendigits_paths(table):
    points = _points("3.8")
    keys = zip(table["series"], table["n"], strict=True)
    return {"authors_files": [points.get((name, "pendigits", size)) for name, size in keys]}


COLUMNS = {
    f"{function.__name__}.csv": function
    for function in (
        carlini_comparison,
        carlini_table_1,
        carlini_table_3,
        shokri_mitigations,
        shokri_table_3,
        odell_tests,
        odell_pairs,
        membership_strategies_ranks,
        del_grosso_table_3_1,
        secret_sharer_table_1,
        pedersen_mode_collapse,
        del_grosso_figure31,
        del_grosso_figure32,
        pendigits_attributes,
        pendigits_paths,
    )
}


def annotate(name, table):
    """A result with the printed values as its last columns.

    Parameters
    ----------
    name : str
        Name of the file in benchmarks/results, a key of ``COLUMNS``.
    table : DataFrame
        The result; columns of an earlier call are replaced.
    """
    old = [one for one in table if one.startswith(("published", "authors_files"))]
    table = table.drop(columns=old)
    return table.assign(**COLUMNS[name](table))
