"""Tables of the slides on Shokri et al., Carlini et al. and the secret sharer."""

import pandas as pd

from ._facts import read_printed
from .page import Section, to_number, to_table

SETS = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "wikitext103": "WikiText-103"}


def _percent(value, decimals=1):
    return "" if value != value else f"{100 * value:.{decimals}f}%"


def _carlini_1(table, of_what):
    """Nine rows: balanced accuracy and TPR at an FPR of .1%, ours first."""
    means = table.groupby("attack", sort=False).mean(numeric_only=True)
    rows = []
    for attack, row in means.iterrows():
        cells = ["LiRA" if attack == "Ours" else attack, _percent(row["balanced_accuracy"])]
        cells += [_percent(row[f"published_balanced_accuracy_{one}"]) for one in SETS]
        cells += [_percent(row["tpr"])]
        cells += [_percent(row[f"published_tpr_{one}"]) for one in SETS]
        rows.append(cells)
    head = ["attack", "balanced accuracy", *SETS.values(), "TPR at 0.1% FPR", *SETS.values()]
    by = {
        name: means[ours].corr(means[f"published_{ours}_cifar10"], method="spearman")
        for name, ours in (("balanced accuracy", "balanced_accuracy"), ("TPR", "tpr"))
    }
    first = means["tpr"].idxmax()
    said = (
        "LiRA has the largest TPR, as printed"
        if "LiRA" in first or first == "Ours"
        else (f"the largest TPR is that of {first}, printed is LiRA")
    )
    agreement = (
        f"{said}; rank correlation with the column of CIFAR-10 {to_number(by['TPR'], 2)} by TPR "
        f"and {to_number(by['balanced accuracy'], 2)} by balanced accuracy ({of_what})"
    )
    return agreement, to_table(rows, head)


def carlini_1(results):
    kept = results / "carlini_table_1.csv"
    remark = (
        "\n\nFirst column of each measure: here; the three others: as printed. An FPR of 0.001% "
        "takes 100,000 non-members and is not measured here."
    )
    parts, agreements, sources = [], [], []
    if kept.exists():
        table = pd.read_csv(kept)
        agreement, body = _carlini_1(table, "images")
        n_victims = table["victim"].nunique()
        n_shadows = pd.read_csv(results / "carlini_table_3.csv")["victim"].nunique() - 1
        sources.append(
            f"small nets on 15,000 images of CIFAR-10, {n_victims} victim, "
            f"{n_shadows} shadow models"
        )
        parts.append(
            f"Images ({sources[-1]}):\n\n{body}\n\nThese nets leak little, and with "
            f"{n_shadows} shadow models and seven false positives the intervals of the best "
            "attacks overlap."
        )
        agreements.append(agreement)
    baskets = pd.read_csv(results / "carlini_comparison.csv")
    baskets = baskets[baskets["published_tpr_cifar10"].notna()]
    agreement, body = _carlini_1(baskets, "baskets")
    sources.append("[a made table like Purchase-100](carlini_comparison.md), 32 shadow models")
    parts.append(f"A net on {sources[-1]}:\n\n{body}")
    agreements.append(agreement)
    return Section(
        "Slides, Carlini's table I",
        "; ".join(sources),
        "; ".join(agreements),
        "\n\n".join(parts) + remark,
    )


def carlini_3(results):
    kept = results / "carlini_table_3.csv"
    if not kept.exists():
        return None
    table = pd.read_csv(kept)
    groups = table.groupby("queries", sort=False)
    means, low, high = groups.mean(numeric_only=True), groups["tpr"].min(), groups["tpr"].max()
    rows = [
        [
            name,
            f"{_percent(row['tpr'], 2)} ({_percent(low[name], 2)} to {_percent(high[name], 2)})",
            _percent(row["published_tpr"]),
            to_number(row["auc"]),
        ]
        for name, row in means.iterrows()
    ]
    first, last = means["tpr"].iloc[[0, -1]]
    auc = means["auc"].iloc[[0, -1]]
    agreement = (
        f"the TPR at 0.1% FPR with 18 queries is {last / first:.1f} times that with one (printed "
        f"1.5), and the AUC goes from {to_number(auc.iloc[0])} to {to_number(auc.iloc[1])}"
    )
    body = to_table(rows, ["queries", "TPR at 0.1% FPR", "printed", "AUC"]) + (
        f"\n\nMean of {table['victim'].nunique()} victims (lowest to highest), each with the "
        "others as shadow models, trained for 12 epochs on shifted and mirrored images (`python "
        "benchmarks/bench_carlini_tables.py`, seeds 0 to 5, 25 s of processor time a net with its "
        "answers); seven false positives. 162 queries were not asked; as printed they add nothing "
        "to 18."
    )
    return Section(
        "Slides, Carlini's table III", "small nets on 15,000 images of CIFAR-10", agreement, body
    )


def _shokri_run(table):
    """Sizes and processor time of the run."""
    splits = " and ".join(
        f"{part['split'].nunique()} for {data}" for data, part in table.groupby("data", sort=False)
    )
    training = table.drop_duplicates(["data", "split", "train_seconds"])["train_seconds"].sum()
    timed = table["attack_seconds"].dropna()
    return (
        "\n\nPurchase: 600 columns, 10,000 members, 30 epochs; Hospital: 6,170 columns, 5,000 "
        "members, 20 epochs; 100 classes, as many others, the attacker's own records twice as "
        "many. Nets with 128 tanh units, Adam with a penalty as weight decay; 3 shadow models with "
        f"the same mitigation; splits: {splits} (`python benchmarks/bench_shokri_table.py`). "
        f"Processor time: {training / 60:.0f} minutes for the nets, {timed.mean():.0f} s an "
        f"attack (mean of {len(timed)} that were timed). `memorization` is the default .6 for "
        "Purchase and .675 for Hospital: in a try with half of the records that gave a test "
        "accuracy near the printed one, with all records the made classes are easier. [A "
        "smaller table with five splits](shokri_mitigations.md) has intervals."
    )


