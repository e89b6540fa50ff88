"""What the thresholds of trees say of who was in the training data."""

from functools import partial
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import BaseDecisionTree, ExtraTreeClassifier, ExtraTreeRegressor

from .._core.sklearn import (
    read_categorical_columns,
    read_edges_of_boosting,
    read_sampling,
    read_trees_of_boosting,
)
from ._boosters import (
    OBLIVIOUS,
    ZERO,
    CatBoostTree,
    LightGBMTree,
    is_catboost,
    is_lightgbm,
    is_xgboost,
    load_catboost,
    load_lightgbm,
)
from ._model_features import (
    BAGS,
    BOOSTED,
    FORESTS,
    HISTOGRAMS,
    REDRAWN,
    REWEIGHTED,
    ModelReader,
    are_midpoints,
    choose_reader,
    find_model,
    open_model,
    read_features,
)
from ._node_equations.boosters import find_numbers, load_booster, mark_missing
from ._node_equations.equations import UNBALANCED, SpreadParts


def list_edges(model, X):
    """Edges of each column, and whether they are midpoints, judged by values of candidates.

    Of a file that was stripped of the edges, those that trees split at: they can be of any kind.
    """
    trees = read_trees_of_boosting(model)
    used = np.concatenate([one.nodes[one.nodes["is_leaf"] == 0] for one in trees])
    edges, kinds, of_categories = [], [], read_categorical_columns(model)
    for j, stored in enumerate(read_edges_of_boosting(model)):
        if of_categories[j]:  # these are codes of categories
            edges, kinds = [*edges, np.empty(0)], [*kinds, False]
            continue
        column = used["num_threshold"][used["feature_idx"] == j]
        edges.append(stored if len(stored) else np.unique(column[np.isfinite(column)]))
        kinds.append(bool(len(stored)) and are_midpoints(stored, X[:, j]))
    return edges, np.array(kinds)


# A threshold that was moved is taken to lie between two values with at most so many others between.
_MOST_PASSED = 12
# Share of thresholds that are explained as they were made, below which they were moved.
_LEAST_EXPLAINED = 0.1
# Values that more than this many members lie before are out of sight of a threshold, in nats.
_SIGHT = 30.0


class ThresholdRule(NamedTuple):
    """What a threshold is."""

    midpoints: bool  # whether it can be the midpoint of two consecutive values
    values: bool  # whether it can be a value
    tolerance: float = 0.0  # relative error of midpoints


MIDPOINT = ThresholdRule(midpoints=True, values=False)
VALUE = ThresholdRule(midpoints=False, values=True)
# Edges of histogram boosting; NumPy interpolates with a rounding of its own.
_ROUNDED = 4 * np.finfo(np.float64).eps
INNER_EDGE = ThresholdRule(midpoints=True, values=False, tolerance=_ROUNDED)
QUANTILE = ThresholdRule(midpoints=True, values=True, tolerance=_ROUNDED)
# Borders of CatBoost, whose midpoints are rounded to single precision.
SINGLE_MIDPOINT = ThresholdRule(
    midpoints=True, values=False, tolerance=np.finfo(np.float32).eps / 2
)


class SplitEvents(NamedTuple):
    """Thresholds of trees that were grown on one sample, and all that explains them.

    A threshold is explained by two values, or by one. Rows in the sample have these values, and no
    row in the sample has a value between them.
    """

    kept: float  # probability that a training row is in the sample
    # (n_entries,): candidate of each entry, and the place of its value among all.
    candidates: np.ndarray
    slots: np.ndarray  # (n_entries,)
    # (n_slots,): threshold that each value belongs to; values ascend within a threshold.
    of_slot: np.ndarray
    # (n_slots,): how many other people are expected to have the value, if all candidates were
    # members.
    others: np.ndarray
    # (n_pairs,): values that explain a threshold, the same twice for one alone; and the
    # threshold.
    lower: np.ndarray
    upper: np.ndarray  # (n_pairs,)
    of_pair: np.ndarray  # (n_pairs,)
    n_thresholds: int  # number of thresholds, and of those with an explanation
    n_explained: int
    # (n_pairs,): likelihood of each threshold, given that a pair explains it, up to a factor.
    weights: np.ndarray | float = 1.0
    # Number of the sample, the place of its tree in the model if each tree has its own.
    sample: int = 0

    @property
    def n_bytes(self):
        return sum(getattr(part, "nbytes", 0) for part in self)


