"""Several fits of a private estimator and its clones, which together cost more than each."""

import warnings
from numbers import Real

import numpy as np

from .._core.accountant import spent_epsilon
from .._core.callers import level_of_user
from .._core.sklearn import InvalidParameterError
from .._core.transactions import TransactionMixin, get_original
from ..exceptions import PrivacyWarning


class CountsPrivateFits(TransactionMixin):
    """Mixin of private estimators, whose clones know of each other's fits.

    A search, a cross-validation and an ensemble fit clones of one estimator, usually on the same
    rows. What clones share is public: the noise, the rate and the number of steps of each fit.
    """

    def __sklearn_clone__(self):
        made = super().__sklearn_clone__()
        vars(made).update(_fits_of_clones=self._get_fits(), _may_be_sent=True)
        return made

    _lasting = ("_fits_of_clones", "_may_be_sent")

    def _get_fits(self):
        # A fit that fails has read rows as well, so that the estimator itself has to remember it.
        fits = vars(get_original(self)).setdefault("_fits_of_clones", FitsOfClones())
        vars(self)["_fits_of_clones"] = fits
        return fits

    def __getstate__(self):
        # An unfitted clone that is pickled is fitted in another process, which tells nothing back.
        # It may be pickled again on the same way, and the first of all clones with a scorer.
        if vars(self).pop("_may_be_sent", False) and not hasattr(self, "epsilon_"):
            self._get_fits().n_sent += 1
        return super().__getstate__()

    def _add_up_fits(self, history, delta, accountant):
        """Return epsilon of the steps of all fits together."""
        return spent_epsilon(history, delta, accountant)

    def _count_fit(self, steps, delta, accountant):
        """Count a fit before its first step, and warn once that there were others before it.

        Return n_fits, total_epsilon: of all fits until now.
        """
        fits = self._get_fits()
        fits.append(steps)
        n_fits = len(fits) + fits.n_sent
        # What is not known of other processes is taken for fits like this one.
        history = [*fits, *([steps] * fits.n_sent)]
        total = self._add_up_fits(history, delta, accountant)
        if n_fits > 1 and not fits.is_told:
            fits.is_told = True
            name = type(self).__name__
            others = f" ({fits.n_sent} of them in other processes)" if fits.n_sent else ""
            warnings.warn(
                f"{n_fits} fits of {name} and its clones{others}: together they cost "
                f"epsilon={total:.3g} at delta={delta:.3g} if they read the same rows, and each "
                "further one adds to it; total_epsilon_ of the last one is the sum. A search whose "
                "choice is private costs about two fits (PrivateSearchCV), and a PrivacyLedger "
                "counts in all processes.",
                PrivacyWarning,
                stacklevel=level_of_user(),
            )
        return n_fits, total


class BudgetedFits(CountsPrivateFits):
    """Counts private fits of an estimator of which the epsilon or the noise is given."""

    def _validate_parameters(self):
        # An infinite epsilon is training without privacy, which has another parameter.
        if isinstance(self.target_epsilon, Real) and self.target_epsilon == np.inf:
            raise InvalidParameterError(
                f"The 'target_epsilon' parameter of {type(self).__name__} must be finite. Got inf "
                "instead. To train without privacy, set noise_multiplier=0 and leave it out."
            )
        super()._validate_parameters()

    def _list_conflicting_parameters(self):
        given = [self.target_epsilon is not None, self.noise_multiplier is not None]
        if sum(given) != 1:
            got = "both" if all(given) else "neither"
            yield f"Give one of target_epsilon and noise_multiplier; got {got}."


class FitsOfClones(list):
    """Noise, rate and number of steps of the fits of an estimator and its clones."""

    def __init__(self, fits=()):
        super().__init__(fits)
        self.n_sent, self.is_told = 0, False

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return FitsOfClones, ()  # in another process it begins anew
