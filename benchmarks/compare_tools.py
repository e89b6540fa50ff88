"""skmia beside SACRO-ML, ART and LeakPro: one model, the same records, one measure of success.

    python benchmarks/compare_tools.py [--python NAME=PATH ...] [--install FOLDER] [--only NAME ...]

Other tools need other versions of packages, so each runs in an interpreter of its own: --python
names one that has it, --install makes a virtual environment of each in a folder by pip. The model
is a random forest on half of scikit-learn's digits; each tool trains it again from its seed, and
the page says whether its answers are the same. Their scores are measured here in one way. What each
tool gave is kept in benchmarks/results/compare_tools, and the page compare_tools.md has all of it.
"""

import argparse
import json
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import skmia
from skmia import Records, ShadowPool
from skmia.attacks import RMIA, LiRA, ShadowAttack, StackedAttack, ThresholdAttack
from skmia.disclosure import structural_checks
from skmia.metrics import auc_interval, operating_point

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "compare_tools"
SETTINGS = {"n_estimators": 100, "random_state": 0}
N_SHADOWS = 32
# Scripts of the tools, by the names of their packages.
TOOLS = {
    "sacroml": "run_sacroml.py",
    "adversarial-robustness-toolbox": "run_art.py",
    "leakpro": "run_leakpro.py",
}
# What a package imports without requiring it.
FURTHER = {"adversarial-robustness-toolbox": ["packaging"]}
LONGEST = 1800  # seconds for one tool


def make_problem():
    """Records with the members first, and the model."""
    X, y = load_digits(return_X_y=True)
    inside, outside = train_test_split(np.arange(len(X)), test_size=0.5, stratify=y, random_state=0)
    order, membership = np.r_[inside, outside], np.arange(len(X)) < len(inside)
    X, y = X[order], y[order]
    model = RandomForestClassifier(**SETTINGS).fit(X[membership], y[membership])
    return X, y, membership, model


def run_ours(X, y, model):
    """Scores of attacks of skmia."""
    records = Records(X, y)
    forest = RandomForestClassifier(**SETTINGS)
    pool = ShadowPool(forest, N_SHADOWS, store="outputs", random_state=0).fit(records)
    attacks = {
        "ThresholdAttack(signal='loss')": ThresholdAttack(model),
        "LiRA(variance='example', online=False)": LiRA(
            model, pool, variance="example", online=False
        ),
        "LiRA(variance='example')": LiRA(model, pool, variance="example"),
        "LiRA()": LiRA(model, pool),
        "RMIA()": RMIA(model, pool),
        "ShadowAttack()": ShadowAttack(model, pool, random_state=0),
        "StackedAttack()": StackedAttack(model, pool, random_state=0),
    }
    for name, attack in attacks.items():
        uses_pool = "shadows" in attack.get_params(deep=False)
        yield {
            "attack": name,
            "n_shadows": N_SHADOWS if uses_pool else 0,
            "scores": attack.fit(records).score_samples(records),
            "error": None,
        }


def measure(tool, rows, membership):
    """One line for each attack."""
    for row in rows:
        line = {"tool": tool, "attack": row["attack"], "shadow models": row["n_shadows"]}
        if row["scores"] is None:
            yield line | {"error": row["error"]}
            continue
        scores = np.asarray(row["scores"])
        auc = auc_interval(membership, scores)
        point = operating_point(membership, scores, max_fpr=0.01)
        yield line | {
            "AUC": f"{auc.estimate:.3f} [{auc.low:.3f}, {auc.high:.3f}]",
            "TPR at FPR 0.01": f"{point.tpr:.3f} [{point.tpr_low:.3f}, {point.tpr_high:.3f}]",
        }


def install(package, folder):
    """A virtual environment with a package, and why there is none."""
    home = Path(folder) / package
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    wanted = [package, *FURTHER.get(package, [])]
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", *wanted], capture_output=True, text=True, check=False
    )
    reason = done.stderr.strip().split("\n")[-1] if done.returncode else None
    return python, reason