def explain(nodes, rule, kept, columns, prior):
    """Find the values from which each threshold may have been computed."""
    event, entry, share = _look_around(nodes, columns, -_SIGHT / np.log1p(-kept * prior))
    values, rows = columns.values[entry], columns.rows[entry]
    new = np.ones(len(entry), dtype=bool)
    new[1:] = (values[1:] != values[:-1]) | (event[1:] != event[:-1])
    slots, first = np.cumsum(new) - 1, np.flatnonzero(new)
    of_slot, n_thresholds = event[first], len(nodes.thresholds)
    # Only a value that some candidate at the node has is one that other people may have there.
    known = np.bincount(slots, rows < columns.n_candidates) > 0
    others = columns.alike[entry[first]] * share[of_slot] * known
    lower, upper = _list_threshold_places(values[first], of_slot, nodes.thresholds, rule)
    n_explained, weights = len(np.unique(of_slot[lower])), 1.0
    if rule == MIDPOINT and n_explained < _LEAST_EXPLAINED * n_thresholds:
        # Predictions on all training rows stay only if none of them is passed over.
        lower, upper, weights = _list_gaps(values[first], of_slot, nodes.thresholds, known)
        kept = 1.0
    found = lower, upper, of_slot[lower], n_thresholds, n_explained, weights
    return _trim(SplitEvents(kept, rows, slots, of_slot, others, *found))


def _trim(events):
    """Leave out values beyond the outermost explanation, about which a threshold says nothing."""
    begin, end = np.full(events.n_thresholds, len(events.of_slot)), np.full(events.n_thresholds, -1)
    np.minimum.at(begin, events.of_pair, events.lower)
    np.maximum.at(end, events.of_pair, events.upper)
    places = np.arange(len(events.of_slot))
    used = (places >= begin[events.of_slot]) & (places <= end[events.of_slot])
    seen, moved = used[events.slots], np.cumsum(used) - 1
    return events._replace(
        candidates=events.candidates[seen],
        slots=moved[events.slots[seen]],
        of_slot=events.of_slot[used],
        others=events.others[used],
        lower=moved[events.lower],
        upper=moved[events.upper],
    )


def join_events(events):
    """Return the events of thresholds of one sample in different columns, joined."""
    if len(events) == 1:
        return events[0]
    of_slots = np.cumsum([0] + [len(one.of_slot) for one in events[:-1]])
    of_thresholds = np.cumsum([0] + [one.n_thresholds for one in events[:-1]])
    moved = [
        one._replace(
            slots=one.slots + s,
            of_slot=one.of_slot + t,
            lower=one.lower + s,
            upper=one.upper + s,
            of_pair=one.of_pair + t,
        )
        for one, s, t in zip(events, of_slots, of_thresholds, strict=True)
    ]
    names = "candidates", "slots", "of_slot", "others", "lower", "upper", "of_pair"
    joined = {name: np.concatenate([getattr(one, name) for one in moved]) for name in names}
    counts = "n_thresholds", "n_explained"
    joined |= {name: sum(getattr(one, name) for one in events) for name in counts}
    return events[0]._replace(**joined)


def _look_around(nodes, columns, reach):
    """Threshold and place of each value in sight, and the share of candidates at each node."""
    n_known = columns.n_candidates
    before = np.append(0, np.cumsum(columns.rows[nodes.places] < n_known))
    nearest, reach = before[nodes.splits], np.ceil(reach)
    low = np.maximum(nodes.starts, np.searchsorted(before, nearest - reach, side="right") - 1)
    stops = np.minimum(nodes.stops, np.searchsorted(before, nearest + reach))
    event, entry = np.repeat(np.arange(len(low)), stops - low), _expand_ranges(low, stops)
    return event, nodes.places[entry], (before[nodes.stops] - before[nodes.starts]) / n_known


