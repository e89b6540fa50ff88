"""What each file format keeps of the training rows of a model, and what an attack on it finds.

Models are trained on random halves of the candidates, saved in each format, and loaded again.
Prints which kinds of arrays the loaded model has, whether its predictions are those of the saved
model, and the mean AUC and TPR at 1% FPR of all attacks on files together. ONNX is not attacked:
for it, the script prints what the nodes hold. Formats of packages that are not installed are left
out.

    python benchmarks/bench_file_formats.py [--tables FOLDER] [--halves 3] [--candidates 1000]

FOLDER holds law_school.csv.gz and adult.csv.gz; without it, normal features are drawn.
"""

import argparse
import pickle
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from bench_released_file import FIRST_SEED, list_models, read_tables
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from skmia import Records
from skmia.attacks import ReleasedModelAttack
from skmia.metrics import tpr_at_fpr_score
from skmia.victims import read_booster_file, read_state

EVIDENCE = ("rows", "values", "edges", "thresholds", "counts", "covers", "leaf values", "seeds")
TABLES = ("Law School", "Adult", "normal")


def keep_pickle(model, path):
    path.write_bytes(pickle.dumps(model))
    return pickle.loads(path.read_bytes())


def keep_skops(model, path):
    skops = import_module("skops.io")
    skops.dump(model, path)
    return skops.load(path, trusted=skops.get_untrusted_types(file=path))


def keep_booster(model, path):
    if hasattr(model, "get_leaf_weights"):
        model.save_model(str(path), format=path.suffix[1:])
    else:
        getattr(model, "booster_", model).save_model(str(path))
    return read_booster_file(path)


# How a model is written and read, by the ending of the file.
KEEPING = {".pkl": keep_pickle, ".skops": keep_skops}
FORMATS = {
    "HistGB": (".pkl", ".skops"),
    "RandomForest l10": (".pkl", ".skops", ".onnx"),
    "kNN": (".pkl", ".skops", ".onnx"),
    "XGBoost": (".pkl", ".json", ".ubj"),
    "LightGBM": (".pkl", ".txt"),
    "CatBoost": (".pkl", ".cbm", ".json"),
}
NEEDED = {".skops": ("skops",), ".onnx": ("onnx", "skl2onnx")}


def make_models():
    """Models by name, boosters with a learning rate that is not their default."""
    models = list_models() | {"kNN": KNeighborsClassifier()}
    changes = {"XGBoost": {"learning_rate": 0.2, "reg_lambda": 2.0}}
    changes |= {"LightGBM": {"learning_rate": 0.2}, "CatBoost": {"iterations": 200}}
    return {
        name: clone(models[name]).set_params(**changes.get(name, {}))
        for name in FORMATS
        if name in models
    }


def draw(model, X, y, seed, n):
    """A model of one half of n random rows, the rows and who is a member."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:n]
    member = rng.permutation(n) < n // 2
    X, y = X[rows], y[rows]
    return clone(model).fit(X[member], y[member]), Records(X, y), member


def attack(model, records, member):
    """AUC and TPR at 1% FPR of all that a file offers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ReleasedModelAttack(model, random_state=0).fit(records)
        scores = found.score_samples(records)
    rate = tpr_at_fpr_score(member, scores, max_fpr=0.01, on_unresolvable="ignore")
    return roc_auc_score(member, scores), rate


def list_kinds(model):
    """Kinds of the arrays of a model that do not only hold zeros."""
    arrays = [one for one in read_state(model).arrays if one.kind in EVIDENCE]
    found = {one.kind for one in arrays if one.array.dtype.kind not in "iuf" or one.array.any()}
    return ", ".join(kind for kind in EVIDENCE if kind in found)


def describe_onnx(model, records, member):
    """What the nodes of an ONNX file hold, in words."""
    skl2onnx, numpy_helper = import_module("skl2onnx"), import_module("onnx.numpy_helper")
    graph = skl2onnx.to_onnx(model, records.X[:1].astype(np.float32)).graph
    values = set(np.unique(records.X[member].astype(np.float32)).tolist())
    stored = [numpy_helper.to_array(one) for one in graph.initializer]
    words = [
        f"{len(one):,} rows, {np.isin(one, list(values)).mean():.0%} of their values exact"
        for one in stored
        if one.ndim == 2 and one.shape[1] == records.X.shape[1]
    ]
    for node in graph.node:
        fields = {one.name: np.array(one.floats or one.ints) for one in node.attribute}
        if "nodes_values" in fields:
            words.append(_describe_trees(fields, model))
    return "; ".join(words)


def _describe_trees(fields, model):
    trees = [one.tree_ for one in model.estimators_]
    inner = np.concatenate([tree.feature for tree in trees]) >= 0
    exact = np.concatenate([tree.threshold for tree in trees])[inner]
    stored = fields["nodes_values"][inner].astype(np.float32)
    nearest = exact.astype(np.float32)
    below = np.where(nearest > exact, np.nextafter(nearest, np.float32(-np.inf)), nearest)
    return (
        f"{len(exact):,} thresholds in single precision ({(stored == below).mean():.0%} rounded "
        f"down, {(stored == nearest).mean():.0%} to the nearest), "
        f"{len(fields['class_weights']):,} class shares, no counts"
    )


def is_installed(suffix):
    missing = [one for one in NEEDED.get(suffix, ()) if find_spec(one) is None]
    if missing:
        print(f"left out: {suffix}, {', '.join(missing)} not installed", file=sys.stderr)
    return not missing


def measure(model, suffix, X, y, options):
    """One row of the table: what the format keeps, and what is found in it."""
    results, same, kinds = [], True, ""
    for seed in range(FIRST_SEED, FIRST_SEED + options.halves):
        trained, records, member = draw(model, X, y, seed, options.candidates)
        if suffix == ".onnx":
            return [describe_onnx(trained, records, member), "", "", ""]
        with TemporaryDirectory() as folder:
            keep = KEEPING.get(suffix, keep_booster)
            loaded = keep(trained, Path(folder, f"model{suffix}"))
        answers = [one.predict_proba(records.X) for one in (trained, loaded)]
        same, kinds = same and np.allclose(*answers, atol=1e-7), list_kinds(loaded)
        results.append(attack(loaded, records, member))
    auc, rate = np.mean(results, axis=0)
    return [kinds, "yes" if same else "no", f"{auc:.3f}", f"{rate:.3f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--halves", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=1000)
    options = parser.parse_args()
    titles = ["table", "model", "format", "holds", "same predictions", "AUC", "TPR"]
    print(f"| {' | '.join(titles)} |")
    print("|---" * len(titles) + "|")
    for table, (X, y) in read_tables(options.tables).items():
        for name, model in make_models().items() if table in TABLES else ():
            for suffix in filter(is_installed, FORMATS[name]):
                row = measure(model, suffix, X, y, options)
                print(f"| {' | '.join([table, name, suffix, *row])} |", flush=True)


if __name__ == "__main__":
    main()
