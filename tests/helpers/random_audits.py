"""Reports of audits with drawn numbers and checks, which cost no training."""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import betaincinv, ndtr, ndtri

from skmia import Records
from skmia._core import __version__
from skmia._core.outputs import Outputs
from skmia.metrics import Interval
from skmia.report import AuditReport, recommend_release
from skmia.report._beyond_shift import AucExcess
from skmia.report._evidence import make_grounds
from skmia.report._examine import Findings
from skmia.report._file import FileFindings
from skmia.report._measure import COLUMNS, NOT_RESOLVABLE, OK, TOO_FEW
from skmia.report._report import ServiceFindings
from skmia.report._verdict import keep_shared_checks
from skmia.report.checks import CHECKS
from skmia.report.checks._base import (
    ALWAYS,
    BEYOND,
    BEYOND_OF_FILE,
    CHANCE,
    DIFFERENCE,
    ERROR,
    KNOWN,
    NOT_RUN,
    PASSED,
    RECIPE,
    SIDES,
    STATED,
    UNLISTED,
    WARNING,
    Check,
)
from skmia.report.checks._drift import DriftResult
from skmia.report.checks._permutation import PermutationResult
from skmia.report.checks._sides import CAUSES

N_PERMUTATIONS = 10_000
_PERMUTED = ["attack", "scope", "group", "metric", "max_fpr", "estimate"]
_PERMUTED += ["pvalue", "pvalue_adjusted", "pvalue_below"]


class Part(NamedTuple):
    """A part of the records."""

    scope: str
    group: str
    n_members: int
    n_others: int


class Law(NamedTuple):
    """What all numbers of an audit are drawn by."""

    level: float
    rates: tuple
    ties: bool
    of_people: bool  # few people hold many of the records, so that some rates have no interval


def draw_report(seed):
    """A report whose numbers are drawn as those of an audit would fall, and its records."""
    rng = np.random.default_rng(seed)
    n_members, n_others = (int(10 ** rng.uniform(np.log10(3), top)) for top in (5, 5))
    if rng.random() < 0.3:  # as many on both sides
        n_others = n_members
    law = _draw_law(rng)
    parts = [Part("overall", "all", n_members, n_others), *_draw_groups(rng, n_members, n_others)]
    frame, null = _draw_numbers(rng, _name_attacks(rng), parts, law)
    checks = _draw_checks(rng, null, n_members + n_others, of_tree=rng.random() < 0.3)
    file = _draw_file(rng, parts, law, checks, n_members + n_others)
    stopped = checks["model and table"].finding == "stop"
    if stopped:
        frame, file = frame[:0], None
        checks["permuted membership"] = Check("permuted membership", NOT_RUN, "Nothing was run.")
    report = _make_report(rng, frame, checks, file, parts, law)
    return _add_policy(rng, report)


def _draw_law(rng):
    rates = ((0.01,), (0.1,), (0.001, 0.01), (0.02, 0.2), (1e-4, 1e-3), (0.05, 0.01), (0.0005,))
    return Law(
        float(rng.choice([0.95, 0.99, 0.9], p=[0.8, 0.1, 0.1])),
        rates[rng.integers(len(rates))],
        bool(rng.random() < 0.4),
        bool(rng.random() < 0.2),
    )


def _name_attacks(rng):
    names = ["LossAttack", "LiRA", "RMIA", "ShadowAttack", "StackedAttack"]
    return names[: rng.choice([1, 2, 3, 5], p=[0.4, 0.3, 0.25, 0.05])]


def _draw_groups(rng, n_members, n_others):
    """Groups of a field and classes, or none."""
    parts = []
    for scope, least in (("sex", 0.4), ("class", 0.3)):
        if rng.random() > least:
            continue
        names = ["f", "m", "x", "(missing)"][: rng.integers(2, 5)]
        names = names if scope == "sex" else list(map(str, range(len(names))))
        shares = rng.dirichlet(np.full(len(names), rng.choice([0.2, 1.0, 10.0])))
        counts = [rng.multinomial(n, shares) for n in (n_members, n_others)]
        parts += [Part(scope, name, *map(int, n)) for name, *n in zip(names, *counts, strict=True)]
    return parts


def _draw_strength(rng):
    """Mean of the scores of members, in standard deviations of all scores."""
    kinds = [0.0, rng.normal(0, 0.05), rng.exponential(0.3), rng.exponential(1.5), 6.0]
    kinds += [-rng.exponential(0.4)]
    return float(rng.choice(kinds, p=[0.3, 0.15, 0.25, 0.17, 0.05, 0.08]))


