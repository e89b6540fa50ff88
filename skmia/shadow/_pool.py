"""Shadow models, trained once and shared by all attacks."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core.copies import CopiesParameters
from .._core.numbers import refuse_first
from .._core.query import check_victim, unwrap
from .._core.records import Records, label_rows
from .._core.sample_weights import mark_trained
from .._core.sklearn import N_JOBS, HasMethods, Interval, StrOptions, at_least
from .._core.splits import MOST_MODELS, check_room
from .._core.trained_modules import refuse_trained_module
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Seed
from .._core.validation import check_records
from .._training.backends.torch_nets.plan import why_not_class
from .._training.checkpoint import FolderCheckpoint, MemoryCheckpoint
from .._training.job import note_failures, run_visibly, warn_once
from .._training.manifest import describe_job
from .._training.plan import (
    check_first_answers,
    describe_training,
    plan_training,
    saying_what_is_kept,
)
from ..signals import JointResidual, Signal
from ..victims import get_kind
from ._answers import PoolAnswers, name_kept
from ._fit_once import fit_once, note_fit
from ._imported import (
    GivenOutputs,
    check_scores,
    check_training_sets,
    import_models,
    list_unanswerable,
    make_unfitted,
    warn_if_inverted,
)
from ._job import (
    SubsetDesign,
    augmented,
    check_settings,
    describe_sampling,
    draw_entropy,
    drawn_design,
    further_signals,
    list_unfit_for_targets,
    make_job,
    signals_of,
)
from ._stored import gather_results, leave_untrained_out, make_answers, open_arrays

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9, which has no callbacks
    CallbackSupportMixin, with_callbacks = type("NoCallbacks", (), {}), lambda method: method


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _ask_answers(
    read: Callable[Concatenate[PoolAnswers, _P], _T],
) -> Callable[Concatenate["ShadowPool", _P], _T]:
    """Make a method of the pool of one of its answers."""

    @wraps(read)
    def ask(pool: "ShadowPool", *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return read(pool.to_answers(), *args, **kwargs)

    return ask


def _read_answers(name: str) -> Any:
    """Make a fitted attribute of the pool of an attribute of its answers."""

    def read(pool: "ShadowPool") -> Any:
        if "_answers" not in vars(pool):
            raise AttributeError(f"{type(pool).__name__} is not fitted, so it has no {name}.")
        return getattr(pool._answers, name)

    return property(read)


class ShadowPool(
    TransactionMixin,
    CopiesParameters,
    CallbackSupportMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Pool of shadow models, each trained on a random half of the records.

    For every record, half of the models are trained with it (IN) and half without it (OUT). Attacks
    on a pool use the difference between the two. Models come in complementary pairs: each record is
    in the training set of exactly one model of a pair, stratified by class. Equal records, and
    records with the same value of the field ``group_by``, are in or out together.

    Fit a pool once and share it among attacks and searches: a clone of an attack keeps a fitted
    pool. An unfitted one, or a number of models, is fitted by the attack, see Notes.

    Parameters
    ----------
    estimator : estimator
        Unfitted or fitted model like the victim; Pipelines are supported. It is cloned.
    n_estimators : int, default=64
        Number of shadow models: even in the paired design, a multiple of 8 in the balanced one.
    max_samples : float or int, default=0.5
        Training records of each model, as a fraction of all records (at most 0.5) or a number.
        Below one half, each record has fewer IN than OUT models.
    design : {"paired", "balanced", "independent"}, default="paired"
        How training sets depend on each other. ``"paired"``: models come in complementary pairs,
        so that each record is IN for exactly half of them. ``"balanced"``: blocks of 8 models, for
        exactly 4 of which each record is IN, without complements. ``"independent"``: each training
        set is drawn by itself, so the number of models may be odd, and a record has half IN models
        only on average; a record without an IN model cannot be judged by attacks that need one.
    augment : callable, default=None
        Function of records that returns a sequence of further Records of the same length, such as
        shifted images. Attacks then use the outputs of the victim and the models for all of them.
    signals : tuple of str or Signal, default=("auto",)
        Signals that are stored. ``"auto"``, which is required, is the log odds of the label for
        classifiers, the margin for models without probabilities, minus the log residual for
        regressors, and correctness for models with labels alone. Further signals of
        :mod:`skmia.signals`, by name or with their own settings, take 4 bytes per model and record.
        The loss and the confidence follow from ``"auto"`` and need not be stored.
    temperatures : tuple of float, default=(1.0, 2.0)
        Temperatures at which the log odds of ``"auto"`` are stored.
    store : {"signals", "outputs", "models"}, default="signals"
        ``"signals"`` keeps 4 bytes per model, record and signal or temperature and discards the
        models; ``"outputs"`` also keeps all class probabilities or decision values (for
        :class:`~skmia.attacks.ShadowAttack` and :class:`~skmia.attacks.VulnerableRecordsAttack`);
        ``"models"`` keeps the models, so that records that are not in the pool can be scored, and
        writes them to `checkpoint` as pickles.
    output_kind : {"auto", "label"}, default="auto"
        Kind of the models' outputs that are compared: ``"auto"`` is the most informative kind.
        ``"label"`` reduces class probabilities and decision values to the predicted label, for
        victims that return only labels, such as services; ``"auto"`` is then the signal
        :class:`~skmia.signals.Correctness`, as it is for an estimator that has only ``predict``.
        The outputs of the victim are reduced as well.
    resolution : "auto" or float, default="auto"
        Finest step of the models' probabilities. Probabilities of exactly 0 or 1, which forests and
        nearest neighbors predict, are moved inside by half of it before a logit is taken.
        ``"auto"`` uses the smallest positive p or 1 - p in the pool, or 0 if no probability is 0 or
        1. For a regressor, it is the residual, in units of y, below which differences do not count
        (``"auto"``: a tenth of the median over records that a model was not trained on).
    batched : "auto", bool or int, default="auto"
        Whether to train many models in one program if that is faster, for linear models,
        perceptrons and torch nets of supported kinds. If True, this is done without measuring
        whether it is faster, and an error that states the reason is raised if it is not possible.
        An int has the meaning of ``"auto"`` and is the maximum number of models that a process
        trains at once, which limits the memory.
    refit_frozen : bool, default=True
        Whether parts of the estimator that are fitted and frozen (``FrozenEstimator``, ``prefit``)
        are fitted again on the training records of each shadow model, before the estimator around
        them. If False, all models share them, which is correct only for parts that were fitted on
        other records, such as public data: leakage of those records is not measured.
    fit_params : dict or callable, default=None
        Further parameters of the estimator's ``fit``, as the victim was trained with: a dict, or a
        function ``f(X, y)`` of the training records of a model that returns one. If it returns
        ``"X"`` and ``"y"`` as well, the model is trained on these, so that rows for early stopping
        can be split off them; all training records of the model count as IN. The function may draw
        from numpy's global generator, which is seeded for each model. Models are trained one by
        one.
    checkpoint : str or Path, default=None
        Folder that keeps every finished model. An interrupted fit continues from there and gives
        the same numbers as an uninterrupted one; a larger ``n_estimators`` trains only the further
        models and gives the pool that would have been trained at once. The folder is refused if it
        belongs to other records, another estimator or edited code: functions and classes that do
        not come from installed packages count by their code, packages by their version,
        augmentations by their results. An estimator with a part that cannot be identified is
        refused. With ``store="models"`` the folder holds pickles, and a pickle can run any code
        when it is read: use it only if you trust everyone who can write to it. With the other
        values of ``store`` no pickle is read. A new folder, and every file, is private to the user.
    on_disk : bool, default=False
        Keep signals, outputs and training sets in the files of `checkpoint`, which is then needed.
        They are read block by block when an attack asks for them, so a pool needs no memory for
        each model, and workers write their results there themselves. The numbers equal those of a
        pool in memory. Models are trained one by one.
    warm_start : bool, default=False
        Keep the results in memory, so that fitting again with a larger ``n_estimators`` trains only
        the further models. Records, estimator and code must be the same, as for `checkpoint`. It
        takes twice the memory.
    n_jobs : int, default=None
        Number of models, or groups of models, trained in parallel, through joblib; for nets on GPUs
        that are trained together, the number of GPUs. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the halves and the seed of every model.
    verbose : int, default=0
        Verbosity level. If positive, a progress bar is shown.

    Attributes
    ----------
    membership_ : ndarray of shape (n_estimators, n), dtype bool
        Which records each model was trained on: without those whose ``sample_weight`` is 0, if the
        estimator takes weights.
    signals_ : ndarray of shape (n_signals, n_queries, n_estimators, n), dtype float32
        Values of the stored signals; infinite values are smoothed.
    stored_ : list of Signal
        Stored signals, in the order of the first axis of ``signals_``; what ``"auto"`` stands for,
        at each temperature, comes first.
    signal_ : str
        Name of the signal that ``"auto"`` stands for: ``"scaled_logit"``, ``"hinge"``,
        ``"log_residual"``, ``"oriented_prediction"`` or ``"correctness"``. Of a regressor, it is
        the residual unless training on a record moves its prediction elsewhere than toward its
        label (:class:`~skmia.signals.OrientedPrediction`).
    temperatures_ : tuple of float
        Temperatures of the stored log odds; (1.0,) for models that have none.
    resolution_ : ndarray of shape (n_signals,)
        Step of the pool used for smoothing; 0 if none was needed. At other temperatures than 1, and
        for further signals, each model's own step is used beforehand, and this is 0.
    joint_residual_ : JointResidual or None
        How the residuals of several targets are joined to one signal; None for one task label.
    outputs_ : ndarray of shape (n_estimators, n, n_classes), dtype float32, or None
        Class probabilities (or logits), with ``store="outputs"``.
    estimators_ : list of estimators or None
        The models, with ``store="models"``.
    classes_ : ndarray or None
        Task labels.
    backend_ : str
        How models were trained: ``joblib``, ``dask``, ``ray``, or together by ``linear``,
        ``perceptron`` or ``torch``.
    backend_reason_ : str
        Reason for ``backend_``: why models were not trained together, or how joint training failed.
    notes_ : list of str
        Notes about the training for readers of the results, one sentence each.
    n_records_ : int
        Number of records of the pool.
    design_ : tuple
        How training sets depend on each other: ``partners``, the model drawn in a pair with each
        (-1 for none), and ``n_in``, ``n_out``, the numbers of models of each block (``blocks``)
        that every record is in and out of where these are fixed, else infinite.

    Raises
    ------
    ValueError
        If a parameter is out of range, or a fitted part of the estimator cannot be fitted again
        because a function holds it.

    See Also
    --------
    skmia.attacks.LiRA : Likelihood-ratio attack on a pool.
    skmia.attacks.RMIA : Relative attack, suited to few models.

    Notes
    -----
    ``fit`` of the pool trains on the records that it is given. An attack whose pool is unfitted, or
    a number, and ``fit_transform`` fit one on the table that the records are slices of. All folds
    of a cross-validation are slices of one table, and membership is not an input of a pool, so one
    pool serves all folds, also those that are scored. Pools with equal parameters, apart from
    `n_jobs` and `verbose`, are one pool, also with ``random_state=None``: a search over attack
    settings trains one, a search over ``shadows=[4, 8, 16]`` three, and none that a fitted pool
    with these parameters already holds.

    The table holds the pools that it was given by attacks until it is deleted itself, with all
    slices of it. Each takes 4 bytes per model, record and signal or temperature, 1 byte per model
    and record, and less than 100 bytes per record; with ``store="outputs"`` or ``"models"`` it also
    takes these. To free them earlier, search over ``Records(records.X, records.y)`` and delete it
    afterwards. Each worker process of a search with `n_jobs` gets a copy of the table, trains the
    pool once, and keeps the table of its last task; with a pool that was fitted before, workers
    train nothing.

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

    _subjects = ("estimator",)

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"])],
        "n_estimators": [Interval(Integral, 2, MOST_MODELS, closed="both")],
        "max_samples": [
            Interval(Real, 0, 0.5, closed="right"),
            at_least(1),
        ],
        "design": [StrOptions({"paired", "balanced", "independent"})],
        "augment": [callable, None],
        "signals": [tuple, list],
        "temperatures": [tuple, list],
        "store": [StrOptions({"signals", "outputs", "models"})],
        "output_kind": [StrOptions({"auto", "label"})],
        "resolution": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "batched": ["boolean", StrOptions({"auto"}), at_least(2)],
        "refit_frozen": ["boolean"],
        "fit_params": [dict, callable, None],
        "checkpoint": [str, Path, None],
        "on_disk": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 64,
        *,
        max_samples: float | int = 0.5,
        design: Literal["paired", "balanced", "independent"] = "paired",
        augment: Callable[..., Any] | None = None,
        signals: Sequence[str | Signal] = ("auto",),
        temperatures: Sequence[float] = (1.0, 2.0),
        store: Literal["signals", "outputs", "models"] = "signals",
        output_kind: Literal["auto", "label"] = "auto",
        resolution: Literal["auto"] | float = "auto",
        batched: Literal["auto"] | bool | int = "auto",
        refit_frozen: bool = True,
        fit_params: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
        checkpoint: str | Path | None = None,
        on_disk: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.design = design
        self.augment = augment
        self.signals = signals
        self.temperatures = temperatures
        self.store = store
        self.output_kind = output_kind
        self.resolution = resolution
        self.batched = batched
        self.refit_frozen = refit_frozen
        self.fit_params = fit_params
        self.checkpoint = checkpoint
        self.on_disk = on_disk
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def from_outputs(
        cls,
        outputs: ArrayLike,
        membership: ArrayLike,
        records: Records,
        *,
        classes: ArrayLike | None = None,
        kind: Literal[
            "logits", "proba", "decision", "log_odds", "value", "values", "label"
        ] = "logits",
        estimator: BaseEstimator | None = None,
        augment: Callable[..., Any] | None = None,
        signals: Sequence[str | Signal] = ("auto",),
        temperatures: Sequence[float] | None = None,
        store: Literal["signals", "outputs"] = "signals",
        resolution: Literal["auto"] | float = "auto",
        verbose: int = 0,
    ) -> Self:
        """Create a fitted pool from outputs of models that were trained elsewhere.

        The result is the same as that of :meth:`fit` with the same models. Equal records count as
        one: a model trained on one of them counts as trained on all of them.

        Parameters
        ----------
        outputs : array-like of shape (n_estimators, n, n_classes) or \
                (n_estimators, n_queries, n, n_classes)
            Outputs of each model for each record, and for augmentations of them after the first
            query. The last axis is that of the targets for the kind ``"values"``, and missing for
            ``"log_odds"``, ``"value"`` and ``"label"``.
            It is read model by model, so it may be a memory-mapped array.
        membership : array-like of shape (n_estimators, n)
            1 where the model was trained on the record, else 0.
        records : Records of n records
            The records, in the order of the columns; see :meth:`skmia.Records.from_ids` if there
            are no features.
        classes : array-like of shape (n_classes,), default=None
            Labels of the last axis. If None, the sorted labels of the records.
        kind : {"logits", "proba", "decision", "log_odds", "value", "values", "label"}, \
                default="logits"
            Kind of the outputs, see :class:`~skmia.Outputs`.
        estimator : estimator, default=None
            Unfitted estimator with which the models were trained, if it is known.
            :class:`~skmia.attacks.LiRA` reads the number of voters from a forest or from nearest
            neighbors.
        augment : callable, default=None
            As in the constructor, for victims that are queried. Stored outputs of a victim for the
            further queries are fields ``outputs_1``, ``outputs_2``, ... of the records.
        signals : tuple of str or Signal, default=("auto",)
            As in the constructor; only signals of outputs.
        temperatures : tuple of float, default=None
            As in the constructor. If None, the default of the constructor is used; log odds have
            only 1.0.
        store : {"signals", "outputs"}, default="signals"
            As in the constructor.
        resolution : "auto" or float, default="auto"
            As in the constructor.
        verbose : int, default=0
            Verbosity level. If positive, a progress bar is shown.

        Returns
        -------
        pool : ShadowPool

        Raises
        ------
        ValueError
            If shapes do not agree, an output is NaN or a membership is neither 0 nor 1.

        See Also
        --------
        skmia.shadow.load_shadows : Reads such arrays from the folders of other programs.

        Examples
        --------
        >>> import numpy as np
        >>> from skmia import Outputs, Records, ShadowPool
        >>> from skmia.attacks import LiRA
        >>> rng = np.random.default_rng(0)
        >>> y, inside = rng.integers(3, size=200), rng.random((9, 200)) < 0.5
        >>> logits = rng.normal(size=(9, 200, 3)) + 3 * inside[..., None] * np.eye(3)[y]
        >>> records = Records.from_ids(np.arange(200), y)
        >>> pool = ShadowPool.from_outputs(logits[:8], inside[:8], records)
        >>> answers = Outputs(logits[8], [0, 1, 2], "logits")
        >>> attack = LiRA(None, pool).fit(records.with_fields(outputs=answers))
        >>> bool(attack.score(records.with_fields(outputs=answers), inside[8]) > 0.5)
        True
        """
        given = GivenOutputs(outputs, check_records(records, targets=True), classes, kind)
        if temperatures is None:
            temperatures = (1.0,) if kind == "log_odds" else cls().temperatures
        pool = make_unfitted(
            cls,
            n_estimators=given.n_models,
            estimator=estimator,
            augment=augment,
            signals=signals,
            temperatures=temperatures,
            store=store,
            resolution=resolution,
            verbose=verbose,
        )
        refuse_first(list_unanswerable(pool, kind))
        tables = [records.X] * given.n_queries
        membership = check_training_sets(membership, len(records), given.n_models)
        models = ((None, given.of_model(k)) for k in range(given.n_models))
        pool = import_models(pool, records, tables, membership, models)
        return warn_if_inverted(pool, kind)

    @classmethod
    def from_models(
        cls,
        models: Iterable[BaseEstimator],
        membership: ArrayLike,
        records: Records,
        *,
        estimator: BaseEstimator | None = None,
        augment: Callable[..., Any] | None = None,
        signals: Sequence[str | Signal] = ("auto",),
        temperatures: Sequence[float] = (1.0, 2.0),
        store: Literal["signals", "outputs", "models"] = "signals",
        output_kind: Literal["auto", "label"] = "auto",
        resolution: Literal["auto"] | float = "auto",
        verbose: int = 0,
    ) -> Self:
        """Create a fitted pool from models that were trained elsewhere.

        The pool is the one that :meth:`fit` would have made from the same models.

        Parameters
        ----------
        models : iterable of n_estimators fitted estimators
            Models like the victim. A generator that loads one after the other needs the memory of
            one model.
        membership : array-like of shape (n_estimators, n)
            1 where the model was trained on the record, else 0.
        records : Records of n records
            The records, in the order of the columns.
        estimator : estimator, default=None
            Unfitted estimator with which the models were trained, if it is known.
            :class:`~skmia.attacks.LiRA` reads the number of voters from a forest or from nearest
            neighbors.
        augment : callable, default=None
            As in the constructor.
        signals : tuple of str or Signal, default=("auto",)
            As in the constructor.
        temperatures : tuple of float, default=(1.0, 2.0)
            As in the constructor.
        store : {"signals", "outputs", "models"}, default="signals"
            As in the constructor.
        output_kind : {"auto", "label"}, default="auto"
            As in the constructor.
        resolution : "auto" or float, default="auto"
            As in the constructor.
        verbose : int, default=0
            Verbosity level. If positive, a progress bar is shown.

        Returns
        -------
        pool : ShadowPool

        Raises
        ------
        ValueError
            If shapes do not agree or a membership is neither 0 nor 1.
        TypeError
            If one of the models is not an estimator.
        NotFittedError
            If one of the models is not fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from skmia import ShadowPool
        >>> from skmia.datasets import make_membership_problem
        >>> records, _ = make_membership_problem(200, random_state=0)
        >>> inside = np.random.default_rng(0).random((4, 200)) < 0.5
        >>> trees = [DecisionTreeClassifier().fit(records.X[i], records.y[i]) for i in inside]
        >>> ShadowPool.from_models(trees, inside, records).signals_.shape
        (2, 1, 4, 200)
        """
        check_records(records, targets=True)
        membership = check_training_sets(membership, len(records))
        pool = make_unfitted(
            cls,
            n_estimators=len(membership),
            estimator=estimator,
            augment=augment,
            signals=signals,
            temperatures=temperatures,
            store=store,
            output_kind=output_kind,
            resolution=resolution,
            verbose=verbose,
        )
        tables = [copy.X for copy in augmented(records, augment)]
        asked = ((check_victim(model), None) for model in models)
        return warn_if_inverted(import_models(pool, records, tables, membership, asked))

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        membership: ArrayLike,
        records: Records,
        *,
        resolution: Literal["auto"] | float = "auto",
    ) -> Self:
        """Create a fitted pool from scaled logits that were computed elsewhere.

        Short for :meth:`from_outputs` with ``kind="log_odds"``.

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
            If the shapes differ, a score is NaN, a membership is neither 0 nor 1 or the
            resolution is negative.
        """
        check_records(records)
        scores, membership = check_scores(scores, membership, len(records), resolution)
        return cls.from_outputs(scores, membership, records, kind="log_odds", resolution=resolution)

    def fit(self, X: Records, y: Any = None) -> Self:
        """Train the shadow models.

        Callbacks of scikit-learn 1.9, such as ``set_callbacks(ProgressBar())``, are called for each
        model. Requests of a callback to stop are ignored, because attacks need the whole design.

        Parameters
        ----------
        X : Records of n records
            The population under audit, members and non-members of the victim mixed.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        check_settings(self)
        records = check_records(X, targets=True)
        refuse_first(list_unfit_for_targets(self, records))
        checkpoint, entropy = self._start(records)
        job, notes = make_job(self, records, entropy)
        check_first_answers(job)
        known = None if checkpoint is None else checkpoint.read_numbers()
        plan = plan_training(job, False if self.on_disk else self.batched, known=known)
        if checkpoint is not None:
            manifest = describe_job(job, records, entropy, describe_sampling(self), plan.numbers)
            checkpoint.open(manifest, job.keep)
        with saying_what_is_kept(checkpoint, self.n_estimators):
            results = run_visibly(plan, job, self.verbose, "shadow models", checkpoint)
            tell = self._gather_and_tell if hasattr(self, "_skl_callbacks") else self._gather
            got = tell(results, records)
        arrays = got.signals, got.outputs, job.subsets
        if self.on_disk:
            paths = checkpoint.paths(self.n_estimators)
            arrays = open_arrays(paths, len(records), self.store == "outputs")
        trained = mark_trained(job.estimator, records)
        arrays = (*arrays[:2], leave_untrained_out(arrays[2], trained))
        if why := why_not_class(job.estimator):
            notes = (*notes, f"The shadow models were trained one by one: {why}")
        self._set(got, arrays, records, plan, notes)
        if isinstance(checkpoint, MemoryCheckpoint):
            self._share(checkpoint)
        note_fit(self, records)
        return self

    def fit_transform(self, X: Records, y: Any = None) -> np.ndarray:
        """Fit the pool on the table of the records, and return the signals of the records.

        A Pipeline and a FeatureUnion call this method with a fold of the records. The pool then
        also knows the records of the other folds, see Notes.

        Parameters
        ----------
        X : Records of n records
            A table, or a slice of one.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        signals : ndarray of shape (n, n_estimators)
            As returned by :meth:`transform`.
        """
        records, settings = check_records(X), self.get_params(deep=False)
        fitted = {name for name in vars(self) if name.endswith("_") or name == "_answers"}
        own = (vars(self).keys() | settings.keys()) - fitted
        pool = fit_once(self, records)
        vars(self).update({name: part for name, part in vars(pool).items() if name not in own})
        return self.transform(records)

    def _gather(self, results, records):
        return gather_results(results, self.n_estimators, len(records), on_disk=self.on_disk)

    @with_callbacks
    def _gather_and_tell(self, results, records):
        return self._gather(self._tell_callbacks(results, records), records)

    def _tell_callbacks(self, results, records):
        """Yield the results, and tell the callbacks of scikit-learn of each one."""
        whole = self._init_callback_context(max_subtasks=self.n_estimators)
        whole.call_on_fit_task_begin(estimator=self, X=records)
        for result in results:
            task = whole.subcontext(task_name="shadow model")
            task.call_on_fit_task_begin(estimator=self)
            task.call_on_fit_task_end(estimator=self)
            yield result
        whole.call_on_fit_task_end(estimator=self, X=records)

    def _start(self, records):
        """Return the checkpoint and the entropy of all seeds, after checking for free memory."""
        n_signals = len(self.temperatures) + len(further_signals(self.signals))
        n_signals += records.y.size // len(records) - 1
        if not self.on_disk:
            check_room(self.n_estimators, len(records), n_signals)
        refuse_trained_module(unwrap(self.estimator))
        checkpoint = self._get_checkpoint()
        return checkpoint, draw_entropy(self.random_state, checkpoint)

    def _copy_continued(self, method):
        memory = vars(self).get("_memory")
        return {} if memory is None else {"_memory": memory.copy()}

    def _get_checkpoint(self):
        if self.checkpoint is not None:
            return FolderCheckpoint(self.checkpoint, self.on_disk)
        if not self.warm_start:
            self._memory = None
        elif getattr(self, "_memory", None) is None:
            self._memory = MemoryCheckpoint()
        return self._memory

    def _share(self, checkpoint):
        """Hold what is kept for a larger pool once, where the pool holds the same values."""
        checkpoint.share("raw", np.moveaxis(self.signals_, 2, 0))
        if self.outputs_ is not None:
            checkpoint.share("outputs", self.outputs_)

    def _set(self, got, arrays, records, plan, notes):
        """Set all fitted attributes."""
        warn_once(got.warnings, self.n_estimators)
        backend, reason = describe_training(plan, got.warnings, self.n_estimators)
        notes = [*notes, *note_failures(got.warnings, self.n_estimators)]
        design = drawn_design(self.n_estimators, self.design)
        classes = got.last.arrays.get("classes")
        self._set_answers(make_answers(self, got, arrays, records, design, classes), notes)
        self.backend_, self.backend_reason_ = backend, reason

    def _set_answers(self, answers, notes):
        """Set what every fitted pool has."""
        self._answers, self.notes_ = answers, notes

    def to_answers(self) -> PoolAnswers:
        """Return what the models answered: the value that attacks read.

        Returns
        -------
        answers : PoolAnswers
        """
        if not hasattr(self, "_answers"):
            check_is_fitted(self)
        return self._answers

    def first(self, n_estimators: int) -> Self:
        """Return a pool of the first models only.

        Parameters
        ----------
        n_estimators : int
            Number of models, at most the size of the pool.

        Returns
        -------
        pool : ShadowPool
            Fitted pool that shares the arrays of this one. It holds nothing for a larger pool.
        """
        pool = self.with_answers(self.to_answers().first(n_estimators))
        pool.n_estimators = n_estimators
        return pool

    def with_relatives(self, relatives: Records, records: Records) -> Self:
        """Return a pool in which changed records have the training sets of their originals.

        Parameters
        ----------
        relatives : Records of n records
            Changed records, such as points around the records of the pool.
        records : Records of n records
            The original of each.

        Returns
        -------
        pool : ShadowPool
            Fitted pool that shares the arrays of this one. In :meth:`blocks` and
            :meth:`count_inside`, a model counts as trained on a relative that is not itself in the
            pool if it was trained on the original.
        """
        return self.with_answers(self.to_answers().with_relatives(relatives, records))

    def part(self, columns: np.ndarray) -> Self:
        """Return a pool of some records, for attacks that were fitted to the whole.

        Parameters
        ----------
        columns : ndarray of shape (n,)
            Columns, as returned by :meth:`locate`, none of them -1.

        Returns
        -------
        pool : ShadowPool
            Fitted pool of these records. Where they are neighbors, it shares the arrays of this
            one, and signals in files stay there.
        """
        return self.with_answers(self.to_answers().part(columns))

    def with_answers(self, answers: PoolAnswers) -> Self:
        """Return a copy of the pool with other answers, which holds nothing for a larger pool.

        Parameters
        ----------
        answers : PoolAnswers
            Answers, such as those of some of the models.

        Returns
        -------
        pool : ShadowPool
            Fitted pool.
        """
        pool = copy.copy(self)
        pool._answers, pool._memory = answers, None
        return pool

    # What attacks and users ask of a fitted pool.
    membership_: np.ndarray = _read_answers("membership")
    signals_: np.ndarray = _read_answers("signals")
    outputs_: np.ndarray | None = _read_answers("outputs")
    estimators_: list | None = _read_answers("estimators")
    classes_: np.ndarray | None = _read_answers("classes")
    stored_: list = _read_answers("stored")
    signal_: str = _read_answers("signal")
    output_kind_: str = _read_answers("kind")
    temperatures_: tuple[float, ...] = _read_answers("temperatures")
    resolution_: np.ndarray = _read_answers("resolution")
    joint_residual_: JointResidual | None = _read_answers("joint_residual")
    scale_: float | None = _read_answers("scale")
    design_: SubsetDesign = _read_answers("design")
    n_records_: int = _read_answers("n_records")
    n_inside: np.ndarray = _read_answers("n_inside")
    locate = _ask_answers(PoolAnswers.locate)
    locate_usable = _ask_answers(PoolAnswers.locate_usable)
    locate_signal = _ask_answers(PoolAnswers.locate_signal)
    how_to_know = _ask_answers(PoolAnswers.how_to_know)
    count_inside = _ask_answers(PoolAnswers.count_inside)
    inside = _ask_answers(PoolAnswers.inside)
    draw_columns = _ask_answers(PoolAnswers.draw_columns)
    blocks = _ask_answers(PoolAnswers.blocks)
    answers = _ask_answers(PoolAnswers.answers)
    values = _ask_answers(PoolAnswers.values)
    values_at = _ask_answers(PoolAnswers.values_at)
    victim_values = _ask_answers(PoolAnswers.victim_values)
    get_law = _ask_answers(PoolAnswers.get_law)
    moments = _ask_answers(PoolAnswers.moments)

    def membership(self, records: Records) -> np.ndarray:
        """Return which models were trained on each record.

        Parameters
        ----------
        records : Records of n records
            Any records; those that are not in the pool were in no training set.

        Returns
        -------
        inside : ndarray of shape (n, n_estimators), dtype bool
        """
        answers = self.to_answers()
        check_records(records, targets=True)
        return answers.inside(answers.locate(records)).T

    @property
    def keeps(self) -> frozenset:
        """What is, or will be, kept of each shadow model, in the terms of :class:`Needs.keeps`."""
        if hasattr(self, "_answers"):
            return self._answers.keeps
        kind, model = self._expected_kind(), self.estimator if self.store == "models" else None
        signals = signals_of(kind, self.signals, self.temperatures)
        return name_kept(signals, self.temperatures, kind, self.store != "signals", model)

    def _expected_kind(self):
        """Return the kind of the outputs of models that are yet to be trained."""
        return "label" if self.output_kind == "label" else get_kind(unwrap(self.estimator))

    def transform(self, X: Records) -> np.ndarray:
        """Return the first stored signal of each shadow model on each record.

        Parameters
        ----------
        X : Records of n records
            Records of the pool; others need ``store="models"``.

        Returns
        -------
        values : ndarray of shape (n, n_estimators)
            Higher means more like a member.

        Raises
        ------
        ValueError
            If a record is not in the pool and the models were not kept.
        """
        check_is_fitted(self)
        records = check_records(X, targets=True)
        return label_rows(self, self.values(X, self.stored_[0])[0].T.copy(), records)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of :meth:`transform`, one per shadow model.

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


ShadowPool.__module__ = "skmia"  # from where it is imported
