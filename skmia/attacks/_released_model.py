"""The attack on a released model by everything that its file offers."""

import re
from copy import copy
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR
from sklearn.tree import BaseDecisionTree

from .._core.budget import describe_lack, is_of_memory, why_over
from .._core.kinds import is_classifier
from .._core.needs import ANY, Needs
from .._core.probabilities import posterior_of
from .._core.query import unwrap
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions
from .._core.types import Seed
from .._core.validation import require_victim
from ..base import BaseAttack, offer_of, why_not
from ..victims import (
    PARTS_OF_FILES,
    InnerModel,
    find_model,
    has_stored_sums,
    iter_inner_models,
    read_state,
)
from ._file_attack import allow_bytes_for_file, choose_offset, expect_auc
from ._moments import MomentsAttack
from ._node_equations import NodeEquationsAttack
from ._split_threshold import SplitThresholdAttack
from ._stationarity import StationarityAttack
from ._stored_values import StoredValuesAttack

# Kinds of arrays that do not depend on the data, or only by labels and names of columns.
_NOT_DATA = ("labels", "names", "seeds")
_COLUMNS = {"_n_features_outs"}
# Which columns go to which step of a ColumnTransformer: the table's columns decide, not its rows.
_OF_STEPS = {"_columns", "_transformer_to_input_indices"}

_FORESTS = (
    RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor,
)  # fmt: skip
# All that a tree stores beside its thresholds: the number of outputs, splits, counts, values.
_OF_TREES = {
    "tree_", "left_child", "right_child", "feature", "missing_go_to_left", "values",
    "n_node_samples", "weighted_n_node_samples",
}  # fmt: skip
# Beside coefficients, an optimum determines its scale and its strength of the penalty. Gaps and
# counts of rounds say how near the solver came.
_OF_OPTIMA = {
    "coef_", "intercept_", "n_iter_", "scale_", "alpha_", "lambda_", "l1_ratio_", "C_", "dual_gap_",
}  # fmt: skip
_OF_THRESHOLDS = {"threshold"}
_VERBATIM = ("rows", "values")


class FileEntry(NamedTuple):
    """Numbers of one name that a file stores, in all its estimators of one kind.

    Attributes
    ----------
    place : str
        Such as ``"coefs_ of MLPClassifier"``.
    size : int
        How many numbers or texts there are; 0 of an object that cannot be looked into.
    part : str or None
        Name of the part that reads them; None if none does.
    """

    place: str
    size: int
    part: str | None


def make_ledger(victim, parts):
    """List all stored arrays that depend on the data, and the part that reads each.

    Parameters of constructors, labels of classes, names of columns and seeds are left out.
    """
    whole_file = parts.get(_STORED)
    state = read_state(victim) if whole_file is None else whole_file.state_
    owners = {one.path: one.estimator for one in reversed(state.estimators)}
    whole = min(owners, key=len, default="")
    parameters = {path: _list_parameters(owner) for path, owner in owners.items()}
    # Attacks on models inside the victim are wrapped, and their names end with a path.
    parts = {name: getattr(part, "attack_", part) for name, part in parts.items()}
    reads = [
        (name.partition(" in ")[0], *read)
        for name, part in parts.items()
        for read in _list_reads(part)
    ]
    verbatim = None if whole_file is None else _STORED
    sizes = {}
    for stored in state.arrays:
        inside, attribute, name = _locate_array(stored.path, owners, whole)
        owner = owners[inside]
        if stored.kind in _NOT_DATA or name in _COLUMNS or attribute in parameters[inside]:
            continue
        if type(owner) is ColumnTransformer and attribute in _OF_STEPS:
            continue
        part = next((part for part, one, own in reads if one is owner and name in own), None)
        if part is None and stored.kind in _VERBATIM:
            part = verbatim
        key = f"{name} of {type(owner).__name__}", part
        sizes[key] = sizes.get(key, 0) + int(np.prod(stored.array.shape))
    entries = [FileEntry(place, size, part) for (place, part), size in sizes.items()]
    entries += [FileEntry(place, 0, None) for place in state.unread]
    return sorted(entries, key=_rank_entry)