def _rank_splits(table):
    """Rank correlations of single splits, as a text for each table."""
    texts = {}
    for data, part in table.groupby("data", sort=False):
        columns = ["attack_accuracy", "published_attack_accuracy"]
        ranks = part.groupby("split")[columns].corr(method="spearman").iloc[::2, 1]
        low, high = to_number(ranks.min(), 2), to_number(ranks.max(), 2)
        texts[data] = f" ({low} to {high} in single splits)"
    return texts


def shokri(results):
    kept = results / "shokri_table_3.csv"
    columns = {"test": "test", "accuracy": "accuracy", "precision": "precision", "recall": "recall"}
    if kept.exists():
        table = pd.read_csv(kept)
        names = {f"attack_{name}": name for name in columns}
        names |= {f"published_{old}": f"published_{new}" for old, new in names.items()}
        table = table.rename(columns=names)
        table = table.groupby(["data", "mitigation"], sort=False).mean(numeric_only=True)
        source = "made tables as wide, with as many classes and members"
        run = _shokri_run(pd.read_csv(kept))
        ranks = _rank_splits(pd.read_csv(kept))
    else:
        table = pd.read_csv(results / "shokri_mitigations.csv")
        table = table[table["published_test"].notna()].assign(data="Purchase")
        table = table.set_index(["data", "mitigation"])
        source = "[a made table of as many columns](shokri_mitigations.md)"
        run, ranks = "", {}
    rows, agreements = [], []
    for (data, mitigation), row in table.iterrows():
        cells = [data, mitigation]
        for name in columns:
            cells += [to_number(row[name]), to_number(row[f"published_{name}"], 2)]
        rows.append(cells)
    for data, part in table.groupby(level="data", sort=False):
        rank = part["accuracy"].corr(part["published_accuracy"], method="spearman")
        off = (part["accuracy"] - part["published_accuracy"]).abs().mean()
        agreements.append(
            f"{data}: rank correlation of the attack's accuracy over mitigations "
            f"{to_number(rank, 2)}{ranks.get(data, '')}, mean difference {to_number(off, 2)}"
        )
    head = ["table", "mitigation"]
    for name in ("test accuracy", "attack accuracy", "precision", "recall"):
        head += [name, "printed"]
    body = to_table(rows, head) + (
        "\n\nPurchases and hospital stays themselves are not used; the records are drawn by "
        '`make_membership_problem(kind="baskets")`. All 23 printed rows satisfy '
        "accuracy = (1 + R - R (1 - P) / P) / 2 within rounding."
    )
    body += run
    return Section("Slides, Shokri's table III", source, "; ".join(agreements), body)


def secret_sharer(results):
    table = pd.read_csv(results / "secret_sharer_table_1.csv", dtype={"number": str})
    best = table[table["insertions"] == table["insertions"].max()]
    printed = read_printed("slides", "Secret sharer 1", of="printed")
    bits = read_printed("slides", "Secret sharer 1")["log-perplexity"]
    first = best[best["seed"] == best["seed"].min()].set_index("rank")
    rows = [
        [
            rank,
            first["number"].get(int(rank), ""),
            f"{first['log_perplexity'].get(int(rank)):.2f}",
            printed.loc[rank, "number"],
            printed.loc[rank, "log-perplexity"],
        ]
        for rank in printed.index
    ]
    wide = table.pivot(index=["insertions", "seed"], columns="rank", values="log_perplexity")
    numbers = table[table["rank"] == 1]["number"]
    found = (numbers == printed.loc["1", "number"]).sum()
    known = set(printed["number"])
    shared = table[table["rank"] > 1].groupby(["insertions", "seed"])["number"]
    shared = shared.apply(lambda some: len(known & set(some))).mean()
    gap = (wide[2] - wide[1])[
        wide.index.get_level_values("insertions") == table["insertions"].max()
    ]
    agreement = (
        f"the inserted number is first in {found} of {len(wide)} models, as printed; it leads by "
        f"{gap.min():.1f} to {gap.max():.1f} bits with 16 insertions (printed "
        f"{bits.iloc[1] - bits.iloc[0]:.2f}); the others resemble it in both lists, {shared:.1f} "
        "of 8 are the same on average"
    )
    head = ["rank", "here", "bits", "printed", "bits"]
    remark = (
        "\n\nA small recurrent net on the descriptions of data sets in scikit-learn, not the net "
        "and text of the paper; the first of three models with 16 insertions. Bits of the digits "
        "given the words before them. `python benchmarks/bench_secret_numbers.py`, seeds 0 to 2, 5 "
        "s of processor time a model."
    )
    return Section(
        "Slides, secret sharer's table 1",
        "the same number in another text, [more](secret_sharer.md)",
        agreement,
        to_table(rows, head) + remark,
    )


def make_sections(results):
    made = [shokri(results), carlini_1(results), carlini_3(results), secret_sharer(results)]
    return [section for section in made if section]
