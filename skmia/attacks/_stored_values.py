"""The attack that looks for records in the file of a model."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._core.asking import unwrap
from .._core.needs import ANY, Needs
from ..base import BaseAttack
from ..victims import read_state
from ..victims.offers import has_file
from ._stored_ledger import Ledger
from ._stored_search import Column, ViewStats, list_columns, make_places, search
from ._stored_views import make_views


class StoredValuesAttack(BaseAttack):
    r"""Look for rows and values of the candidates in what a released model stores.

    Many estimators keep training data as it was: neighbors, Gaussian processes and support vector
    machines keep rows, encoders and quantile transformers keep values by column, regression trees
    keep targets. The attack reads the state of the fitted model and compares it with known
    candidates. It makes no query for a prediction, trains nothing and needs no known member.

    Parameters
    ----------
    victim : fitted estimator
        Model or transformer whose file is attacked, in a
        :class:`~sklearn.frozen.FrozenEstimator`.

    Attributes
    ----------
    found_ : DataFrame
        One row for each candidate given to ``fit`` that has a value, or its whole row, stored which
        otherwise would be with a probability of 1/2 at most, by position: ``place``, paths of the
        arrays; ``view``, ``"raw"`` or the steps of a Pipeline that the record went through before
        it was found; ``columns``, names of these columns of the view, ``"y"`` for the target of a
        regressor, ``"all"`` for a whole row; ``whole_row``; ``score``.
    places_ : DataFrame
        One row for each stored array and view with a hit: ``place``, ``view``; ``n_rows``, the
        number of candidates whose whole row is stored, and ``n_values``, the number of their values
        that are; ``expected_rows`` and ``expected_values``, how many there would be of records that
        were not used. A number near the expected one is no evidence; one beyond it is never proof.
    state_ : ModelState
        What the model stores.
    offset_ : float
        Threshold of the score; without ``membership`` :math:`\log(n + 1) / 2` for n candidates.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    TypeError
        If the victim is a function or service, whose file is not at hand.
    ValueError
        If the model stores no array.

    See Also
    --------
    skmia.victims.read_state : Lists the arrays.

    Notes
    -----
    A value v that is stored and that c of the n candidates have is evidence of

    .. math:: -\log \max(1 - (1 - s)\, 2^{-(c - 1)},\ 1 / (n + 1)),

    minus the logarithm of the chance that it would be stored without the record: because it falls
    on a stored number by accident (s, the share of the numbers between the smallest and the largest
    value of the column, in its precision, that are stored), or because one of the c - 1 other
    candidates with it was used, each with probability 1/2. The score of a record is the sum over
    its columns, each at the place where it is most. A record whose whole row is stored has
    :math:`(p + 1) \log(n + 1)` for its p columns plus the evidence of the row, which is more than
    any values give. For a row, c counts equal rows, and s is the number of distinct stored rows
    times the product of the frequencies of its values among the candidates; where s is 1/2 or more
    the row does not count, nor do rows of arrays whose columns are sorted each, such as quantiles.
    Nothing stored is 0. The sum treats columns as independent, so the score ranks records and is
    not a calibrated likelihood ratio.

    Numbers are compared in float64, and rounded to float32 where the stored ones are of that
    precision. Rows and values are looked for raw and after each step of a Pipeline, also one that a
    search has chosen or that stands in a ColumnTransformer, stack, vote or calibration. Thresholds
    of trees are not values and are left out, as are counts and numbers of rows.

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
        self.found_, self.places_ = ledger.list_records(), ledger.list_places()

    def _search(self, views):
        columns = [
            [Column(*one) for one in zip(list_columns(view), stats.columns, strict=True)]
            for view, stats in zip(views, self._stats, strict=True)
        ]
        ledger = Ledger(views, columns, self._n_candidates)
        for v, (view, stats) in enumerate(zip(views, self._stats, strict=True)):
            for place in self._places:
                ledger.enter(v, place, search(place, view, columns[v], stats))
        return ledger

    def _score_samples(self, records):
        return self._search(make_views(self.victim, records)).scores().max(axis=0)

    def _natural_offset(self, records):
        return np.log(self._n_candidates + 1) / 2


def _read_victim(victim):
    """What the file of a victim stores.

    Raises
    ------
    TypeError, NotFittedError, ValueError
        If it has no file, was not fitted, or stores nothing.
    """
    if victim is None:
        raise ValueError(
            "StoredValuesAttack needs the fitted model itself; stored outputs are not enough."
        )
    name = type(unwrap(victim)).__name__
    if not has_file(victim):
        raise TypeError(
            f"StoredValuesAttack reads the file of a model; got {name}, behind which there is none."
        )
    if not hasattr(victim, "fit"):
        raise TypeError(f"victim must be a fitted estimator with a method fit; got {name}.")
    try:
        check_is_fitted(victim)
    except NotFittedError:
        raise NotFittedError(
            f"The victim {name} is not fitted: clone() reset the fitted victim, or it never was; "
            "fit it and wrap it in sklearn.frozen.FrozenEstimator."
        ) from None
    state = read_state(victim)
    if not state.arrays:
        raise ValueError(f"The victim {name} stores no array that can be read.")
    return state
