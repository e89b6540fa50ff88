"""The attacks of an unlearning game on the answers of its models, and the result of the game."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import special
from sklearn.metrics import roc_auc_score

from .._core.escaping import SummaryMixin
from .._core.metric_inputs import RATE_TOLERANCE
from .._core.moments import SideMoments, compute_both_moments
from .._core.normal_law import NormalLaw
from .._core.pvalues import adjust_pvalues, is_significant
from .._core.text import count_nouns, inflect_word
from ..metrics import Interval, operating_point, placements

NEVER, RETAINED, FORGOTTEN = 0, 1, 2


def score_population(values, sides, n_shadows, side):
    """Return the answers of the targets as scores: one rule for all records, which are all judged.

    Shapes: scores (n_targets, n), judged (n,).
    """
    targets = values[n_shadows:]
    return targets, np.ones(targets.shape[1], dtype=bool)


def score_ulira(values, sides, n_shadows, side):
    """Return the log ratio of two laws of each record, and which records are judged.

    One law is that of the shadow models with the record on this side, the other that of those that
    have never seen it. A single model of either suffices, because laws are shrunk to the trend over
    records (``NormalLaw``); a record without one is not judged, and has the score 0.

    Shapes: scores (n_targets, n), judged (n,).
    """
    shadows = sides[:n_shadows]
    inside, outside = shadows == side, shadows == NEVER
    judged = inside.any(axis=0) & outside.any(axis=0)
    scores = np.zeros((len(values) - n_shadows, len(judged)))
    taken = values[:, judged]
    law = NormalLaw(shrinks=True)
    moments = compute_both_moments(taken[None, :n_shadows], inside[:, judged], outside[:, judged])
    both = SideMoments(*moments, None)
    laws = law.describe(both, law.fit(both))
    for row, target in zip(scores, taken[n_shadows:], strict=True):
        row[judged] = law.log_ratio(target[None], laws)[0]
    return scores, judged


ATTACKS = {"population": score_population, "ulira": score_ulira}
# Name of the attack of those who have the model before as well as after. It also finds what exact
# unlearning has removed, so it is not evidence against a way of forgetting.
BOTH = "both"


class AttackSeparation:
    """How well scores separate one side of the records of each target from those never seen.

    In the AUC each unit counts the same, however many records it has. Units are what is drawn, and
    their numbers are fixed, so that the expected AUC is 0.5 where nothing is left to find; if
    records counted the same, it would not be, as large units change the share that they are in.

    Shapes: scores, sides (n_targets, n), judged, units (n,).
    """

    def __init__(self, scores, sides, side, judged, units=None):
        self.judged, parts, aucs = judged, [], []
        weights = _weigh(judged, units)
        for target, (values, places) in enumerate(zip(scores, sides, strict=True)):
            rows = np.flatnonzero(judged & ((places == side) | (places == NEVER)))
            inside = places[rows] == side
            if inside.all() or not inside.any():
                raise ValueError(
                    "The shadow models are too few to judge records of each target model; increase "
                    "n_estimators or forget."
                )
            parts.append((np.full(len(rows), target), inside, values[rows]))
            aucs.append(_compute_auc(inside, values[rows], weights[rows]))
        # (n_judged,): number of the target, whether it is on the side, and score, of all targets
        self.targets, self.inside, self.scores = map(np.concatenate, zip(*parts, strict=True))
        self.aucs = np.array(aucs)


def _weigh(judged, units):
    """Return weights with which all units that are judged count the same."""
    if units is None:
        return np.ones(len(judged))
    sizes = np.bincount(units[judged], minlength=units.max() + 1)
    return 1 / np.maximum(sizes, 1)[units]


def _compute_auc(inside, scores, weights):
    if (weights == weights[0]).all():
        return placements(inside, scores)[0].mean()
    return roc_auc_score(inside, scores, sample_weight=weights)


# Controls are checked at this level at least, so that few games are lost to a chance finding.
CONTROL_LEVEL = 0.99


def estimate_mean(values, level, chance):
    """Mean over targets with Student's interval, and the p-value of the hypothesis of chance.

    If all targets have the same value, the p-value is the one of the sign test.
    """
    n, mean = len(values), float(values.mean())
    if np.ptp(values) <= RATE_TOLERANCE:  # equal values, and their mean, may be rounded to others
        mean = float(values[0])
        is_chance = abs(mean - chance) <= RATE_TOLERANCE
        return Interval(mean, mean, mean), 1.0 if is_chance else 2.0 ** (1 - n)
    error = float(values.std(ddof=1)) / np.sqrt(n)
    reach = error * float(special.stdtrit(n - 1, (1 + level) / 2))
    pvalue = 2 * float(special.stdtr(n - 1, -abs(mean - chance) / error))
    return Interval(mean, mean - reach, mean + reach), pvalue


def estimate_tpr(separation, level, max_fpr):
    """Return the TPR over the records of all targets at one threshold, with an interval.

    The limits are the wider ones of the jackknife, which leaves one target out at a time, and of
    the interval for independent records: the jackknife does not see how uncertain few records are,
    and the other one does not see that targets differ.
    """
    inside, scores, targets = separation.inside, separation.scores, separation.targets
    point = operating_point(
        inside, scores, max_fpr, confidence_level=level, on_unresolvable="ignore"
    )
    left_out = _leave_targets_out(inside, scores, targets, max_fpr)
    n = len(left_out)
    error = np.std(left_out, ddof=1) * (n - 1) / np.sqrt(n)
    reach = error * float(special.stdtrit(n - 1, (1 + level) / 2))
    low, high = max(point.tpr - reach, 0.0), min(point.tpr + reach, 1.0)
    return Interval(point.tpr, min(low, point.tpr_low), max(high, point.tpr_high))


def _leave_targets_out(inside, scores, targets, max_fpr):
    """Return TPR without each of the targets, as ``tpr_at_fpr_score`` would give it; sorts once."""
    order = np.argsort(-scores, kind="stable")
    inside, scores, targets = inside[order], scores[order], targets[order]
    ends = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)
    rates = []
    for target in np.unique(targets):
        stays = targets != target
        above = [np.cumsum(stays & side) for side in (inside, ~inside)]
        tpr, realized = (count[ends] / count[-1] for count in above)
        rates.append(tpr[realized <= max_fpr + RATE_TOLERANCE].max(initial=0.0))
    return np.array(rates)


def describe_separation(separation, level, max_fpr):
    """Return the AUC and TPR of an attack over all targets, in the columns of a table."""
    auc, pvalue = estimate_mean(separation.aucs, level, 0.5)
    tpr = estimate_tpr(separation, level, max_fpr)
    of_auc = {"auc": auc.estimate, "auc_low": max(auc.low, 0.0), "auc_high": min(auc.high, 1.0)}
    of_tpr = {"tpr": tpr.estimate, "tpr_low": float(tpr.low), "tpr_high": float(tpr.high)}
    return of_auc | {"pvalue": pvalue} | of_tpr


def tabulate_separations(separations, level, max_fpr):
    """Return the table of the attacks, a row each, with adjusted p-values and evidence.

    What an attacker finds who has both models is a row, but not among the tests together.
    """
    table = pd.DataFrame(
        [describe_separation(each, level, max_fpr) for each in separations.values()]
    )
    table.index = pd.Index(list(separations), name="attack")
    headline = table.index != BOTH
    adjusted = table["pvalue"].to_numpy(copy=True)
    adjusted[headline] = adjust_pvalues(adjusted[headline], "holm", 1 - level)[1]
    table.insert(4, "pvalue_adjusted", adjusted)
    found = np.where(table["auc"] > 0.5, "leak", "reversed")
    table["evidence"] = np.where(is_significant(adjusted, 1 - level), found, "none")
    return table


def check_controls(noop, retrain, level):
    """Return the table of the controls: nothing forgotten must be found, retraining must not.

    Retraining counts as found in either direction.
    """
    level = max(level, CONTROL_LEVEL)
    table = pd.concat({"no-op": noop, "retraining": retrain}, names=["control", "attack"])
    headline = table.index.get_level_values("attack") != BOTH
    n_attacks = int(headline.sum()) // 2
    is_sure = is_significant(table["pvalue"], (1 - level) / np.where(headline, n_attacks, 1))
    is_retrained = table.index.get_level_values("control") == "retraining"
    found = is_sure & ((table["auc"] > 0.5) | is_retrained)
    return table.drop(columns=["pvalue_adjusted", "evidence"]).assign(found=found)


def choose_game_evidence(attacks, controls):
    """Return the evidence of a game in one word: leak, reversed, none or unknown."""
    attacks, controls = attacks.drop(BOTH, errors="ignore"), controls["found"].unstack("control")
    controls = controls.drop(BOTH, errors="ignore").any()
    if controls["retraining"]:
        return "unknown"
    for word in ("leak", "reversed"):
        if (attacks["evidence"] == word).any():
            return word
    return "none" if controls["no-op"] else "unknown"


def compare_retained(retained, level):
    """Return the AUC of the retained records before and after, and the change, with its p-value."""
    before, after = retained["before"].aucs, retained["after"].aucs
    numbers = {"before": (before, 0.5), "after": (after, 0.5), "change": (after - before, 0.0)}
    rows = {}
    for name, (values, chance) in numbers.items():
        interval, pvalue = estimate_mean(values, level, chance)
        rows[name] = [*interval, pvalue]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["auc", "low", "high", "pvalue"])


def judge_unlearning(measured, max_fpr, level):
    """Return tables, evidence and number of records that do not count."""
    tables = {
        name: tabulate_separations(each, level, max_fpr)
        for name, each in measured.forgotten.items()
    }
    controls = check_controls(tables["before"], tables["retrained"], level)
    aucs = {
        (state, name): separation.aucs
        for state, attacks in measured.forgotten.items()
        for name, separation in attacks.items()
    }
    aucs |= {(state, "retained"): each.aucs for state, each in measured.retained.items()}
    aucs = pd.DataFrame(aucs).rename_axis(index="target", columns=["state", "attack"])
    return {
        "evidence": choose_game_evidence(tables["after"], controls),
        "attacks": tables["after"],
        "controls": controls,
        "retained": compare_retained(measured.retained, level),
        "aucs": aucs,
        "n_unjudged": measured.n_unjudged,
    }


_NAMES = {"population": "population", "ulira": "U-LiRA", "both": "both models"}
_SENTENCES = {
    "leak": "Leak: forgotten records can be distinguished from records that were never seen.",
    "reversed": (
        "Reversed: forgotten records are answered worse than records that were never seen, so "
        "they can be distinguished as well."
    ),
    "none": (
        "No evidence that forgotten records differ from records that were never seen, where "
        "models that forgot nothing are found."
    ),
}
_UNKNOWN = {
    "retraining": (
        "Unknown: the attacks find records that retrained models have not seen, so what they find "
        "says nothing about the unlearning."
    ),
    "no-op": (
        "Unknown: the attacks do not even find the records of models that forgot nothing. Use more "
        "models or records."
    ),
}


@dataclass(frozen=True, eq=False)
class UnlearningResult(SummaryMixin):
    """How well attacks find the records that models should have forgotten.

    Intervals and p-values are by Student's t distribution over the target models, which were
    trained and let forget independently; rows of a model do not count as independent.

    Attributes
    ----------
    evidence : {"leak", "reversed", "none", "unknown"}
        ``"leak"`` if an attack finds forgotten records beyond chance, after Holm's correction for
        the number of attacks. ``"reversed"`` if its scores are significantly the wrong way round:
        forgotten records are answered worse than records that were never seen. ``"unknown"`` if
        retrained models, as a control, are found at a level of 0.99, or if nothing is found and
        models that forgot nothing are not either. The attack ``"both"`` does not count.
    attacks : DataFrame
        A row for each attack on the forgotten records: ``auc``, ``auc_low``, ``auc_high``,
        ``pvalue``, ``pvalue_adjusted``, ``tpr``, ``tpr_low``, ``tpr_high`` (at the requested false
        positive rate, over the records of all targets) and ``evidence``.
    controls : DataFrame
        The same numbers of models that forgot nothing (``"no-op"``), and of models that were
        retrained without the forgotten records (``"retraining"``), and whether they were ``found``.
    retained : DataFrame
        AUC that separates the training records that stay from records that were never seen,
        ``before`` and ``after``, and its ``change``: columns ``auc``, ``low``, ``high``,
        ``pvalue``. A positive change means that unlearning has exposed them more.
    aucs : DataFrame of shape (n_targets, n_columns)
        The AUC of each target model, by state (``before``, ``after``, ``retrained``) and attack,
        and for the retained records.
    scores : Series
        Mean accuracy of the targets on records that they have never seen, or coefficient of
        determination of regressors, in each state.
    seconds : Series
        Mean seconds of a training (``train``), of the unlearning (``unlearn``, unless nothing is
        forgotten) and of retraining (``retrain``, unless that is the unlearning).
    n_estimators, n_targets : int
        Numbers of shadow models and target models.
    n_forgotten, n_members : int
        Mean number of records that a model is to forget, and of its training records.
    n_unjudged : int
        Number of records without a shadow model that forgot them, or without one that has never
        seen them; they do not count.
    max_fpr, confidence_level : float
        Requested false positive rate of the TPRs, and level of all intervals.
    way : str
        What was played: the way of forgetting and the model.
    """

    evidence: str
    attacks: pd.DataFrame
    controls: pd.DataFrame
    retained: pd.DataFrame
    aucs: pd.DataFrame = field(repr=False)
    scores: pd.Series
    seconds: pd.Series = field(repr=False)
    n_estimators: int
    n_targets: int
    n_forgotten: int
    n_members: int
    n_unjudged: int
    max_fpr: float
    confidence_level: float
    way: str

    def summary(self) -> str:
        """Summarize the game in words and numbers.

        Returns
        -------
        text : str
        """
        evidence = _SENTENCES.get(self.evidence)
        if evidence is None:
            found = self.controls.loc["retraining", "found"].drop("both", errors="ignore")
            evidence = _UNKNOWN["retraining" if found.any() else "no-op"]
        controls = self.controls.assign(
            evidence=np.where(self.controls["found"], "found", "not found")
        )
        lines = [
            f"Unlearning game: {self.way}",
            f"{self.n_targets} target models and {self.n_estimators} shadow models; each forgets "
            f"{self.n_forgotten:,} of {self.n_members:,} records",
            evidence,
            "",
            f"{'':26}{'AUC':^22}TPR at {self.max_fpr:.3g} FPR",
            *("forgotten records", *_format_separations(self.attacks)),
            *("control: nothing forgotten", *_format_separations(controls.loc["no-op"])),
            *("control: retrained", *_format_separations(controls.loc["retraining"])),
            "retained records",
        ]
        for name, row in self.retained.iterrows():
            sign = "+" if name == "change" else ""
            auc, low, high = (format(row[one], f"{sign}.3f") for one in ("auc", "low", "high"))
            lines.append(f"  {name:<24}{auc} [{low}, {high}]")
        scores = (f"{state} {self.scores[state]:.3f}" for state in ("before", "after", "retrained"))
        lines.append(f"score on records never seen: {', '.join(scores)}")
        lines.append(f"intervals at {self.confidence_level:.6g}, over target models")
        if self.n_unjudged:
            records = count_nouns(self.n_unjudged, "record")
            do = inflect_word(self.n_unjudged, "does", "do")
            lines.append(f"{records} without shadow models {do} not count")
        return "\n".join(lines)


def _format_separations(table):
    for name, row in table.iterrows():
        auc, tpr = (
            f"{row[key]:.3f} [{row[f'{key}_low']:.3f}, {row[f'{key}_high']:.3f}]"
            for key in ("auc", "tpr")
        )
        yield f"  {_NAMES[name]:<24}{auc} {tpr}  {row['evidence']}"
