"""Attack on a released tree model by the equations of its nodes."""

import warnings
from typing import Literal

from sklearn.base import BaseEstimator

from .._core.budget import Cost
from .._core.callers import level_of_user
from .._core.needs import ANY, Needs
from .._core.sklearn import StrOptions
from .._core.types import Seed
from ..victims import read_further_columns, read_node_equations
from ._bit_solver import BYTES_PER_COEFFICIENT, EquationsAttack

# Coefficients of a record in the equations of one tree: its number, and its value for each class.
_LEAST_PER_RECORD = 4


class NodeEquationsAttack(EquationsAttack):
    r"""Solve the equations that the nodes of a released tree model state about its training rows.

    A file of trees stores how many training rows came to each node, their class fractions, sums of
    hessians and leaf values. Each of these numbers is a linear equation in the membership bits of
    the records that the stored splits send to the node. The attack solves all equations together
    for the bits of known candidates. An attacker who has the file needs no queries, shadow models
    or known members.

    Parameters
    ----------
    victim : fitted estimator
        Model whose file is attacked: a decision tree, random forest, extra trees, bagged decision
        trees, AdaBoostClassifier of decision trees, IsolationForest, gradient boosting, histogram
        gradient boosting, XGBoost, LightGBM or CatBoost model, a Pipeline that ends in such a
        model, or a search that has chosen one.
    outsiders : float or "auto", default="auto"
        Share of the training rows that are not among the candidates, in [0, 1). Set it if you know
        that training rows are missing: they make equations contradict each other, and even a rough
        share is far better than 0. With ``"auto"``, the share is 0 if the equations agree; else it
        is estimated from the file, if the file states the number of training rows.
    prior : float, default=0.5
        Share of members among the candidates, in (0, 1).
    solver : {"auto", "propagation", "bounded", "ridge"}, default="auto"
        Method that solves the equations.

        - ``"propagation"``: expectation propagation with a prior of two values for each bit. It is
          stronger on exact equations but misled by outsiders, and its time grows with the cube of
          the number of candidates;
        - ``"bounded"``: ridge regression in which bits are numbers between 0 and 1, with sparse
          products only. It lies between the other two in strength and time, and does not help if
          the equations contain little (``known_`` below 0.2) or have noise;
        - ``"ridge"``: sparse ridge regression, with a time that is linear in all sizes;
        - ``"auto"``: propagation for up to 4,000 candidates (more with few equations), bounded for
          up to 20,000, both without outsiders and unless the solution contradicts the equations;
          else ridge regression.
    random_state : int, RandomState instance or None, default=None
        Controls the probes that estimate ``known_`` of ridge regression. Pass an int for
        reproducible results.

    Attributes
    ----------
    n_rows_ : float or None
        Number of training rows according to the file, without rows that early stopping set apart;
        estimated from the size of the samples if XGBoost or LightGBM drew some. None if a stripped
        file does not store it, or stores sums of weights instead; ``prior`` and ``outsiders`` take
        its place.
    n_equations_ : int
        Number of equations.
    known_ : float
        Share of the information about the bits that the equations contain, in [0, 1): their rank
        divided by the number of candidates, or less if they are noisy.
    outsiders_ : float
        Share of the training rows that are assumed not to be among the candidates.
    misfit_ : float
        Root mean square of the residuals of the first solution, in units of their noise. Above 3
        the equations contradict each other: training rows are missing among the candidates, or were
        weighted. A small value does not show that none is missing: the noisy equations of forests,
        and few equations, do not contradict each other.
    expected_auc_ : float
        Expected AUC, which does not require membership: the one that follows if the scores are log
        likelihood ratios. It is a lower bound for models whose trees were grown on samples, because
        the noise of their equations is overestimated.
    offset_ : float
        Threshold of the score. Without ``membership``, the smallest threshold above 0 that at most
        5% of the non-members reach if the scores are log likelihood ratios.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    TypeError
        If the victim is a model of another kind.
    ValueError
        If the equations are not known for its settings, such as another loss or monotonic
        constraints, or a record has a label that the victim does not know.

    Warns
    -----
    UserWarning
        If the equations contradict each other, see ``misfit_``, or an XGBoost model was trained
        with sample weights.

    See Also
    --------
    SplitThresholdAttack : Reads thresholds, also of files without counts.
    LiRA : Attacks a model behind a service with queries and shadow models.
    ReleasedModelAttack : Combines all attacks on files.

    Notes
    -----
    The candidates are all records given to ``fit``, which needs no membership; a record that is
    scored later is judged as one more candidate, which may explain the residuals of the others. The
    score is the log likelihood ratio of membership, without the prior. It ranks records and is not
    calibrated: if candidates are incomplete, probabilities of 0.99 were right in 0.4 to 0.9 of
    cases.

    Counts, class fractions and leaf values are exact without resampling. They have noise if each
    tree or round has its own, unknown sample (forests, bagging, ``subsample``). Rows that were set
    apart for early stopping look like non-members; by default, histogram boosting sets apart a
    tenth of more than 10,000 rows. The weights of rows in AdaBoost follow from its own mistakes, so
    its equations are exact. Isolation forests count the rows of each sample, and store no labels.

    Class weights are recovered: in trees and forests, numbers of rows are whole only with the right
    weights; boosting stores them, and balanced weights of two classes are computed from the first
    tree. Sample weights are unknown, because the file does not store them. The numbers of rows of
    nodes remain exact, except in XGBoost, and sums of weights become equations with the noise of
    weights that vary as those of the leaves do. Histogram boosting does not store such sums: its
    leaf values are left out if the first tree shows that they are of weighted rows, which it does
    for two classes.

    Splits on categories are followed, except in CatBoost, which replaces categories by statistics
    of the targets and is refused. Histogram boosting also stores the edges of its bins: in a column
    with more values than bins, the number of training rows between two edges is known.

    A JSON or UBJ file of XGBoost does not store the learning rate and the penalty. They are
    computed from the weights of inner nodes; models whose weights no such settings explain are
    refused. If rows were drawn, which the file does not say, the equations contradict each other.
    If sums of hessians show that rows were weighted, the attack warns and treats the number of
    training rows as unknown; weights that are whole numbers look like repeated rows. CatBoost draws
    samples only to choose splits, so its counts are exact. Its leaf values are equations if each is
    one Newton step, the default unless there are two classes and 20 features or more.

    A file without counts and covers, as :func:`~skmia.defenses.strip_state` leaves it, still has
    leaf values, class fractions and means, which are equations; a fraction with all of its digits,
    such as 3/7, reveals the number of rows behind it. Leaf values may have been rounded, to
    decimals or to half precision: the step is found in the file and gives each equation its
    variance.

    References
    ----------
    Ferry, J., Fukasawa, R., Pascal, T. and Vidal, T. (2024). Trained random forests completely
    reveal your dataset. ICML.

    Minka, T. (2001). Expectation propagation for approximate Bayesian inference. UAI.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from skmia.attacks import NodeEquationsAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = HistGradientBoostingClassifier(max_iter=40).fit(members.X, members.y)
    >>> attack = NodeEquationsAttack(model).fit(records)
    >>> bool(attack.expected_auc_ > 0.95), bool(attack.score(records, membership) > 0.95)
    (True, True)
    """

    _parameter_constraints = {
        **EquationsAttack._parameter_constraints,
        "outsiders": [
            *EquationsAttack._parameter_constraints["outsiders"],
            StrOptions({"auto"}),
        ],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        outsiders: float | Literal["auto"] = "auto",
        prior: float = 0.5,
        solver: Literal["auto", "propagation", "bounded", "ridge"] = "auto",
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.outsiders = outsiders
        self.prior = prior
        self.solver = solver
        self.random_state = random_state

    def _needs(self):
        return Needs(ANY, access=frozenset({"file", "nodes"}))

    def _read(self, records):
        n_members = self.prior * len(records)
        outsiders = 0.0 if self.outsiders == "auto" else self.outsiders
        assumed = n_members / (1 - outsiders), n_members * (1 - self.prior)
        allowed = self._allow_bytes(records)
        equations = read_node_equations(
            self.victim, records, assumed, allowed / BYTES_PER_COEFFICIENT
        )
        self._chosen = equations.chosen
        rest = self._describe_rest(self._chosen, allowed)
        if rest is not None:
            warnings.warn(f"The equations of {rest}", UserWarning, stacklevel=level_of_user())
        self.n_rows_ = None if equations.is_assumed else equations.n_rows
        return equations

    def _estimate_cost(self, records):
        # One tree; of further trees, as many are read as fit.
        n_bytes = len(records) * _LEAST_PER_RECORD * BYTES_PER_COEFFICIENT
        return Cost(n_bytes, what=f"the equations of one tree and {len(records):,} records")

    def _read_further(self, records):
        return read_further_columns(self.victim, records, self._equations), 0.0