def _list_threshold_places(values, event, thresholds, rule):
    """Return the places of the values that explain thresholds, lower and upper."""
    above = values > thresholds[event]
    n_slots = np.bincount(event, minlength=len(thresholds))
    n_below = np.bincount(event, ~above, minlength=len(thresholds)).astype(np.int64)
    stop = np.cumsum(n_slots)
    split = stop - n_slots + n_below
    lower, upper = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if rule.midpoints:
        left = np.flatnonzero(~above)
        own, wanted = event[left], thresholds[event[left]]
        slack = rule.tolerance * np.abs(wanted)
        low, high = split[own], stop[own]
        # Midpoints grow with the upper value: bisect for the first that is large enough.
        while np.any(low < high):
            middle = np.minimum((low + high) // 2, len(values) - 1)
            small = values[left] / 2 + values[middle] / 2 < wanted - slack
            searching = low < high
            low = np.where(searching & small, middle + 1, low)
            high = np.where(searching & ~small, middle, high)
        inside = low < stop[own]
        left, right, wanted, slack = left[inside], low[inside], wanted[inside], slack[inside]
        fits = np.abs(values[left] / 2 + values[right] / 2 - wanted) <= slack
        lower, upper = left[fits], right[fits]
    if rule.values:
        last = split[n_below > 0] - 1
        last = last[values[last] == thresholds[event[last]]]
        lower, upper = np.append(lower, last), np.append(upper, last)
    return lower, upper


def _list_gaps(values, event, thresholds, known):
    """Return all pairs of values on either side of thresholds that were moved within a gap.

    A threshold that is uniform in the gap between two values has the density of one over it.
    """
    above = values > thresholds[event]
    n_slots = np.bincount(event, minlength=len(thresholds))
    stop = np.cumsum(n_slots)
    start, split = stop - n_slots, stop - np.bincount(event, above, len(thresholds)).astype(int)
    before = np.append(0, np.cumsum(known))  # further records do not count for others
    lower = _expand_ranges(
        np.maximum(start, np.searchsorted(before, before[split] - _MOST_PASSED)), split
    )
    reach = before[split[event[lower]]] - before[lower + 1]
    beyond = before[split[event[lower]]] + _MOST_PASSED - reach + 1
    last = np.minimum(stop[event[lower]], np.searchsorted(before, beyond))
    upper = _expand_ranges(split[event[lower]], last)
    lower = np.repeat(lower, np.maximum(last - split[event[lower]], 0))
    gaps, least = values[upper] - values[lower], np.full(len(thresholds), np.inf)
    np.minimum.at(least, event[lower], gaps)
    return lower, upper, least[event[lower]] / gaps


def _expand_ranges(starts, stops):
    """Return all whole numbers of some ranges, one range after the other."""
    sizes = np.maximum(stops - starts, 0)
    return np.arange(sizes.sum()) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)


class SortedColumns:
    """Columns of a table, each sorted; the k-th value of column j has the place j n + k.

    Shapes: X (n, n_columns).
    """

    def __init__(self, X, n_candidates):
        self.n, self.X, self.n_candidates = len(X), X, n_candidates
        order = np.argsort(X, axis=0, kind="stable").T
        self._sorted = np.take_along_axis(X.T, order, axis=1).astype(np.float64)
        self.ranks = np.empty_like(order)
        np.put_along_axis(self.ranks, order, np.arange(self.n)[None], axis=1)
        self.n_present = np.isfinite(self._sorted).sum(axis=1)
        # By place: the value, whose it is, and how many other candidates have the same.
        self.values, self.rows = self._sorted.ravel(), order.ravel()
        self.alike = np.concatenate(
            [self._count_alike(*one) for one in zip(self._sorted, order, strict=True)]
        )

    def _count_alike(self, column, order):
        new = np.ones(len(column), dtype=bool)
        new[1:] = column[1:] != column[:-1]
        value = np.cumsum(new) - 1
        return np.maximum(np.bincount(value, order < self.n_candidates)[value] - 1, 0)

    def locate_splits(self, features, thresholds):
        """Return the number of values of a column up to a threshold."""
        splits = np.empty(len(features), dtype=np.intp)
        for j in np.unique(features):
            column, chosen = self._sorted[j, : self.n_present[j]], features == j
            splits[chosen] = np.searchsorted(column, thresholds[chosen], side="right")
        return splits


