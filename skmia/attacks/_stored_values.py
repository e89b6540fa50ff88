"""Attack that searches the file of a model for records."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from .._core.asking import check_fitted, unwrap
from .._core.needs import ANY, Needs
from ..base import BaseAttack
from ..victims import read_state
from ..victims.offers import has_file
from ._stored_ledger import Ledger
from ._stored_lists import StoredLists
from ._stored_search import Column, ViewStats, list_columns, make_places, search
from ._stored_views import make_views


class StoredValuesAttack(BaseAttack):
    r"""Search the arrays that a released model stores for rows and values of candidates.

    Many estimators store training data unchanged: nearest neighbors, Gaussian processes and support
    vector machines store rows, encoders and quantile transformers store values by column, and
    regression trees store targets. The attack reads the state of the fitted model and compares it
    with known candidates. It does not query the model, trains nothing and needs no known members.

    Parameters
    ----------
    victim : fitted estimator
        Model or transformer whose file is attacked, in a
        :class:`~sklearn.frozen.FrozenEstimator`.

    Attributes
    ----------
    found_ : DataFrame
        One row for each candidate of ``fit`` with a stored value, or a stored whole row, that would
        be stored without the record with a probability of at most 1/2. The index is the position of
        the candidate. Columns: ``place``, paths of the arrays; ``view``, ``"raw"`` or the steps of
        a Pipeline that the record went through before it was found; ``columns``, names of the
        columns of the view, with ``"y"`` for the target of a regressor and ``"all"`` for a whole
        row; ``whole_row``; ``score``.
    places_ : DataFrame
        One row for each stored array and view with a hit: ``place``, ``view``; ``n_rows``, the
        number of candidates whose whole row is stored; ``n_values``, the number of their values
        that are stored; ``expected_rows`` and ``expected_values``, the numbers expected for records
        that were not used. A number near the expected one is not evidence, and a larger one is not
        proof. Words of texts in a vocabulary are values of the view ``"words"``.
    absent_ : Series
        Number of words or categories of each candidate that a vocabulary or encoder does not list,
        of candidates with one. Such a candidate was not among its training rows.
    state_ : ModelState
        State of the model.
    offset_ : float
        Threshold of the score; without ``membership``, :math:`\log(n + 1) / 2` for n candidates.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    TypeError
        If the victim is a function or service, which has no file.
    ValueError
        If the model does not store any array.

    See Also
    --------
    skmia.victims.read_state : Lists the arrays.

    Notes
    -----
    The evidence of a stored value v that c of the n candidates have is

    .. math:: -\log \max(1 - (1 - s)\, 2^{-(c - 1)},\ 1 / (n + 1)),

    minus the logarithm of the probability that v would be stored without the record. Either v
    equals a stored number by accident, with probability s, which is the share of the numbers of the
    same precision between the smallest and the largest value of the column that are stored; or one
    of the c - 1 other candidates with this value was used, each with probability 1/2. The score of
    a record is the sum over its columns, each at the place with the strongest evidence. The score
    of a record whose whole row is stored is :math:`(p + 1) \log(n + 1)` for its p columns plus the
    evidence of the row, which is more than single values can give. For a row, c counts equal rows,
    and s is the number of distinct stored rows times the product of the frequencies of its values
    among the candidates. A row does not count if s is 1/2 or more, or if each column of the array
    is sorted, as in quantiles. The score is 0 if nothing of a record is stored. The sum treats
    columns as independent, so the score ranks records and is not a calibrated likelihood ratio.

    Arrays of a kind that is not known, such as sizes and version numbers, can hold values of a
    coarse column by accident. If w is the share of the values found in such an array beyond those
    expected by accident and one more, their evidence is :math:`-\log(1 - w + w p)` for the
    probability p above.

    A ``CountVectorizer`` lists the words of all training texts, and an encoder all categories of
    its columns, unless a list was given to them. Each word or category of a candidate that is not
    listed lowers its score by :math:`\log(n + 1)`. For a word that c candidates have, the score
    takes the log likelihood ratio of being listed, or not, if half of the other c - 1 candidates
    are members; ``min_df`` and ``max_df`` are taken into account, and a list that ``max_features``
    has cut is not read.

    Numbers are compared in float64, or after rounding to float32 if the stored numbers have that
    precision. The attack searches for raw rows and values, and for all that a model computes of a
    record on its way: columns after each step of a Pipeline and in each part of a ColumnTransformer
    or FeatureUnion, also inside a search, vote, stack or calibration; scores before an isotonic
    calibration, which keeps some of them in its knots; and transformed targets. A step is not
    searched for the columns that it has computed. Thresholds of trees are not values of records and
    are left out, and so are counts and numbers of rows.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skmia.attacks import StoredValuesAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> model = KNeighborsClassifier(n_neighbors=50).fit(members.X, members.y)
    >>> attack = StoredValuesAttack(FrozenEstimator(model)).fit(records)
    >>> attack.score(records, membership)
    1.0
    >>> attack.found_["place"].unique().tolist()
    ['_fit_X']
    """

    _parameter_constraints = {**BaseAttack._parameter_constraints}

    def __init__(self, victim: BaseEstimator | None = None) -> None:
        self.victim = victim

    def _needs(self):
        return Needs(ANY, access=frozenset({"file"}))

    def _fit(self, records, membership):
        self.state_ = _read_victim(self.victim)
        self._places = make_places(self.state_)
        views = make_views(self.victim, records)
        self._stats = [ViewStats(view) for view in views]
        self._n_candidates = len(records)
        ledger = self._search(views)
        self._lists = StoredLists(self.victim, records)
        found = self._lists.found
        listed = ledger.list_records()
        found = found[~found.index.duplicated() & ~found.index.isin(listed.index)]
        self.found_ = _join(listed, found).sort_index()
        self.places_ = _join(ledger.list_places(), self._lists.places, ignore_index=True)
        n_absent = self._lists.scores(records)[1]
        self.absent_ = pd.Series(n_absent, name="n_absent")[n_absent > 0]

    def _search(self, views):
        columns = [
            [Column(*pair) for pair in zip(list_columns(view), stats.columns, strict=True)]
            for view, stats in zip(views, self._stats, strict=True)
        ]
        ledger = Ledger(views, columns, self._n_candidates)
        for v, (view, stats) in enumerate(zip(views, self._stats, strict=True)):
            for place in self._places:
                if not view.can_be_in(place.path):
                    continue
                ledger.enter(v, place, search(place, view, columns[v], stats))
        return ledger

    def _score_samples(self, records):
        views = make_views(self.victim, records)
        for view, stats in zip(views, self._stats, strict=True):
            if len(list_columns(view)) != len(stats.columns):
                raise ValueError(
                    f"The candidates given to fit had {len(stats.columns)} columns ({view.name}); "
                    f"these records have {len(list_columns(view))}."
                )
        return self._search(views).scores().max(axis=0) + self._lists.scores(records)[0]

    def _natural_offset(self, records):
        return np.log(self._n_candidates + 1) / 2


def _join(table, more, **options):
    # Older versions of pandas warn of the types of tables without rows.
    tables = [one for one in (table, more) if len(one)]
    return pd.concat(tables, **options) if tables else table


def _read_victim(victim):
    """Read the state of a victim.

    Raises
    ------
    TypeError, NotFittedError, ValueError
        If the victim has no file, is not fitted, or stores nothing.
    """
    if victim is None:
        raise ValueError(
            "StoredValuesAttack needs the fitted model itself; stored outputs are not enough."
        )
    name = type(unwrap(victim)).__name__
    if not has_file(victim):
        raise TypeError(
            f"StoredValuesAttack reads the file of a model; got {name}, which has none."
        )
    if not hasattr(victim, "fit"):
        raise TypeError(f"victim must be a fitted estimator with a method fit; got {name}.")
    check_fitted(unwrap(victim), "victim")
    state = read_state(victim)
    if not state.arrays:
        raise ValueError(f"The victim {name} stores no array that can be read.")
    return state
