"""Tables of bench_released_file.py: rows of halves, and Markdown of their means."""

from pathlib import Path
from textwrap import fill

import pandas as pd

RESULTS = Path(__file__).parent / "results"
FILE = RESULTS / "released_files.csv"
SETTING = ["table", "model", "candidates", "outsiders", "attack"]
KEYS = [*SETTING, "half"]
FILE_ATTACKS = ["together", "nodes", "thresholds", "optimum"]
WIDTH = 120
N_CANDIDATES = 1000  # of the tables in which neither their number nor their share varies

INTRODUCTION = (
    "Models were trained on a random half of N candidate records. *File* is "
    "`ReleasedModelAttack`, which combines `NodeEquationsAttack` (*nodes*), "
    "`SplitThresholdAttack` (*thresholds*) and `StationarityAttack` (*optimum*); none of them "
    "makes a query or trains a model. *Loss* and *LiRA* query the model; LiRA trains 64 "
    "shadow models on halves of the same candidates. Cells are means over random halves that "
    "were not used to choose any setting. Diabetes-130 and Pendigits (ten classes) were not "
    "used during the development of the attacks. `python benchmarks/bench_released_file.py "
    '--save` keeps the rows, `--show` writes this page. In names of models, "l10" means at '
    'least 10 rows per leaf, "20it" 20 rounds, "d3" a depth of 3, "half" subsamples of half of the '
    'rows, "balanced" balanced class weights, and "no stop" no early stopping. '
    "LiRA was measured before it shrank gaps and variances to trends, except in the rows of "
    "Diabetes-130 with 5 halves; the change added 0.00 to 0.03 to its AUC on three halves that "
    "were tried again."
)


def average(rows):
    """Means over halves, and the standard deviation of the AUC."""
    groups = rows.groupby(SETTING, sort=False)
    return groups.mean().assign(sd=groups["auc"].std(), halves=groups.size()).reset_index()


def describe(rows):
    """Means of one setting, a line for each attack."""
    columns = [*SETTING, "auc", "sd", "tpr", "expected_auc", "null_auc", "seconds"]
    return average(rows)[columns].to_string(index=False, header=False, float_format="{:.3f}".format)


def keep(rows, path=FILE):
    """Add rows to the kept ones, in whose place they come if these are of the same halves."""
    if path.exists():
        rows = pd.concat([pd.read_csv(path), rows])
    rows.drop_duplicates(KEYS, keep="last").round(6).to_csv(path, index=False)


def write_tables():
    """Write the page of all kept rows."""
    rows = pd.read_csv(FILE)
    parts = [show_main(rows), show_null(rows), show_growth(rows), show_outsiders(rows)]
    page = FILE.with_suffix(".md")
    head = f"# What the files of released models reveal\n\n{fill(INTRODUCTION, WIDTH)}\n"
    page.write_text(head + "".join(parts), encoding="utf-8")


def _title(name, text):
    return f"\n## {name}\n\n{fill(text, WIDTH)}\n\n"


def _to_markdown(head, lines):
    cells = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def _spread(means):
    """Cell of an AUC with its deviation over halves, and the TPR."""
    if means is None:
        return "-"
    return f"{means['auc']:.3f} ± {means['sd']:.3f}, {means['tpr']:.3f}"


def _short(means, *names):
    return "-" if means is None else ", ".join(f"{means[name]:.3f}" for name in names)


def _iter_models(means):
    """Means of the attacks on each model of a table, by the name of the attack."""
    for (table, model), some in means.groupby(["table", "model"], sort=False):
        yield table, model, some.set_index("attack").to_dict("index")


def show_main(rows):
    """All attacks beside each other, on complete candidates."""
    means = average(rows[(rows["candidates"] == N_CANDIDATES) & (rows["outsiders"] == 0)])
    head = ["model", "file: AUC, TPR", "nodes", "expected", "thresholds", "optimum"]
    head += ["loss", "LiRA: AUC, TPR", "halves"]
    tables = {}
    for table, model, found in _iter_models(means):
        if "together" not in found:
            continue  # from a run over sizes
        line = [model, _spread(found.get("together"))]
        line += [_short(found.get("nodes"), name) for name in ("auc", "expected_auc")]
        line += [_short(found.get(name), "auc") for name in ("thresholds", "optimum", "loss")]
        line += [_spread(found.get("LiRA")), str(found["together"]["halves"])]
        tables.setdefault(table, []).append(line)
    text = (
        "All training rows are among the candidates. Cells with "
        "a deviation show the AUC ± its standard deviation over halves, and the TPR at an FPR of "
        "1%, which rests on 5 false positives; others show the AUC. *Expected* is the AUC that "
        "the nodes attack states beforehand, without a known member."
    )
    return _title(f"{N_CANDIDATES:,} candidates", text) + "\n".join(
        f"### {table}\n\n{_to_markdown(head, lines)}" for table, lines in tables.items()
    )