def _draw_numbers(rng, attacks, parts, law):
    """The rows of results, and of the test of permuted membership."""
    rows, tested, whole = [], [], _draw_strength(rng)
    for part in parts:
        of_part = whole if rng.random() < 0.7 else _draw_strength(rng)
        for attack in attacks:
            strength = of_part + rng.normal(0, 0.05) * (whole != 0)
            for row, p, below in _draw_attack(rng, attack, part, strength, law):
                rows.append(row)
                if not np.isnan(p):
                    tested.append({**row, "pvalue": p, "pvalue_below": below})
    if rng.random() < 0.8:  # else as documents of before
        rows = _draw_told(rng, rows)
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame = frame.astype(dict.fromkeys(COLUMNS[4:11], float))
    return frame, _correct(tested)


def _draw_told(rng, rows):
    """Of each number the attack that was chosen without it, among those that have one."""
    numbers = {}
    for row in rows:
        rate = row["max_fpr"] if row["metric"] == "tpr" else None
        numbers.setdefault((row["scope"], row["group"], row["metric"], rate), []).append(row)
    told = [[row for row in some if row["status"] == OK] for some in numbers.values()]
    told = {id(some[rng.integers(len(some))]) for some in told if some}
    return [{**row, "told": id(row) in told} for row in rows]


def _correct(tested):
    null = pd.DataFrame(tested, columns=[*COLUMNS, "pvalue", "pvalue_below"])
    least = 1 / (1 + N_PERMUTATIONS)
    p = null["pvalue"].to_numpy(float)
    null["pvalue_adjusted"] = np.clip(1 - (1 - p) ** max(len(p), 1), least, 1.0)
    n_aucs = max(int((null["metric"] == "auc").sum()), 1)
    below = null["pvalue_below"].astype(float)
    null["pvalue_below"] = (1 - (1 - below) ** n_aucs).clip(least, 1.0)
    null["pvalue"] = null["pvalue"].astype(float).clip(least, 1.0)
    return null[_PERMUTED].astype(dict.fromkeys(_PERMUTED[4:], float))


def _draw_attack(rng, attack, part, strength, law):
    """Rows of one attack in a part, each with its p-value above and below."""
    _, _, n, m = part
    base = dict(zip(("attack", "scope", "group"), (attack, *part[:2]), strict=True))
    base |= {"n_members": n, "n_nonmembers": m}
    empty = dict.fromkeys(COLUMNS[4:11], np.nan)
    few = min(n, m) < 2
    metrics = [("auc", np.nan), ("advantage", np.nan), *(("tpr", rate) for rate in law.rates)]
    for metric, rate in metrics:
        row = base | empty | {"metric": metric, "max_fpr": rate, "status": TOO_FEW if few else OK}
        if few:
            yield row, np.nan, np.nan
        elif metric != "tpr":
            yield _draw_rank(rng, row, strength, law)
        else:
            yield _draw_rate(rng, row, strength, law)


def _draw_rank(rng, row, strength, law):
    n, m = row["n_members"], row["n_nonmembers"]
    auc = ndtr(strength / np.sqrt(2))
    scale = np.sqrt((auc * (1 - auc) + 0.02) / min(n, m) * 0.6 + 1e-12)
    null = np.sqrt((n + m + 1) / (12 * n * m))
    estimate = float(np.clip(rng.normal(auc, scale), 0, 1))
    z = (estimate - 0.5) / null
    wide = ndtri((1 + law.level) / 2)
    low, high = (float(np.clip(estimate + s * wide * scale, 0, 1)) for s in (-1, 1))
    if row["metric"] == "advantage":
        estimate, low, high = (2 * one - 1 for one in (estimate, low, high))
        return row | {"estimate": estimate, "low": low, "high": high}, np.nan, np.nan
    return row | {"estimate": estimate, "low": low, "high": high}, ndtr(-z), ndtr(z)


def _draw_rate(rng, row, strength, law):
    n, m, rate = row["n_members"], row["n_nonmembers"], row["max_fpr"]
    allowed = int(rate * m + 1e-9)
    mistaken = int(rng.integers(0, allowed + 1)) if law.ties and allowed else allowed
    share = ndtr(strength - ndtri(1 - (mistaken + 0.5) / (m + 1)))
    found = int(rng.binomial(n, share))
    p = float(ndtr(((mistaken + 1) / (m + 1) - found / n) / np.sqrt(rate / n + rate / m)))
    if allowed < 10:
        p = p if law.of_people else np.nan
        return row | {"status": NOT_RESOLVABLE}, p, np.nan
    numbers = dict(zip(("estimate", "low", "high"), _bound(found, n, law), strict=True))
    rates = dict(zip(("fpr", "fpr_low", "fpr_high"), _bound(mistaken, m, law), strict=True))
    return row | numbers | rates, p, np.nan