def _rank_entry(entry):
    name = entry.place.split(" of ")[0]
    return name.startswith("_") or not name.endswith("_"), -entry.size, entry.place


def _locate_array(path, owners, whole):
    """Path of the innermost estimator that holds an array, its attribute, and the last name."""
    ends = [found.start() for found in re.finditer(r"[.\[]|\Z", path)]
    inside = next((path[:end] for end in reversed(ends) if path[:end] in owners), whole)
    names = re.findall(r"[A-Za-z_]\w*", path.removeprefix(inside).removesuffix(".keys()"))
    return inside, names[0] if names else path, names[-1] if names else path


def _list_parameters(estimator):
    try:
        return set(estimator.get_params(deep=False))
    except Exception:  # whatever a foreign model does: all that it stores counts
        return set()


def _list_reads(part):
    """Yield the estimators that a part reads, with the names of what it reads all of."""
    if isinstance(part, MomentsAttack):
        yield from part.sources_
    elif isinstance(part, StationarityAttack):
        model = find_model(part.victim)[0]
        if not isinstance(model, SVC | SVR):
            yield model, _OF_OPTIMA
    elif isinstance(part, NodeEquationsAttack):
        yield from _list_read_trees(part)
    elif isinstance(part, SplitThresholdAttack):
        for tree, _ in _list_read_trees(part):
            yield tree, _OF_THRESHOLDS


def _list_read_trees(part):
    """Yield trees that a part has read, without those that memory did not suffice for."""
    chosen = part._chosen.get("trees")
    for number, tree in enumerate(_list_equation_trees(find_model(part.victim)[0])):
        if chosen is None or number in chosen.read:
            yield tree


def _list_equation_trees(model):
    """Yield trees whose counts, values and impurities all are equations of the nodes."""
    if isinstance(model, BaseDecisionTree):
        yield model, _OF_TREES | {"impurity"}
    elif isinstance(model, _FORESTS):
        # The impurity of classes follows from their shares; that of targets is not read.
        further = {"impurity"} if is_classifier(model) else set()
        for tree in model.estimators_:
            yield tree, _OF_TREES | further


_EQUATIONS, _SUMS, _STORED = "node equations", "moments", "stored values"
_PARTS = {
    _EQUATIONS: NodeEquationsAttack,
    "split thresholds": SplitThresholdAttack,
    "conditions at the optimum": StationarityAttack,
    _SUMS: MomentsAttack,
    _STORED: StoredValuesAttack,
}
# Names of the parts by what they need of a file, in the terms of Needs.
_NAME_OF = dict(zip(("nodes", "thresholds", "optimum", "sums"), _PARTS, strict=False))


