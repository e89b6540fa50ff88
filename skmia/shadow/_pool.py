"""Shadow models, trained once and shared by all attacks."""

from numbers import Integral, Real
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core.asking import unwrap
from .._core.seeding import refuse_trained_module
from .._core.sklearn import N_JOBS, HasMethods, Interval, StrOptions, validate_params_of
from .._core.splits import MOST_MODELS, check_room, compute_strata, draw_pairs, join_copies
from .._core.validation import check_records
from .._training.checkpoint import FolderCheckpoint, MemoryCheckpoint, saying_what_is_kept
from .._training.first_answers import check_first_answers
from .._training.frozen import make_recipe
from .._training.job import Data, Job
from .._training.manifest import describe_job
from .._training.notes import note_failures, warn_of_weights, warn_once
from .._training.plan import describe_training, plan_training
from ..signals import ScaledLogit
from ._design import drawn_design, infer_design
from ._gather import gather
from ._keep import PoolKeeper, check_temperatures, further_signals, signals_of
from ._lookup import PoolLookup, augmented
from ._scores import check_scores
from ._stored import StoredSignals


class ShadowPool(StoredSignals, PoolLookup, TransformerMixin, BaseEstimator):
    """Models like the victim, each trained on a random half of the records.

    For every record, half of the models were trained with it (IN) and half without (OUT); the
    difference between the two is what the attacks that take a pool look for. Models come in
    complementary pairs: what the first of a pair was trained on, the second was not, stratified by
    class. Equal records, and records with one value of a field ``group_by``, are in or out
    together.

    Training is nearly all the cost of an audit. Fit a pool once, freeze it, and hand it to as many
    attacks and searches as you like: ``FrozenEstimator(ShadowPool(model).fit(records))``.

    Parameters
    ----------
    estimator : estimator
        Model like the victim, Pipelines included. It is cloned, so it may be fitted or frozen.
    n_estimators : int, default=64
        Number of shadow models, even where they come in pairs.
    max_samples : float or int, default=0.5
        Training records of each model, as a fraction of all (at most 0.5) or a number. Below one
        half, each record is in for fewer models than out.
    paired : bool, default=True
        Whether models come in complementary pairs. With False the training set of each model is
        drawn separately, so their number may be odd and a record is in for half of the models
        on average only.
    augment : callable, default=None
        Takes records and returns a sequence of further Records of the same length, such as
        shifted images; attacks then use the victim's and the models' answers to all of them.
    signals : tuple of str or Signal, default=("auto",)
        What is stored of each model's answers. ``"auto"`` is the log odds of the label, for models
        without probabilities the margin, for regressors minus the log residual; it cannot be left
        out. Further signals of :mod:`skmia.signals`, by name or with settings of their own, take 4
        bytes for each model and record. The loss and the confidence follow from ``"auto"`` and need
        not be stored.
    temperatures : tuple of float, default=(1.0, 2.0)
        Temperatures at which the log odds of ``"auto"`` are stored.
    store : {"signals", "outputs", "models"}, default="signals"
        ``"signals"`` keeps 4 bytes for each model, record and signal or temperature and throws the
        models away; ``"outputs"`` also keeps all class probabilities or decision values (for
        :class:`~skmia.attacks.ShadowAttack` and
        :class:`~skmia.attacks.VulnerableRecordsAttack`); ``"models"`` keeps the models, so that
        records that the pool never saw can be scored, and writes them to `checkpoint` as pickles.
    resolution : "auto" or float, default="auto"
        Finest step of the models' probabilities. Probabilities of exactly 0 or 1, as forests and
        nearest neighbors give, are moved inside by half of it before a logit is taken. ``"auto"``
        takes the smallest positive p or 1 - p in the pool, or 0 where no probability is 0 or 1. For
        a regressor it is the residual, in units of y, below which differences do not count
        (``"auto"``: a tenth of the median over records that a model was not trained on).
    batched : "auto" or bool, default="auto"
        Whether to train many models in one program where that is faster: linear models and torch
        nets of kinds that the package knows. ``True`` raises where it is not possible and says why.
    refit_frozen : bool, default=True
        Whether parts of the estimator that are fitted and frozen (``FrozenEstimator``, ``prefit``)
        are fitted again on the training records of each shadow model, before the estimator around
        them. With False all models share them, which is right only for parts that were fitted on
        other records, such as public data: what they reveal about those is not measured.
    checkpoint : str or Path, default=None
        Folder that keeps every finished model. A fit that was interrupted goes on from there and
        gives the same numbers as an undisturbed one; a larger ``n_estimators`` trains only the
        further models and gives the pool that would have been trained at once. The folder is
        refused if it belongs to other records, another estimator or edited code: functions and
        classes that do not come from installed packages count by their code, packages by their
        version, augmentations by what they make. An estimator with a part that cannot be identified
        is refused. With ``store="models"`` the folder holds pickles, and a pickle can run any code
        when it is read: use it only if you trust everyone who can write to it. With the other
        values of ``store`` no pickle is read. A new folder, and every file, is private to the user.
    warm_start : bool, default=False
        Keep the results in memory, so that fitting again with a larger ``n_estimators`` trains only
        the further models. Records, estimator and code must be the same, as for `checkpoint`. It
        takes twice the memory.
    n_jobs : int, default=None
        Models trained in parallel, through joblib. The numbers are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Determines the halves and the seed of every model.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    membership_ : ndarray of shape (n_estimators, n), dtype bool
        Which records each model was trained on.
    signals_ : ndarray of shape (n_signals, n_queries, n_estimators, n), dtype float32
        Values of the stored signals, made finite.
    stored_ : list of Signal
        Stored signals, in the order of the first axis of ``signals_``; what ``"auto"`` stands for,
        at each temperature, comes first.
    signal_ : {"scaled_logit", "hinge", "log_residual"}
        Name of the signal that ``"auto"`` stands for.
    temperatures_ : tuple of float
        Temperatures of the stored log odds; (1.0,) for models that have none.
    resolution_ : ndarray of shape (n_signals,)
        Step of the pool used for smoothing; 0 if none was needed. At other temperatures than 1, and
        for further signals, each model's own step is used beforehand, and this is 0.
    outputs_ : ndarray of shape (n_estimators, n, n_classes), dtype float32, or None
        Class probabilities (or logits), with ``store="outputs"``.
    estimators_ : list of estimators or None
        The models, with ``store="models"``.
    classes_ : ndarray or None
        Task labels.
    backend_ : str
        How the models were trained: ``joblib``, ``dask``, ``ray``, or together by ``linear``,
        ``perceptron`` or ``torch``.
    backend_reason_ : str
        Why in this way: what kept the models from being trained together, or how that failed.
    notes_ : list of str
        What a reader of the results should know about the training, one sentence each.
    n_records_ : int
        Number of records of the pool.
    design_ : tuple
        How training sets depend on each other: ``partners``, the model drawn in a pair with each
        (-1 for none), and ``n_in``, ``n_out``, the numbers of models that every record is in and
        out of where these are fixed, else infinite.

    Raises
    ------
    ValueError
        When a parameter is out of range, a model has neither probabilities nor decision values, or
        a fitted part of the estimator cannot be fitted again because a function holds it.

    See Also
    --------
    skmia.attacks.LiRA : Likelihood-ratio attack on a pool.
    skmia.attacks.RMIA : Relative attack, strong with few models.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> pool = ShadowPool(DecisionTreeClassifier(), n_estimators=4, random_state=0).fit(records)
    >>> pool.transform(records).shape
    (1000, 4)
    >>> pool.membership(records).mean(axis=1)[:3]
    array([0.5, 0.5, 0.5])
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"])],
        "n_estimators": [Interval(Integral, 2, MOST_MODELS, closed="both")],
        "max_samples": [
            Interval(Real, 0, 0.5, closed="right"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "paired": ["boolean"],
        "augment": [callable, None],
        "signals": [tuple, list],
        "temperatures": [tuple, list],
        "store": [StrOptions({"signals", "outputs", "models"})],
        "resolution": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "batched": ["boolean", StrOptions({"auto"})],
        "refit_frozen": ["boolean"],
        "checkpoint": [str, Path, None],
        "warm_start": ["boolean"],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator=None,
        n_estimators=64,
        *,
        max_samples=0.5,
        paired=True,
        augment=None,
        signals=("auto",),
        temperatures=(1.0, 2.0),
        store="signals",
        resolution="auto",
        batched="auto",
        refit_frozen=True,
        checkpoint=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.paired = paired
        self.augment = augment
        self.signals = signals
        self.temperatures = temperatures
        self.store = store
        self.resolution = resolution
        self.batched = batched
        self.refit_frozen = refit_frozen
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None):
        """Train the shadow models.

        Parameters
        ----------
        X : Records of n records
            The population under audit, members and non-members of the victim mixed.
        y : ignored
            The victim's members play no part.

        Returns
        -------
        self : ShadowPool
        """
        self._check_parameters()
        records = check_records(X)
        checkpoint, entropy = self._start(records)
        job, notes = self._make_job(records, entropy)
        check_first_answers(job)
        plan = plan_training(job, self.batched)
        if checkpoint is not None:
            manifest = describe_job(job, records, entropy, self._design(), plan.numbers)
            checkpoint.open(manifest, job.keep)
        self._forget()
        with saying_what_is_kept(checkpoint, self.n_estimators):
            results = plan.run(job, checkpoint)
            got = gather(results, self.n_estimators, len(records), self.verbose)
        self._set(got, records, job, plan, notes)
        return self

    @classmethod
    def from_scores(cls, scores, membership, records, *, resolution="auto"):
        """Make a fitted pool of scores that were computed elsewhere.

        Equal records count as one: a model that was trained on one of them was trained on all.

        Parameters
        ----------
        scores : array-like of shape (n_estimators, n)
            Scaled logits log p_y - log(1 - p_y), in nats, of each shadow model on each record;
            infinite values are smoothed.
        membership : array-like of shape (n_estimators, n)
            1 where the model was trained on the record, else 0.
        records : Records of n records
            The records, in the order of the columns.
        resolution : "auto" or float, default="auto"
            As in the constructor.

        Returns
        -------
        pool : ShadowPool
            With the temperature 1.0 only.

        Raises
        ------
        ValueError
            When the shapes differ, a score is NaN, a membership is neither 0 nor 1 or the
            resolution is negative.
        """
        check_records(records)
        scores, membership = check_scores(scores, membership, len(records), resolution)
        pool = cls(n_estimators=len(scores), temperatures=(1.0,), resolution=resolution)
        pool.membership_ = join_copies(membership.astype(bool), records.fingerprint)
        pool.signal_, pool.stored_ = ScaledLogit.name, [ScaledLogit()]
        pool.signals_ = scores.astype(np.float32)[None, None]
        pool.classes_ = np.unique(records.y)
        pool.outputs_ = pool.estimators_ = None
        pool.notes_ = []
        pool._smooth_signals(scores.dtype, np.zeros(len(scores)))
        pool._set_lookup(records)
        pool.design_ = infer_design(pool.membership_, records.fingerprint)
        return pool

    def _start(self, records):
        """The checkpoint and the numbers that all seeds come from, once there is room."""
        n_signals = len(self.temperatures) + len(further_signals(self.signals))
        check_room(self.n_estimators, len(records), n_signals)
        refuse_trained_module(unwrap(self.estimator))
        checkpoint = self._get_checkpoint()
        return checkpoint, self._draw_entropy(checkpoint)

    def _make_job(self, records, entropy):
        """Draw the training sets; the job, and notes on how its models differ from the victim."""
        seeds = np.random.SeedSequence(entropy).spawn(1 + self.n_estimators)
        estimator, notes = make_recipe(unwrap(self.estimator), self.refit_frozen)
        job = Job(
            estimator=estimator,
            data=Data([one.X for one in augmented(records, self.augment)], records.y),
            subsets=self._draw_membership(records, seeds[0]),
            seeds=seeds[1:],
            keep=PoolKeeper(
                tuple(self.signals), tuple(self.temperatures), self.resolution, self.store
            ),
            n_jobs=self.n_jobs,
        )
        return job, (*notes, *warn_of_weights(estimator, records))

    def _design(self):
        """Parameters of the sampling, for a checkpoint."""
        design = {"max_samples": self.max_samples}
        return design if self.paired else {**design, "paired": False}

    def _check_parameters(self):
        validate_params_of(self)
        if self.paired and self.n_estimators % 2:
            raise ValueError(
                "n_estimators must be even, as shadow models come in complementary pairs "
                f"(paired=False draws each independently); got {self.n_estimators}."
            )
        check_temperatures(self.temperatures)
        further_signals(self.signals)

    def _get_checkpoint(self):
        if self.checkpoint is not None:
            return FolderCheckpoint(self.checkpoint)
        if not self.warm_start:
            self._memory = None
        elif getattr(self, "_memory", None) is None:
            self._memory = MemoryCheckpoint()
        return self._memory

    def _draw_entropy(self, checkpoint):
        """Numbers that all seeds come from; the first k models are the same for every total."""
        if self.random_state is None and checkpoint is not None:
            entropy = checkpoint.read_entropy()
            if entropy is not None:
                return entropy
        random_state = check_random_state(self.random_state)
        return random_state.randint(np.iinfo(np.int32).max, size=4).tolist()

    def _draw_membership(self, records, seeds):
        if isinstance(self.max_samples, Integral):
            n_samples = self.max_samples
        else:
            n_samples = int(np.ceil(self.max_samples * len(records)))
        n_draws = self.n_estimators // 2 if self.paired else self.n_estimators
        strata = compute_strata(records.y, is_classifier(unwrap(self.estimator)))
        draws = draw_pairs(records, strata, n_samples, seeds.spawn(n_draws))
        return np.concatenate(draws) if self.paired else np.array([first for first, _ in draws])

    def _set(self, got, records, job, plan, notes):
        """Be fitted, now that all is there: a fit that is interrupted leaves nothing of two."""
        warn_once(got.warnings, self.n_estimators)
        self.membership_, self.signals_, self.outputs_ = job.subsets, got.signals, got.outputs
        self.backend_, self.backend_reason_ = describe_training(
            plan, got.warnings, self.n_estimators
        )
        self.notes_ = [*notes, *note_failures(got.warnings, self.n_estimators)]
        facts, classes = got.last.facts, got.last.arrays.get("classes")
        self.signal_, self.output_kind_, self.classes_ = facts["signal"], facts["kind"], classes
        self.stored_ = signals_of(facts["kind"], self.signals, self.temperatures)
        self.estimators_ = got.models if self.store == "models" else None
        try:
            self._smooth_signals(np.dtype(facts["dtype"]), got.steps)
            self._set_lookup(records)
        except BaseException:
            self._forget()
            raise
        self.design_ = drawn_design(self.n_estimators, self.paired)

    def _forget(self):
        """Be a pool that was never fitted."""
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)

    # Named in the class itself, as set_output wraps no inherited method.
    transform = StoredSignals.transform

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of :meth:`transform`, one per shadow model.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : ndarray of shape (n_estimators,)
        """
        check_is_fitted(self)
        return np.array([f"shadow{k}" for k in range(len(self.membership_))], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags
