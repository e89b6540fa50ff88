"""The numbers of an attack for all records, groups and classes, curves, and exposed records."""

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from .._core.escaping import to_plain
from .._core.groups import read_names
from .._core.hashing import find_repeated_prints
from .._core.numbers import show
from .._core.splits import number_units
from ..metrics import (
    advantage_interval,
    auc_interval,
    check_resolution,
    compute_auc,
    count_points,
    find_highest,
    membership_roc_curve,
    number_side_people,
    operating_point,
    sizes_of_sides,
    split_people,
    tpr_limits,
)

OVERALL = "overall"
EVERYONE = "all"
CLASS = "class"
# Field of the records with the words of the user for their labels, if the model has others.
CLASS_NAME = "class_name"
MISSING = "(missing)"
EVERY_ROW = slice(None)

# A field with more values than this is probably an identifier or a number.
_MOST_GROUPS = 100

# Classes are listed without a request, unless there are more than this.
_MOST_CLASSES = 20


class RecordSubsets:
    """Parts of the records: (scope, group, mask), the records as a whole first.

    Masks of many groups would take many times the memory of their numbers, so a mask is made when
    its turn comes.
    """

    def __init__(self, n_records):
        self._n_records, self._scopes = n_records, []

    def add(self, scope, names, codes):
        """Add the parts of a scope, by the number of the group of each record."""
        codes = codes.astype(np.min_scalar_type(len(names)), copy=False)
        self._scopes.append((scope, [str(name) for name in names], codes))

    def __len__(self):
        return 1 + sum(len(names) for _, names, _ in self._scopes)

    def __iter__(self):
        yield OVERALL, EVERYONE, np.broadcast_to(np.True_, self._n_records)
        for scope, names, codes in self._scopes:
            for place, name in enumerate(names):
                yield scope, name, codes == place


def list_subsets(records, group, *, classes=False):
    """List the records as a whole, by the values of fields, and by class."""
    subsets = RecordSubsets(len(records))
    fields = [group] if isinstance(group, str) else [] if group is None else group
    if not isinstance(fields, list | tuple) or not all(isinstance(name, str) for name in fields):
        raise TypeError(f"group must name a field of the records, or several; got {show(group)}.")
    if OVERALL in fields:
        raise ValueError(
            f"group must not name a field {OVERALL!r}, because the report uses this name for all "
            "records."
        )
    for field in dict.fromkeys(fields):
        subsets.add(field, *_number_names(records, field))
    if classes and CLASS not in fields:
        labels = np.unique(records.y)
        if 2 <= len(labels) <= _MOST_CLASSES:
            texts = to_plain(_name_classes(records, labels))
            names, places = np.unique(texts, return_inverse=True)
            subsets.add(CLASS, names, places[np.searchsorted(labels, records.y)])
    return subsets


def _name_classes(records, labels):
    """Return the words of the user for each label, or the labels as the model has them."""
    words = records.fields.get(CLASS_NAME)
    if words is None:
        return list(map(str, labels))
    words, several = np.asarray(words).astype(str), " or "
    return [several.join(np.unique(words[records.y == label])) for label in labels]


def _number_names(records, field):
    """Return sorted names of the groups of a field, and the number of the group of each record."""
    values = pd.Series(read_names(records, field), dtype=object)
    missing = values.isna().to_numpy()
    if missing.all():
        raise ValueError(f"The field {field!r} has no value for any record.")
    names = to_plain([MISSING if none else _name(value) for value, none in zip(values, missing)])
    names, codes = np.unique(names, return_inverse=True)
    if len(names) > _MOST_GROUPS:
        raise ValueError(
            f"The field {field!r} has {len(names)} values; at most {_MOST_GROUPS} groups are "
            "reported, so put the values into bands."
        )
    return names, codes


def _name(value):
    """Return a value as text: 1.0, as a column with missing values has it, is the group 1."""
    is_whole = isinstance(value, float | np.floating) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def get_people(records, membership):
    """Return the person of each record if whole people were assigned to one side.

    People are the values of group_by. Without this field, equal records count as one person if none
    of them is on both sides: if records had been assigned one by one, some copies would be.

    Return people of shape (n,): person of each record; None if records were assigned one by one.
    """
    if "group_by" in records.fields:
        return records["group_by"]
    copied, is_mixed = find_repeated_prints(records.fingerprint, membership)
    return None if is_mixed.any() or not len(copied) else number_units(records.fingerprint)