def _bound(k, n, law):
    tail = (1 - law.level) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return k / n, low, high


class _Told:
    """Evidence, verdict and level, which are asked for often, kept."""

    @cached_property
    def evidence(self):
        return super().evidence

    @cached_property
    def verdict(self):
        return super().verdict

    @cached_property
    def level(self):
        return super().level


class _Service(_Told, ServiceFindings):
    pass


class _File(_Told, FileFindings):
    pass


class _Report(_Told, AuditReport):
    @cached_property
    def service(self):
        return _Service(self.results, self.grounds)


_STATUSES = (PASSED, WARNING, STATED, NOT_RUN, ERROR)


def _draw_checks(rng, null, n_records, of_tree):
    """An outcome of each check, most of them passed."""
    checks, calm = {}, rng.random() < 0.45
    for one in CHECKS:
        if one.presence != ALWAYS and rng.random() < 0.3:
            continue
        odds = [1, 0, 0, 0, 0] if calm else [0.8, 0.08, 0.05, 0.05, 0.02]
        status = str(rng.choice(_STATUSES, p=odds))
        if one.role in (BEYOND, BEYOND_OF_FILE):
            status = STATED if rng.random() < 0.5 else NOT_RUN
        if one.role == KNOWN and status == ERROR:
            status = NOT_RUN
        finding = _draw_finding(rng, one, status, null)
        text = _TEXTS.get(status, f"What {one.name} says of the records.")
        if one.role in (BEYOND, BEYOND_OF_FILE) and finding is not None:
            text = (
                f"Training adds {finding.estimate:.3f} [{finding.low:.3f}, {finding.high:.3f}] "
                "to the AUC."
            )
        checks[one.name] = Check(one.name, status, text, finding)
    return checks


_TEXTS = {ERROR: "ValueError: it failed.", NOT_RUN: "It was not asked for."}


def _draw_finding(rng, check, status, null):
    if check.role == CHANCE:
        if status == ERROR:
            return None
        least = float(null["pvalue_adjusted"].min()) if len(null) else 1.0
        return PermutationResult(least, null, N_PERMUTATIONS, 100, 0)
    if check.role == KNOWN:
        return {WARNING: str(rng.choice(["stop", "warn", "noise"]))}.get(status)
    if check.role == SIDES:
        return str(rng.choice(list(CAUSES))) if status == WARNING else None
    if check.role == RECIPE:
        return str(rng.choice(["below", "above"])) if status == WARNING else None
    if check.role in (BEYOND, BEYOND_OF_FILE) and status == STATED:
        center, width = rng.uniform(-0.1, 0.3), rng.uniform(0.01, 0.1)
        return AucExcess(center, center - width, center + width)
    if check.role == DIFFERENCE and check.interval is not None and status in (PASSED, WARNING):
        center = rng.uniform(0.6, 1.0) if status == WARNING else 0.5
        return Interval(center, max(0.0, center - 0.05), min(1.0, center + 0.05))
    if check.name == "drift" and status in (PASSED, WARNING):
        return DriftResult(1.0, 0.001 if status == WARNING else 0.4, 0.5, 0.5, 10, 50)
    if check.role == UNLISTED and status == WARNING:
        return None
    return None


def _draw_file(rng, parts, law, checks, n_records):
    """What the attack on the file found, or None."""
    if rng.random() < 0.4:
        return None
    reason = "No attack reads files of this kind." if rng.random() < 0.15 else None
    obstacle = "Not read: loss_ (3 numbers)." if rng.random() < 0.3 else None
    frame, null = _draw_numbers(rng, ["ReleasedModelAttack"], parts, law)
    result = PermutationResult(
        float(null["pvalue_adjusted"].min()) if len(null) else 1.0, null, N_PERMUTATIONS, 100, 0
    )
    shared, asked = keep_shared_checks(checks), ["ReleasedModelAttack"]
    if reason is not None:
        frame, result, shared, asked = frame[:0], None, {}, []
    facts = {
        "n_records": n_records,
        "n_members": parts[0].n_members,
        "answers_only": bool(rng.random() < 0.5),
        "n_rows": parts[0].n_members,
        "outsiders": 0.0,
        "reason": reason,
        "sources": _draw_sources(rng, reason),
        "stores": ["Sums over training rows in each leaf."],
        "changes": ["Larger leaves.", "Fewer trees."],
        "ledger": [
            {"place": "tree_.value", "size": 20, "part": "node equations"},
            *([{"place": "loss_", "size": 3, "part": None}] if obstacle else []),
        ],
        "expected_auc": 0.6,
        "obstacle": obstacle,
    }
    grounds = make_grounds(frame, result, shared, law.level, asked)
    return _File(None, None, frame, result, facts, [], grounds)