class SplitNodes(NamedTuple):
    """What some thresholds were chosen among."""

    # One segment of places in the sorted columns for each threshold, in ascending order.
    places: np.ndarray
    # (n_thresholds,): each segment, and in it the first value above the threshold.
    starts: np.ndarray
    splits: np.ndarray  # (n_thresholds,)
    stops: np.ndarray  # (n_thresholds,)
    thresholds: np.ndarray  # (n_thresholds,)
    features: np.ndarray  # (n_thresholds,)


def read_nodes(tree, columns, chosen=None):
    """Return candidates at each inner node of a tree of scikit-learn, sorted by what it splits on.

    chosen are the columns that the tree was given, all by default.
    """
    chosen = np.arange(columns.X.shape[1]) if chosen is None else np.asarray(chosen)
    node, row = climb_tree(tree, tree.apply(columns.X[:, chosen]))
    features = chosen[np.maximum(tree.feature, 0)]
    rank = columns.ranks[features[node], row]
    # A split of missing values from all others has no finite threshold.
    used = (rank < columns.n_present[features][node]) & np.isfinite(tree.threshold)[node]
    # A rank says which row it is: one sort of integers does all.
    key = np.sort(node[used] * columns.n + rank[used])
    cuts = np.arange(tree.node_count) * columns.n
    cuts = cuts + columns.locate_splits(features, tree.threshold)
    bounds = np.searchsorted(key, np.arange(tree.node_count + 1) * columns.n)
    inner = np.flatnonzero(np.diff(bounds))
    node = np.repeat(np.arange(tree.node_count), np.diff(bounds))
    return SplitNodes(
        key + (features - np.arange(tree.node_count))[node] * columns.n,
        bounds[inner],
        np.searchsorted(key, cuts[inner]),
        bounds[inner + 1],
        tree.threshold[inner],
        features[inner],
    )


def climb_tree(tree, leaves):
    """Return all pairs of an inner node and a row that came through it, from the leaf of each row.

    decision_path does not follow missing values in the oldest scikit-learn.
    """
    parent = np.full(tree.node_count, -1)
    inner = np.flatnonzero(tree.children_left >= 0)
    parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
    node, row = parent[leaves], np.arange(len(leaves))
    nodes, rows = [], []
    while len(row):
        above = node >= 0
        row, node = row[above], node[above]
        nodes.append(node)
        rows.append(row)
        node = parent[node]
    return np.concatenate(nodes), np.concatenate(rows)


def read_edges(features, thresholds, columns):
    """Return all candidates, for thresholds that were chosen among all training rows."""
    features, thresholds = np.asarray(features, dtype=np.intp), np.asarray(thresholds)
    starts = features * columns.n
    return SplitNodes(
        np.arange(columns.values.size),
        starts,
        starts + columns.locate_splits(features, thresholds),
        starts + columns.n_present[features],
        thresholds,
        features,
    )


def drop_repeated(nodes, columns):
    """Leave out thresholds that were chosen twice among the same candidates."""
    names = np.zeros(columns.n, dtype=np.int64)
    n_candidates = columns.n_candidates
    names[:n_candidates] = np.random.default_rng(0).integers(2**63, size=n_candidates)
    # Sums wrap around, and so do their differences.
    total = np.append(0, np.cumsum(names[columns.rows[nodes.places]]))
    among = total[nodes.stops] - total[nodes.starts]
    same = np.rec.fromarrays([nodes.features, nodes.thresholds, among])
    _, first = np.unique(same, return_index=True)
    return SplitNodes(nodes.places, *(part[first] for part in nodes[1:]))


def join_nodes(nodes):
    """Return the nodes of several trees, joined."""
    shift = np.cumsum([0] + [len(one.places) for one in nodes[:-1]])
    moved = [
        part._replace(starts=part.starts + s, splits=part.splits + s, stops=part.stops + s)
        for part, s in zip(nodes, shift, strict=True)
    ]
    return SplitNodes(*(np.concatenate(part) for part in zip(*moved, strict=True)))


_DRAWN = "they are drawn at random between the values of a node, and not computed from values"
_UNIFORM = "feature_border_type='Uniform' spaces them evenly, and does not compute them from values"
_CATEGORIES = "it splits on categories alone, which have no thresholds"
_TARGETS = "it splits on categories; encode them as numbers"


_EXTRA = ExtraTreesClassifier, ExtraTreesRegressor, ExtraTreeClassifier, ExtraTreeRegressor
_OF_MEMBERS = BAGS + REWEIGHTED + REDRAWN