COLUMNS = tuple(
    "attack scope group metric max_fpr estimate low high fpr fpr_low fpr_high n_members "
    "n_nonmembers status told".split()
)

OK = "ok"
NOT_RESOLVABLE = "not resolvable"
TOO_FEW = "too few records"

INTERVAL = ["estimate", "low", "high"]

# With a single member or non-member a rate is 0 or 1 and its interval nearly all of [0, 1].
FEWEST = 2


def find_equal(frame, **values):
    """Return where a frame has all of some values, in columns of texts, as a mask.

    Columns of Arrow take many times as long to be compared, and to be combined.
    """
    return np.all([frame[name].to_numpy() == value for name, value in values.items()], axis=0)


def find_overall(results, metric):
    """Return where the results are of a metric over all records that could be measured."""
    return find_equal(results, scope=OVERALL, metric=metric, status=OK)


def get_overall(results, metric):
    """Return the results of a metric over all records, where it could be measured."""
    return results[find_overall(results, metric)]


def list_rows(frame):
    """Return the rows of a frame as dicts, of which pandas makes each value by itself.

    The values of all columns at once: column after column takes several times as long.
    """
    names = frame.columns.tolist()  # of Arrow, which makes each name anew when it is asked for
    return [dict(zip(names, row)) for row in frame.to_numpy(object).tolist()]


def measure_attack(name, scores, guesses, case):
    """Measure one attack on all records and on each group."""
    rows, people = [], case.records.fields.get("group_by")
    for scope, group, mask in case.subsets:
        mask = EVERY_ROW if mask.all() else mask  # of all records, nothing is copied
        truth = case.membership[mask]
        n_members = int(truth.sum())
        n_nonmembers = len(truth) - n_members
        if min(n_members, n_nonmembers) < FEWEST:
            numbers = [_number(metric, status=TOO_FEW) for metric in ("auc", "advantage")]
            numbers += [_number("tpr", max_fpr=rate, status=TOO_FEW) for rate in case.fprs]
        else:
            groups = None if people is None else people[mask]
            settings = {"groups": groups, "confidence_level": case.level}
            numbers = _measure_subset(scores[mask], guesses[mask], truth, case.fprs, settings)
        counts = {"n_members": n_members, "n_nonmembers": n_nonmembers}
        rows += [{"attack": name, "scope": scope, "group": group, **counts, **n} for n in numbers]
    return rows


def widen(row):
    """Widen the intervals of a cross-fitted attack, as with half as many records.

    Each fold is judged by an attack that has learned from the others. Two folds that are alike by
    chance therefore count twice, and the numbers vary as with half as many records. Limits are
    moved on the log-odds scale; if the estimate is 0 or 1, by the binomial law instead.
    """
    start, span = (-1, 2) if row["metric"] == "advantage" else (0, 1)
    estimate, low, high = ((row[name] - start) / span for name in INTERVAL)
    if estimate == 0:
        high = 1 - (1 - high) ** 2
    elif estimate == 1:
        low = low**2
    else:
        center, *limits = logit(np.clip([estimate, low, high], 0, 1))
        low, high = expit(center + np.sqrt(2) * (limits - center))
    return {**row, "low": start + span * float(low), "high": start + span * float(high)}


def _number(metric, interval=(np.nan,) * 3, *, max_fpr=np.nan, fpr=(np.nan,) * 3, status=OK):
    numbers = dict(zip(INTERVAL, interval))
    rates = dict(zip(("fpr", "fpr_low", "fpr_high"), fpr))
    return {"metric": metric, "max_fpr": max_fpr, **numbers, **rates, "status": status}


def _measure_subset(scores, guesses, truth, fprs, settings):
    numbers = [
        _number("auc", auc_interval(truth, scores, **settings)),
        _number("advantage", advantage_interval(truth, guesses, **settings)),
    ]
    n_nonmembers = int(np.count_nonzero(truth == 0))
    for max_fpr in fprs:
        # Records of people are worth no more than as many independent ones, so a rate that these do
        # not resolve has no number, and its limits take longest.
        point = None
        if check_resolution(n_nonmembers, max_fpr, "ignore"):
            point = operating_point(truth, scores, max_fpr, on_unresolvable="ignore", **settings)
        if point is not None and point.resolvable:
            tpr = (point.tpr, point.tpr_low, point.tpr_high)
            fpr = (point.fpr, point.fpr_low, point.fpr_high)
            numbers.append(_number("tpr", tpr, max_fpr=max_fpr, fpr=fpr))
        else:
            numbers.append(_number("tpr", max_fpr=max_fpr, status=NOT_RESOLVABLE))
    return numbers