def run_other(package, python, folder):
    """What a tool says, or why it does not run."""
    script = HERE / "other_tools" / TOOLS[package]
    done = subprocess.run(
        [python, script, folder], capture_output=True, text=True, check=False, timeout=LONGEST
    )
    if done.returncode:
        return None, done.stderr.strip().split("\n")[-1]
    return json.loads((Path(folder) / f"{package}.json").read_text()), None


def write_problem(folder, X, y, membership):
    np.savez(
        Path(folder) / "problem.npz",
        X=X,
        y=y,
        membership=membership,
        n_shadows=N_SHADOWS,
        settings=json.dumps(SETTINGS),
    )


def compare_ours(X, y, membership, model):
    """Lines of skmia, and what its structural checks say."""
    tool = f"skmia {skmia.__version__}"
    checks = structural_checks(model, Records(X, y), membership).to_frame()
    told = {f"{name} ({way})": status for name, way, status in checks.iloc[:, :3].to_numpy()}
    lines = list(measure(tool, run_ours(X, y, model), membership))
    return lines, [f"{tool}, `structural_checks`: {write_flags(told, 'flagged')}"]


def compare_other(package, python, X, y, membership, model):
    """Lines of another tool, and sentences."""
    with TemporaryDirectory() as folder:
        write_problem(folder, X, y, membership)
        found, reason = run_other(package, python, folder)
    if found is None:
        return [], [f"{package} could not be run: {reason}"]
    tool, notes = f"{package} {found['version']}", []
    if found["answers"] is not None:
        same = np.array_equal(found["answers"], model.predict_proba(X))
        notes.append(f"{tool}: its forest gives {'the same' if same else 'other'} answers.")
    for name, fact in found["facts"].items():
        told = write_flags(fact, True) if isinstance(fact, dict) else fact
        notes.append(f"{tool}, {name}: {told}")
    return list(measure(tool, found["rows"], membership)), notes


def write_flags(told, flag):
    """The names that are flagged, and the others."""
    flagged = [name for name, found in told.items() if found == flag]
    others = [name for name in told if name not in flagged]
    return f"flagged {', '.join(flagged) or 'nothing'}; not flagged {', '.join(others) or 'none'}"


def write_table(table):
    rows = [list(table.columns), ["---"] * table.shape[1], *table.astype(str).to_numpy().tolist()]
    return [f"| {' | '.join(row)} |" for row in rows]


def write_page(folder):
    """The page of all results that were kept."""
    kept = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    kept.sort(key=lambda part: part["name"] != "skmia")
    table = pd.DataFrame([line for part in kept for line in part["lines"]]).fillna("")
    lines = [
        "# skmia beside other tools",
        "",
        "A random forest of 100 trees on half of scikit-learn's digits (898 of 1,797 images), with",
        f"{N_SHADOWS} shadow models and Python {sys.version.split()[0]}. Brackets: 95% intervals.",
        "",
        "    python benchmarks/compare_tools.py --install FOLDER",
        "",
        *write_table(table),
        "",
        *(f"* {note}" for part in kept for note in part["notes"]),
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", nargs="+", default=[], metavar="NAME=PATH")
    parser.add_argument("--install", metavar="FOLDER")
    parser.add_argument("--only", nargs="+", choices=["skmia", *TOOLS])
    arguments = parser.parse_args()
    pythons = dict(pair.split("=", 1) for pair in arguments.python)
    problem = make_problem()
    RESULTS.mkdir(exist_ok=True)
    for name in arguments.only or ["skmia", *TOOLS]:
        reason = None
        if name != "skmia" and arguments.install:
            pythons[name], reason = install(name, arguments.install)
        if name == "skmia":
            lines, notes = compare_ours(*problem)
        elif reason is not None or name not in pythons:
            lines = []
            notes = [f"{name} was not run: {reason or 'no interpreter was named'}"]
        else:
            lines, notes = compare_other(name, pythons[name], *problem)
        kept = {"name": name, "lines": lines, "notes": notes}
        (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")
    page = write_page(RESULTS)
    RESULTS.with_suffix(".md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