def why_not_trees(model):
    if isinstance(model, _EXTRA) or getattr(model, "splitter", "best") != "best":
        return _DRAWN
    if hasattr(model, "samplers_"):
        return UNBALANCED
    for one in model.estimators_ if isinstance(model, _OF_MEMBERS) else ():
        if not isinstance(one, BaseDecisionTree):
            return f"it holds a {type(one).__name__}, and only decision trees are known"
        if why_not_trees(one) is not None:
            return _DRAWN
    most = model.max_samples if getattr(model, "bootstrap", False) else None
    if isinstance(most, Integral) and not read_sampling(model)[1]:
        return f"max_samples={most} leaves open of how many rows its samples are"
    return None


def why_no_histogram_splits(model):
    found = model.is_categorical_
    return _CATEGORIES if found is not None and all(found) else None


def why_no_xgboost_splits(model):
    learner, _ = load_booster(model)
    kind = learner["gradient_booster"]["name"]
    if kind != "gbtree":
        return f"its booster is {kind!r}, and only 'gbtree' is known"
    method = model.get_params().get("tree_method") or "auto"
    if method not in ("auto", "hist"):
        return f"tree_method={method!r} makes thresholds in a way that is not known"
    trees = learner["gradient_booster"]["model"]["trees"]
    of_numbers = any(find_numbers(tree).any() for tree in trees)
    of_categories = any(any(tree.get("split_type", ())) for tree in trees)
    return _CATEGORIES if of_categories and not of_numbers else None


def why_no_lightgbm_splits(model):
    text = load_lightgbm(model)
    of_numbers = any(tree["num_cat"] < len(tree["threshold"]) for tree in text.trees)
    return None if of_numbers or not any(t["num_cat"] for t in text.trees) else _CATEGORIES


def why_no_catboost_splits(model):
    stored = load_catboost(model)
    if OBLIVIOUS not in stored:
        return "its grow_policy is not 'SymmetricTree'"
    trees, options = stored[OBLIVIOUS], stored["model_info"]["params"]["data_processing_options"]
    splits = (one for tree in trees for one in tree.get("splits") or ())
    if any(one["split_type"] != "FloatFeature" for one in splits):
        return _TARGETS
    kind = options["float_features_binarization"]["border_type"]
    return _UNIFORM if kind == "Uniform" else None


_FORESTS = (RandomForestClassifier, RandomForestRegressor)


def replay_samples(model):
    """Draw the samples of a forest's trees again.

    Return drawn of shape (n_trees, n_rows).
    """
    model, _ = find_model(model)
    why = _why_not_sampled_replay(model)
    samples = None if why else _replay_tree_samples(model)
    if samples is None:
        why = why or "it does not store its seeds and the number of its training rows"
    # A tree may have been grown on a sample of its size; stripped trees state none.
    elif not all(
        tree.tree_.n_node_samples[0] in (0, len(np.unique(rows)), len(rows))
        for tree, rows in zip(model.estimators_, samples, strict=True)
    ):
        why = "their numbers of rows are not those that its trees state"
    if why is not None:
        raise ValueError(f"The samples of this {type(model).__name__} are not drawn again: {why}.")
    drawn = np.zeros((len(samples), 1 + max(map(np.max, samples))), dtype=bool)
    for tree, rows in enumerate(samples):
        drawn[tree, rows] = True
    return drawn


def _why_not_sampled_replay(model):
    if not isinstance(model, BAGS + _FORESTS):
        return "only random forests and bagged trees have samples that are known"
    if not model.bootstrap and model.max_samples in (None, 1.0):
        return "bootstrap=False, so that all of its trees were grown on all rows"
    return None


def _replay_tree_samples(model):
    """Return rows of each sample, or None if the model does not store from what they were drawn.

    Without a seed, a forest would draw other samples than its trees had.
    """
    if isinstance(model, _FORESTS) and not all(
        isinstance(tree.random_state, Integral) for tree in model.estimators_
    ):
        return None
    try:
        return model.estimators_samples_
    except (AttributeError, TypeError):
        return None


# Rows from which histogram boosting and CatBoost take edges; of more, they draw a sample.
_MOST_BINNED = 200_000