# Number of points that are kept of a curve; more would not be visible.
MOST_POINTS = 120
MOST_EXPOSED = 20


def compute_thin_curves(scores, membership, confidence_level, groups=None, judged=None):
    """Compute ROC curves, thinned evenly on logarithmic axes, each with a pointwise band."""
    tail = (1 - confidence_level) / 2
    people = number_side_people(groups, len(membership))
    curves = []
    for attack, values in scores.items():
        rows = list_judged(judged, attack, membership)
        values, truth = values[rows], membership[rows]
        if not len(truth):
            continue
        sides = split_people(None if people is None else people[rows], truth)
        n_members, n_nonmembers = (side.n_rows for side in sides)
        fpr, tpr, thresholds = membership_roc_curve(truth, values)
        kept = _thin_rates(fpr, n_nonmembers)
        counts = count_points(fpr, tpr, n_members, n_nonmembers)
        fpr, tpr, thresholds = fpr[kept], tpr[kept], thresholds[kept]
        sizes = sizes_of_sides(values, truth, sides, thresholds)
        low, high = tpr_limits(counts, fpr, tail, sizes=sizes)
        curve = {"fpr": fpr, "tpr": tpr, "low": low, "high": high}
        curve = {name: [round(float(one), 6) for one in array] for name, array in curve.items()}
        curves.append({"attack": attack} | curve)
    return curves


def _thin_rates(fpr, n_nonmembers):
    """Return the places of points at evenly spaced log rates, from one false positive to all."""
    wanted = np.geomspace(1 / n_nonmembers, 1, MOST_POINTS)
    places = np.searchsorted(fpr, wanted * (1 + 1e-9), side="right") - 1
    places = np.unique(places)
    return places[fpr[places] > 0]


def list_judged(judged, attack, membership):
    """Return which records an attack can judge, a slice or a mask; none if all are on one side."""
    is_whole = judged is None or np.all(judged[attack])
    rows = EVERY_ROW if is_whole else np.asarray(judged[attack])
    sides = membership[rows]
    return rows if sides.any() and not sides.all() else slice(0)


def list_exposed(scores, membership, record_ids, positions, judged=None):
    """List the members with the highest scores of the first attack, of those that it can judge."""
    if not scores:
        return []
    attack, values = next(iter(scores.items()))
    rows = list_judged(judged, attack, membership)
    is_judged = np.zeros(len(membership), dtype=bool)
    is_judged[rows] = True
    # With all that tie with the last, who are counted.
    top = find_highest(values, MOST_EXPOSED, membership & is_judged)
    equal = [np.count_nonzero(values[top] == values[row]) for row in top[:MOST_EXPOSED]]
    top, others = top[:MOST_EXPOSED], is_judged & ~membership
    above = [np.count_nonzero(others & (values >= values[row])) for row in top]
    return [
        {
            "record": record_ids[row],
            "position": int(positions[row]),
            "attack": attack,
            "score": values[row],
            "n_above": int(count),
            "n_equal": int(n_equal),
        }
        for row, count, n_equal in zip(top, above, equal)
    ]


def count_unlisted(exposed):
    """Return how many members are not listed, but as exposed as the last one that is."""
    last = exposed[-1] if exposed else {}
    if "n_equal" not in last:  # documents of before do not say it
        return 0
    return max(0, last["n_equal"] - sum(row["score"] == last["score"] for row in exposed))


def choose_usual(rates):
    """Return the rate of which is told, if no other decides; None without any."""
    usual = [rate for rate in rates if rate >= 0.01]
    return min(usual) if usual else max(rates, default=None)


def rank_attacks(scores, membership, judged=None):
    """Sort the scores by the AUC of their attack, the largest first."""

    def measure(attack):
        rows = list_judged(judged, attack, membership)
        sides = membership[rows]
        return compute_auc(sides, scores[attack][rows]) if len(sides) else -1.0

    return {name: scores[name] for name in sorted(scores, key=measure, reverse=True)}