def _draw_sources(rng, reason):
    if reason is not None:
        return []
    exposed = int(rng.integers(0, 3))
    return [
        {
            "name": "node equations",
            "path": "",
            "auc": float(rng.uniform(0.5, 1)),
            "expected_auc": 0.6,
            "expected_tpr": None,
            "n_equations": int(rng.integers(1, 3000)),
            "misfit": None,
            "n_exposed": exposed,
            "exposed_auc": 0.9 if exposed else None,
            "hits": None,
        }
    ]


_VICTIMS = ("RandomForestClassifier", "LogisticRegression", "MLPClassifier", "XGBClassifier")


def _make_report(rng, frame, checks, file, parts, law):
    whole, n_shadows = parts[0], int(rng.choice([0, 4, 8, 16]))
    n_records = whole.n_members + whole.n_others
    attacks = list(dict.fromkeys(frame["attack"])) or ["LossAttack"]
    numeric = rng.random() < 0.2
    performance = {"metric": "r2" if numeric else "accuracy", "members": 0.9, "nonmembers": 0.8}
    groups = [part for part in parts if part.scope == "sex"]
    data = {"n_records": n_records, "n_members": whole.n_members, "n_nonmembers": whole.n_others}
    return _Report(
        findings=Findings(
            frame,
            _draw_power(rng, attacks, n_shadows, frame.empty),
            None,
            _draw_people(rng, parts, frame),
            checks,
        ),
        scores={},
        judged={},
        membership=np.arange(n_records) < whole.n_members,
        record_ids=np.arange(n_records),
        positions=np.arange(n_records),
        people=None,
        victim="Model()",
        victim_name="LinearRegression" if numeric else str(rng.choice(_VICTIMS)),
        task="regression" if numeric else "classification",
        data=data | ({"n_queries": 1234} if rng.random() < 0.3 else {}),
        performance=performance | {"gap": 0.1},
        settings={
            "attacks": {name: f"{name}()" for name in attacks},
            "n_shadows": n_shadows,
            "shadow_estimator": "Model()" if n_shadows else None,
            "group": "sex" if groups else None,
            "fprs": list(law.rates),
            "confidence_level": law.level,
        },
        seeds={"random_state": 0, "shadows": 1},
        seconds={"total": 1.0},
        versions={"skmia": __version__},
        created="2026-01-01T00:00:00+00:00",
        notes=[],
        file=file,
        reference={
            "recipe": "own",
            "estimator": "Model()",
            "distances": [],
            "obstacle": None,
            "attacks": [{"attack": attacks[-1], "share": 1.0, "n_models": 16}],
            "left_out": [],
            "gap": None,
        },
    )


def _draw_power(rng, attacks, n_shadows, stopped):
    if not n_shadows or stopped or rng.random() < 0.3:
        return None
    numbers = [{"n_shadows": n_shadows, "auc": rng.uniform(0.5, 1), "sd": 0.01, "n_models": 4}]
    return {"attack": attacks[0], "numbers": numbers}


def _draw_people(rng, parts, frame):
    n_members, n_others = (n // 3 for n in parts[0][2:])
    attack = None if frame.empty else frame["attack"].iloc[0]
    if rng.random() < 0.75 or min(n_members, n_others) < 1 or attack is None:
        return None
    found = {"attack": attack, "combine": "sum", "n_members": n_members}
    found |= {"n_nonmembers": n_others, "n_mixed": 0, "n_permutations": N_PERMUTATIONS}
    if min(n_members, n_others) < 2:
        return found | dict.fromkeys(("auc", "low", "high", "pvalue")) | {"exposed": []}
    auc = float(rng.uniform(0.4, 1.0))
    exposed = [{"person": "a-1", "n_records": 3, "score": 1.0, "n_above": 0, "pvalue": 0.01}]
    found |= {"auc": auc, "low": max(0.0, auc - 0.1), "high": min(1.0, auc + 0.1)}
    return found | {"pvalue": 0.01, "exposed": exposed}


def _add_policy(rng, report):
    """The report with what a policy recommends, if one is asked."""
    n_records = report.data["n_records"]
    if rng.random() < 0.5 or n_records > 20_000:
        return report
    y = np.arange(n_records) % 2
    records = Records(np.zeros((n_records, 1)), y).with_fields(
        outputs=Outputs(np.c_[1.0 - y, y], np.arange(2), "proba")
    )
    release = "file" if report.file is not None and rng.random() < 0.6 else "service"
    settings = {"policy": str(rng.choice(["research", "cautious"])), "release": release}
    found = recommend_release(report, None, records, **settings)
    return replace(report, recommendation=found)