def has_split_thresholds(model):
    return _choose_reader(find_model(model)[0]) is not None


class ThresholdAllowance:
    """What the thresholds of a model may hold, and which of its trees were read."""

    def __init__(self, most=np.inf, chosen=None):
        # most: bytes; chosen: of a table that was read before, to read the same trees again
        self.most, self.chosen = most, {} if chosen is None else chosen
        self._is_fixed = chosen is not None

    def open(self, number, n_trees, n_bytes, share=1.0):
        """Whether a tree is read, given what those before it hold of a share of the memory."""
        if not self._is_fixed and "trees" not in self.chosen:
            self.chosen["trees"] = SpreadParts(n_trees, self.most * share)
        choice = self.chosen["trees"]
        return number in choice.read if self._is_fixed else choice.takes(number, n_bytes)

    def split(self, columns, n):
        """Return columns in blocks whose sorted values fit, given the number of rows."""
        size = self.most * _OF_COLUMNS / _BYTES_PER_CELL / max(n, 1)
        size = max(1, int(min(size, len(columns))))
        return [columns[start : start + size] for start in range(0, len(columns), size)]


# What a sorted column and the search in it hold for each value, in bytes.
_BYTES_PER_CELL = 80
# Shares of the memory that sorted columns, nodes, and explained thresholds may take; messages take
# the rest.
_OF_COLUMNS, _OF_NODES, _OF_EVENTS = 0.2, 0.2, 0.4


def read_split_thresholds(model, X, prior, further=None, allowance=None):
    """Return the thresholds of a model's trees, and the candidates' values that explain them.

    Shapes: X (n, ...), further (n_further, ...).
    """
    allowance = ThresholdAllowance() if allowance is None else allowance
    found, steps, reader = open_model(
        model,
        _choose_reader,
        "Thresholds are read from decision trees, random forests, bagged trees, AdaBoost, gradient "
        "boosting, histogram gradient boosting, XGBoost, LightGBM and CatBoost",
        "The thresholds of this {} are not read",
        repeats=True,
    )
    tables = [X] if further is None else [X, further]
    tables = [read_features(found, steps, table, absent=reader.absent) for table in tables]
    whole = tables[0] if further is None else np.concatenate(tables)
    groups = reader.read(found, whole, len(tables[0]), prior, allowance)
    return [events for events in groups if events.n_thresholds]


def _split_sampled_trees(model, X, n, prior, allowance):
    """Events of trees that each had their own sample, or all together if they had the same rows."""
    columns, stages = (
        SortedColumns(X.astype(np.float32), n),
        list(getattr(model, "estimators_", [model])),
    )
    chosen = getattr(model, "estimators_features_", [None] * len(stages))
    kept, read, n_bytes = _find_share(model), [], 0
    for k, (stage, some) in enumerate(zip(stages, chosen, strict=True)):
        if not allowance.open(k, len(stages), n_bytes, _OF_NODES if kept == 1 else _OF_EVENTS):
            continue
        nodes = join_nodes([read_nodes(tree.tree_, columns, some) for tree in np.ravel(stage)])
        if kept < 1:
            if np.size(stage) > 1:  # one tree splits no node twice
                nodes = drop_repeated(nodes, columns)
            found = explain(nodes, MIDPOINT, kept, columns, prior)._replace(sample=k)
            n_bytes += found.n_bytes
        else:
            found = nodes
            n_bytes += sum(part.nbytes for part in nodes)
        read.append(found)
    if kept < 1:
        return read
    return [explain(drop_repeated(join_nodes(read), columns), MIDPOINT, 1.0, columns, prior)]


def _find_share(model):
    """Return the probability that a training row was in the sample of a tree."""
    if isinstance(model, BOOSTED):
        return model.subsample
    if isinstance(model, REDRAWN):  # as many draws as rows, nearly as likely for one as another
        return -np.expm1(-1.0)
    if not isinstance(model, FORESTS + BAGS):
        return 1.0
    share = 1.0 if model.max_samples is None else model.max_samples
    if isinstance(share, Integral):
        share /= read_sampling(model)[1]
    return -np.expm1(-share) if model.bootstrap else share