class ReleasedModelAttack(BaseAttack):
    r"""Attack a released model by everything that its file offers.

    The attack combines several parts, each of which reads different contents of the file. If the
    model contains other fitted models, such as a calibrated, voting or stacking classifier, each of
    them is attacked with the rows, columns and labels that it was fitted on, with the same
    settings. :func:`skmia.audit` uses this attack to measure what a model reveals *as a file*.

    Parameters
    ----------
    victim : fitted estimator
        Model whose file is attacked.
    outsiders : float or "auto", default="auto"
        Share of the training rows that are not among the candidates, in [0, 1). With ``"auto"``, it
        is 0, or estimated if the equations of nodes contradict each other, see
        :class:`NodeEquationsAttack`.
    prior : float, default=0.5
        Share of members among the candidates, in (0, 1).
    max_bytes : float or "auto", default="auto"
        Maximum memory of each part in addition to the candidates, in bytes. A part that would need
        more reads some of the trees, spread evenly, and warns, or is left out, see ``left_out_``.
        With ``"auto"``, it is ten times the size of the table, at least 500 MB and at most 1 GB.
    max_seconds : float, default=None
        Maximum time of the propagation by which a part solves its equations, in seconds on one
        core, as expected from their number. Equations of linear models that would take longer are
        solved with bounds in place of it, which is weaker, and ``fit`` warns.
    random_state : int, RandomState instance or None, default=None
        Controls what is random in the parts. Pass an int for reproducible results.

    Attributes
    ----------
    parts_ : dict of str to attack
        The fitted parts that can read the file: ``"node equations"``
        (:class:`NodeEquationsAttack`), ``"split thresholds"`` (:class:`SplitThresholdAttack`),
        ``"conditions at the optimum"`` (:class:`StationarityAttack`), ``"moments"``
        (:class:`MomentsAttack`) and ``"stored values"`` (:class:`StoredValuesAttack`).
    left_out_ : dict of str to str
        Parts that cannot read this model although they read models of this kind, or would need too
        much memory, with the reason.
    ledger_ : DataFrame
        All numbers in the file that depend on the training data, one row for each name and kind of
        estimator: ``place``, ``size`` and ``part``, the name of the part that reads them, or None
        if no part does.
    expected_auc_ : float or None
        Expected AUC if the scores, to which all parts add, are log likelihood ratios, or that of a
        part if it is larger: a lower bound for trees grown on samples, and up to 0.1 too high if
        some training rows are not among the candidates. None if one of the parts that read
        something has no expected AUC.
    outsiders_ : float
        Share of the training rows that are assumed not to be among the candidates.
    is_combined_ : bool
        Whether the node equations are solved with the other evidence as their prior. If they fit
        worse with this prior, the evidence contradicts them, and they are solved without it. The
        evidence is summed in either case.
    offset_ : float
        Threshold of the score; without ``membership`` the least one above 0 that at most 5% of the
        non-members reach, which ``predict`` flags (up to 10% if a fifth of the training rows are
        not among the candidates), and at least that of :class:`StoredValuesAttack` if it finds
        anything.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    TypeError
        If the victim is a function or service, which has no file.
    ValueError
        If no part can read the file.

    See Also
    --------
    NodeEquationsAttack, SplitThresholdAttack, StationarityAttack, MomentsAttack : Parts.
    StoredValuesAttack : The part that searches rows and values.

    Notes
    -----
    The evidence of the parts about a record is summed. Evidence from thresholds and from values
    that are stored is the prior of the node equations, which decide where they are exact. Support
    vectors are evidence in two parts, which agree. The score ranks records and is not a calibrated
    likelihood ratio; see :func:`skmia.metrics.conformal_pvalues` for statements about single
    records that hold at a given level.

    The models inside of these are attacked: Pipeline, ColumnTransformer and FeatureUnion, searches,
    CalibratedClassifierCV, voting, stacking, OneVsRestClassifier, OneVsOneClassifier,
    OutputCodeClassifier, TransformedTargetRegressor, bagging of other models than trees, feature
    selection by a model, classifiers with a chosen threshold, and MultiOutputClassifier in a
    :class:`~skmia.victims.OneOutput`. Their log likelihood ratios are summed. A model that was
    fitted on a share :math:`\kappa` of the training rows, and whose file gives the ratio :math:`l`
    of having been among its rows, gives :math:`\log(\kappa e^l + 1 - \kappa)`. Of K models of a
    cross-validation, each training row was left out by exactly one, so together they give
    :math:`\log \frac{1}{K} \sum_j \exp(\sum_{k \ne j} l_k)`. The last model of a stack was fitted
    on predictions of models that the file does not hold, so it is not read.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from skmia.attacks import ReleasedModelAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(600, random_state=0)
    >>> members = records[membership == 1]
    >>> model = HistGradientBoostingClassifier(max_iter=40).fit(members.X, members.y)
    >>> attack = ReleasedModelAttack(model).fit(records)
    >>> sorted(attack.parts_)
    ['node equations', 'split thresholds', 'stored values']
    >>> bool(attack.score(records, membership) > 0.95)
    True
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "outsiders": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "prior": [Interval(Real, 0, 1, closed="neither")],
        "max_bytes": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "max_seconds": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        outsiders: float | Literal["auto"] = "auto",
        prior: float = 0.5,
        max_bytes: float | Literal["auto"] = "auto",
        max_seconds: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.outsiders = outsiders
        self.prior = prior
        self.max_bytes = max_bytes
        self.max_seconds = max_seconds
        self.random_state = random_state

    def _needs(self):
        return Needs(ANY, access=frozenset({"file"}))

    def _fit(self, records, membership):
        require_victim(self.victim, "ReleasedModelAttack", "the fitted model itself")
        self.parts_, self.left_out_ = {}, {}
        is_given = self.max_bytes != "auto"
        self._allowed = float(self.max_bytes) if is_given else allow_bytes_for_file(records)
        whole = _FileEvidence(self, InnerModel("", unwrap(self.victim), records.X, records.y))
        whole.fit(self.victim, records, _PARTS)
        self._inner = []
        self._look_inside(records)
        fitted = [whole, *self._inner]
        if not any(one.attacks for one in fitted):
            raise ValueError(
                f"No attack can read the file of {type(unwrap(self.victim)).__name__}. "
                f"{' '.join(self.left_out_.values())}".rstrip()
                + " ThresholdAttack and LiRA read its answers."
            )
        self._whole = whole
        self.is_combined_ = any(one.is_combined for one in fitted)
        equations = [one for one in fitted if _EQUATIONS in one.attacks]
        shares = [one.outsiders for one in equations]
        self.outsiders_ = float(np.mean(shares)) if shares else whole.outsiders
        sums = [one for one in fitted if _SUMS in one.attacks]
        self.n_rows_ = _count_stated_rows(equations, _EQUATIONS) or _count_stated_rows(sums, _SUMS)
        for one in fitted:
            one.list_parts(self)
        ledger = make_ledger(self.victim, self.parts_)
        columns = {name: [getattr(row, name) for row in ledger] for name in FileEntry._fields}
        self.ledger_ = pd.DataFrame(columns, dtype=object)
        self.expected_auc_ = self._expect(records)

    def _expect(self, records):
        """Return the AUC that follows from the scores.

        None if a part that reads something states none.
        """
        names = set(self.ledger_["part"]) - {None}
        parts = [part for name, part in self.parts_.items() if name.partition(" in ")[0] in names]
        aucs = [getattr(part, "expected_auc_", None) for part in parts]
        if not aucs or None in aucs:
            return None
        found = expect_auc(posterior_of(self._score_samples(records), self.prior))
        # What sums say of all members does not depend on scores, which may be wrong.
        return max(found, *aucs) if all(one.share == 1 for one in self._inner) else found

    def _look_inside(self, records):
        """Fit the attacks on the models inside the victim, as far as they can be followed."""
        main, regions = find_model(self.victim)[0], []
        try:
            for inner in iter_inner_models(self.victim, records.X, records.y):
                # Sums of models that were fitted on the same rows are solved together.
                is_first = _starts_region(inner, regions)
                if inner.path and inner.model is not main:
                    self._fit_inner(inner, is_first)
        except NotFittedError:
            raise
        except (TypeError, ValueError) as error:  # of a step that does not take the candidates
            self.left_out_["models inside"] = " ".join(str(error).split())

    def _fit_inner(self, inner, is_first):
        readable = _list_readable(inner.model)
        kinds = {name: kind for name, kind in _PARTS.items() if name in readable and name != _SUMS}
        if is_first and has_stored_sums(inner.model):
            kinds[_SUMS] = MomentsAttack
        if inner.X is None and not kinds:
            kinds = {_STORED: StoredValuesAttack}
        allowed = _PARTS if inner.reads is None else [_NAME_OF[word] for word in inner.reads]
        for name in list(kinds):
            if name not in allowed:
                self.left_out_[_name_in_path(name, inner.path)] = inner.why
                del kinds[name]
        if not kinds:
            return
        one = _FileEvidence(self, inner)
        y = inner.y
        if y is None:  # thresholds do not depend on labels
            y = np.zeros(inner.X.shape[0])
        one.fit(inner.model, Records(inner.X, y), kinds)
        if one.attacks:
            self._inner.append(one)

    def _score_samples(self, records):
        total = self._whole.score(records)
        if not self._inner:
            return total
        models = iter_inner_models(self.victim, records.X, records.y)
        wanted = {one.path: one for one in self._inner}
        ratios = {
            inner.path: wanted[inner.path].spread(inner, len(records))
            for inner in models
            if inner.path in wanted
        }
        return total + sum(_join_fold_ratios(some, ratios) for some in _list_groups(self._inner))

    def _natural_offset(self, records):
        stored = [part for name, part in self.parts_.items() if name.startswith(_STORED)]
        hits = [part.offset_ for part in stored if len(part.found_)]
        return np.max([choose_offset(self._score_samples(records), self.prior), *hits])


class InnerAttack:
    """An attack on a model inside the victim, which takes records as the victim does.

    Attributes
    ----------
    attack_ : attack
        The attack, fitted on candidates as they reach the model.
    path : str
        Path of the model in the victim.

    Further attributes are those of the attack.
    """

    def __init__(self, attack, evidence, victim):
        self.attack_, self.path = attack, evidence.path
        self._evidence, self._victim = evidence, victim

    def __getattr__(self, name):
        if name.startswith("__") or "attack_" not in vars(self):
            raise AttributeError(name)
        return getattr(self.attack_, name)

    def score_samples(self, X: Records) -> np.ndarray:
        """Return the log likelihood ratio of membership in the training data of the victim."""
        for inner in iter_inner_models(self._victim, X.X, X.y, only=self.path):
            if inner.path == self.path:
                return self._evidence.spread(inner, len(X), self.attack_, alone=True)
        raise ValueError(f"The victim has no model at {self.path}.")


class _FileEvidence:
    """The attacks that read one fitted model, the victim or one inside it, and their sum."""

    def __init__(self, attack, inner):
        self._settings, self.path = attack, inner.path
        self.kept, self.fold, self.has_all = inner.kept, inner.fold, inner.rows is None
        self.share = inner.share
        self.attacks, self.is_combined = {}, False
        self.outsiders = 0.0 if attack.outsiders == "auto" else float(attack.outsiders)

    def fit(self, victim, records, kinds):
        offer = offer_of(victim)
        for name, kind in kinds.items():
            part = self._make(kind, victim)
            if why_not(part, offer) is None:
                self._try(name, part, records)
            if name == _EQUATIONS and name in self.attacks:
                self.outsiders = part.outsiders_
        self._combine(records)

    def _make(self, kind, victim):
        if kind is StoredValuesAttack:
            return kind(victim)
        settings = self._settings
        # The equations of nodes come first, and estimate the share for the other parts.
        outsiders = settings.outsiders if kind is NodeEquationsAttack else self.outsiders
        part = kind(victim, outsiders=outsiders, prior=settings.prior * self.share)
        part._allowed = settings._allowed
        if settings.max_seconds is not None:
            part._allowed_seconds = float(settings.max_seconds)
        has_seed = "random_state" in part.get_params(deep=False)
        return part.set_params(random_state=settings.random_state) if has_seed else part

    def _try(self, name, part, records):
        left_out, name_of = self._settings.left_out_, _name_in_path(name, self.path)
        try:
            why = why_over(part._estimate_cost(records), self._settings._allowed)
            if why is None:
                self.attacks[name] = part.fit(records)
            else:
                left_out[name_of] = f"{_capitalize(why)}; max_bytes allows more."
        except NotFittedError:
            raise
        except (TypeError, ValueError) as error:  # settings of the model that no equation covers
            left_out[name_of] = " ".join(str(error).split())
        except Exception as error:
            if not is_of_memory(error):
                raise
            left_out[name_of] = f"{_capitalize(describe_lack(error))}."

    def _combine(self, records):
        equations = self.attacks.get(_EQUATIONS)
        others = [part for part in self.attacks.values() if part is not equations]
        # The part itself stays as it is, to be compared with the whole.
        part, equations = equations, copy(equations)
        if equations is not None:
            if others:
                self.is_combined = self._solve_again(equations, others, records)
            part.drop_inverter()
            equations.drop_inverter()
        self._used = others if equations is None else [equations, *others]

    def _solve_again(self, equations, others, records):
        try:
            return equations.solve_again(records, _sum(others, records))
        except MemoryError as error:  # the solution without the other evidence stands
            name = f"{_EQUATIONS} with the other evidence"
            self._settings.left_out_[_name_in_path(name, self.path)] = (
                f"{_capitalize(describe_lack(error))}."
            )
            return False

    def list_parts(self, attack):
        """Enter the attacks among the parts of the whole attack."""
        del self._settings
        for name, part in self.attacks.items():
            inner = InnerAttack(part, self, attack.victim) if self.path else part
            attack.parts_[_name_in_path(name, self.path)] = inner

    def score(self, records):
        return _sum(self._used, records) if self._used else np.zeros(len(records))

    def spread(self, inner, n, attack=None, *, alone=False):
        """Return what the model says of having been among its rows, for all of n records.

        With alone, what it says of having been among the rows of the victim.
        """
        y = np.zeros(inner.X.shape[0]) if inner.y is None else inner.y
        records, ratios = Records(inner.X, y), np.zeros(n)
        found = self.score(records) if attack is None else attack.score_samples(records)
        ratios[slice(None) if inner.rows is None else inner.rows] = found
        return _from_sample(ratios, self.share) if alone else ratios


def _starts_region(inner, regions):
    """Whether a model is the first of those that were fitted on the same rows, and note it."""
    around = [one for one in regions if inner.path.startswith(f"{one.path}.") or not one.path]
    if around:
        last = around[-1]
        same = (inner.kept, inner.fold, inner.reads) == (last.kept, last.fold, last.reads)
        if same and (inner.rows is last.rows or np.array_equal(inner.rows, last.rows)):
            return False
    regions.append(inner)
    return True


def _list_readable(model):
    """Return names of the attacks that read models of the kind of one, apart from stored values."""
    if isinstance(model, Pipeline) or hasattr(model, "best_estimator_"):
        return []  # the model at its end is one of its own
    return [_NAME_OF[word] for word, is_known in PARTS_OF_FILES.items() if is_known(model)]


def _name_in_path(name, path):
    return f"{name} in {path}" if path else name


def _capitalize(sentence):
    return sentence[:1].upper() + sentence[1:]


def _from_sample(ratios, kept):
    """Return the log likelihood ratio of membership from one of being among a share of the rows."""
    if kept >= 1:
        return ratios
    return np.log(kept) + np.logaddexp(ratios, np.log1p(-kept) - np.log(kept))


def _list_groups(evidence):
    """Return the models of the folds of one cross-validation together, all others alone."""
    groups = {}
    for one in evidence:
        groups.setdefault(one.path if one.fold is None else one.fold.group, []).append(one)
    return list(groups.values())


def _join_fold_ratios(group, ratios):
    """Log likelihood ratio of membership from models that were fitted without one fold each.

    A training row was left out by one of them, each with the same probability.
    """
    fold, kept = group[0].fold, group[0].kept
    if fold is None:
        return _from_sample(ratios[group[0].path], kept)
    left = np.zeros((fold.n_folds, len(ratios[group[0].path])))
    for one in group:
        left[one.fold.number] += ratios[one.path]
    return _from_sample(logsumexp(left.sum(axis=0) - left, axis=0) - np.log(fold.n_folds), kept)


def _count_stated_rows(evidence, part):
    """Return the number of training rows by the first models that state it to a part, or None."""
    stated = [one for one in evidence if one.has_all and one.attacks[part].n_rows_]
    for group in _list_groups(stated):
        return round(np.mean([one.attacks[part].n_rows_ / one.share for one in group]))
    return None


def _sum(parts, records):
    return np.sum([part.score_samples(records) for part in parts], axis=0)
