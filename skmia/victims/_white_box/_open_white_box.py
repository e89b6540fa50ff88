"""Opening a victim by the family of its model."""

from sklearn.base import BaseEstimator

from ..._core.numbers import check_count
from ..._core.query import check_victim, open_steps
from ..._core.skorch_nets import is_skorch
from .._training_function import has_logits_of_module
from ._base import WhiteBox
from ._dense import NAMES, open_sklearn


def open_white_box(victim: BaseEstimator, *, chunk_size: int | None = None) -> WhiteBox:
    """Return the gradients and layers of a fitted victim.

    Parameters
    ----------
    victim : fitted estimator
        A skorch ``NeuralNetClassifier``, ``NeuralNetBinaryClassifier`` or ``NeuralNetRegressor``,
        or a ``LogisticRegression``, ``LinearRegression``, ``Ridge``, ``MLPClassifier`` or
        ``MLPRegressor`` of scikit-learn; alone, as the last step of a Pipeline, or chosen by a
        search. Or a
        :class:`FunctionClassifier` of a torch module that returns logits. The loss of a
        skorch net is that of its own criterion, or of its ``get_loss``, for the record alone. The
        class weights of a criterion that averages by them, such as ``CrossEntropyLoss(weight)``,
        cancel for one record; with ``reduction="sum"`` they count.
    chunk_size : int, default=None
        Number of rows that are processed at once. If None, as many as take about 100 MiB (1 GiB on
        a GPU).

    Returns
    -------
    white_box : WhiteBox

    Raises
    ------
    TypeError
        If the gradients of the victim are not available.

    See Also
    --------
    WhiteBox : Gradients and layers of a victim.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from skmia.victims import open_white_box
    >>> X, y = load_iris(return_X_y=True)
    >>> mlp = MLPClassifier(8, solver="lbfgs", max_iter=2000, random_state=0)
    >>> white_box = open_white_box(make_pipeline(MinMaxScaler(), mlp).fit(X, y))
    >>> inputs = white_box.encode(X)
    >>> float(inputs.max()), white_box.n_parameters
    (1.0, 67)
    >>> white_box.gradient_norms(inputs, y).shape
    (150,)
    >>> [values.shape for values in white_box.layer_outputs(inputs)]
    [(150, 8), (150, 3)]
    """
    if chunk_size is not None:
        check_count(chunk_size, "chunk_size")
    transformers, model = open_steps(check_victim(victim))
    white_box = open_sklearn(model, transformers, chunk_size)
    if is_skorch(model):
        from ._torch import open_net

        white_box = open_net(model, transformers, chunk_size)
    if has_logits_of_module(model):
        from ._torch import open_module

        white_box = open_module(model, transformers, chunk_size)
    if white_box is None:
        raise TypeError(
            "White-box access needs gradients, which skmia has of skorch nets, torch modules in a "
            f"FunctionClassifier, {NAMES}; got {type(model).__name__}. Signals that need only "
            "answers, such as loss, modified_entropy or correctness, work with any victim."
        )
    return white_box