def _read_histogram(model, X, n, prior, allowance):
    n_rows = read_trees_of_boosting(model)[0].nodes["count"][0]
    kept = min(1.0, _MOST_BINNED / max(n_rows, 1))
    (edges, inner), events = list_edges(model, X[:n]), []
    for rule, chosen in ((INNER_EDGE, inner), (QUANTILE, ~inner)):
        some = [edges[j] for j in np.flatnonzero(chosen)]
        features = np.repeat(np.flatnonzero(chosen), [len(one) for one in some])
        thresholds = np.concatenate([np.empty(0), *some])
        events.append(_explain_columns(features, thresholds, rule, kept, (X, n), prior, allowance))
    return events


def _explain_columns(features, thresholds, rule, kept, table, prior, allowance):
    """Events of thresholds that were chosen among all training rows, read in blocks of columns."""
    (X, n), events = table, []
    used = np.unique(features) if len(features) else np.arange(1)
    for some in allowance.split(used, len(X)):
        columns, inside = SortedColumns(X[:, some], n), np.isin(features, some)
        nodes = read_edges(np.searchsorted(some, features[inside]), thresholds[inside], columns)
        events.append(explain(nodes, rule, kept, columns, prior))
    return join_events(events)


def _split_xgboost(model, X, n, prior, allowance):
    trees = load_booster(model)[0]["gradient_booster"]["model"]["trees"]
    splits = [find_numbers(tree) for tree in trees]
    features, conditions = (
        np.concatenate([np.array(t[name])[s] for t, s in zip(trees, splits, strict=True)])
        for name in ("split_indices", "split_conditions")
    )
    table = mark_missing(model, X.astype(np.float32)), n
    conditions = conditions.astype(np.float32).astype(np.float64)
    return [_explain_edges(features, conditions, VALUE, 1.0, table, prior, allowance)]


def _explain_edges(features, thresholds, rule, kept, table, prior, allowance):
    """Return the events of thresholds that were chosen among all training rows, each once."""
    features, thresholds = np.unique(np.stack([features, thresholds]), axis=1)
    features = features.astype(np.intp)
    return _explain_columns(features, thresholds, rule, kept, table, prior, allowance)


def _split_lightgbm(model, X, n, prior, allowance):
    text = load_lightgbm(model)
    trees, n_binned = text.trees, int(text.settings["bin_construct_sample_cnt"])
    features, thresholds = (
        np.concatenate([tree[name] for tree in trees]) for name in ("split_feature", "threshold")
    )
    used = np.abs(thresholds) > ZERO
    used &= ~np.concatenate([LightGBMTree(tree).of_category for tree in trees])
    kept = min(1.0, n_binned / max(sum(trees[0]["leaf_count"]), 1))
    given = features[used], thresholds[used], INNER_EDGE, kept
    return [_explain_edges(*given, (X, n), prior, allowance)]


def _split_catboost(model, X, n, prior, allowance):
    stored = load_catboost(model)
    numbers = stored["features_info"]["float_features"]
    trees = [CatBoostTree(tree, numbers) for tree in stored[OBLIVIOUS]]
    features = np.concatenate([tree.columns for tree in trees])
    borders = np.concatenate([tree.borders for tree in trees])
    used = np.abs(borders) < np.finfo(np.float32).max  # others split off missing values
    kept = min(1.0, _MOST_BINNED / max(sum(trees[0].counts), 1))
    borders = borders[used].astype(np.float64)
    given = features[used], borders, SINGLE_MIDPOINT, kept
    return [_explain_edges(*given, (X.astype(np.float32), n), prior, allowance)]


# ``read(model, X, n, prior, allowance)`` takes features of n candidates first. It returns a list
# of Events, one for each sample that trees were grown on.
_READERS = {
    (BaseDecisionTree, *FORESTS, *BOOSTED, *_OF_MEMBERS): ModelReader(
        _split_sampled_trees, why_not_trees
    ),
    HISTOGRAMS: ModelReader(_read_histogram, why_no_histogram_splits),
    is_xgboost: ModelReader(_split_xgboost, why_no_xgboost_splits, absent=np.nan),
    is_lightgbm: ModelReader(_split_lightgbm, why_no_lightgbm_splits),
    is_catboost: ModelReader(_split_catboost, why_no_catboost_splits),
}
_choose_reader = partial(choose_reader, readers=_READERS)