def show_null(rows):
    """Non-members against other non-members, for each attack."""
    rows = rows[(rows["candidates"] == N_CANDIDATES) & (rows["outsiders"] == 0)]
    lines = []
    for attack, some in rows.groupby("attack", sort=False):
        # Halves are the same for all models of a table, so that only their means are independent.
        halves = some.groupby(["table", "half"])["null_auc"].mean()
        low, high = some.groupby(["table", "model"])["null_auc"].mean().agg(["min", "max"])
        lines.append(
            [attack, f"{halves.mean():.3f} ± {halves.sem():.3f}", f"{low:.3f}, {high:.3f}"]
        )
    text = (
        "The AUC of the scores of one random half of the "
        "non-members against the other, which is 0.5 but for chance: the mean ± its standard "
        "error, and the smallest and largest mean of a model and table."
    )
    return _title("Non-members against non-members", text) + _to_markdown(
        ["attack", "mean", "smallest, largest"], lines
    )


def show_growth(rows):
    """Strength and processor time by the number of candidates."""
    rows = rows[(rows["outsiders"] == 0) & rows["attack"].isin(["nodes", "loss"])]
    sizes = rows.groupby(["table", "model"])["candidates"].transform("nunique")
    means = average(rows[sizes > 1].sort_values("candidates", kind="stable"))
    head = ["model", "candidates", "nodes: AUC, TPR", "expected", "seconds", "loss", "halves"]
    tables = {}
    for (table, model, n), some in means.groupby(["table", "model", "candidates"], sort=False):
        found = some.set_index("attack").to_dict("index")
        nodes = found["nodes"]
        line = [model, f"{n:,}", _short(nodes, "auc", "tpr"), _short(nodes, "expected_auc")]
        line += [f"{nodes['seconds']:.1f}", _short(found["loss"], "auc"), str(nodes["halves"])]
        tables.setdefault(table, []).append(line)
    text = (
        "Half of the candidates are training rows. Seconds are of one processor, for reading the "
        "file and scoring all candidates. Up to 4,000 candidates, the equations are solved by "
        "propagation, whose time grows with the cube of their number, up to 20,000 by regression "
        "with bits between 0 and 1, else by ridge regression. "
        "By default, histogram boosting sets rows apart and stops early if it has more than "
        "10,000 training rows."
    )
    return _title("Growth with the number of candidates", text) + "\n".join(
        f"### {table}, by size\n\n{_to_markdown(head, sorted(lines, key=lambda line: line[0]))}"
        for table, lines in tables.items()
    )


def show_outsiders(rows):
    """What remains where training rows are missing among the candidates."""
    rows = rows[(rows["candidates"] == N_CANDIDATES) & (rows["attack"] == "together")]
    shares = rows.groupby(["table", "model"])["outsiders"].transform("nunique")
    rows = rows[shares > 1].sort_values("outsiders", kind="stable")
    head = ["model", "missing", "file: AUC, TPR", "called at 1%", "at 5%", "listed"]
    head += ["of them wrong"]
    tables = {}
    for (table, model, share), some in rows.groupby(["table", "model", "outsiders"], sort=False):
        one = average(some).iloc[0]
        wrong = one["listed_wrongly"] / one["listed"] if one["listed"] else 0.0
        line = [model, f"{share:.0%}", _spread(one)]
        line += [f"{one['called_at_0.01']:.3f}", f"{one['called_at_0.05']:.3f}"]
        line += [f"{one['listed']:.0f}", f"{wrong:.3f}"]
        tables.setdefault(table, []).append(line)
    text = (
        "A share of the training rows is not among the candidates, "
        "and the attacks are told this share (`outsiders`). Half of the non-members are known and "
        "calibrate `conformal_pvalues`; *called* is the share of the others with a p-value of at "
        "most 1% or 5%, which should not exceed it. *Listed* are records at a false discovery rate "
        "of 10%, among the members and the unknown non-members."
    )
    return _title("Incomplete candidates", text) + "\n".join(
        f"### {table}, by share\n\n{_to_markdown(head, sorted(lines, key=lambda line: line[0]))}"
        for table, lines in tables.items()
    )
