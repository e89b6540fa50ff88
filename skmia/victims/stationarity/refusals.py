"""Settings of linear models by which their optimum is not known."""

WEIGHTED = "class weights multiply its gradients by numbers that depend on who is a member"

# Solvers that come to the optimum, up to rounding.
_EXACT = "svd", "cholesky"


def why_not_least_squares(model):
    """Why the optimum of a fitted LinearRegression is not read, or None."""
    if model.positive:
        return "coefficients that were kept at 0 are not at the optimum"
    return _why_several(model)


def why_not_ridge(model):
    """Why the optimum of a fitted Ridge or RidgeClassifier is not read, or None."""
    if getattr(model, "class_weight", None) is not None:
        return WEIGHTED
    if model.positive:
        return "coefficients that were kept at 0 are not at the optimum"
    if model.solver_ not in _EXACT:
        return (
            f"solver={model.solver_!r} stops at another point, and only svd and cholesky are known"
        )
    return _why_several(model)


def why_not_chosen_ridge(model):
    """Why the optimum of a fitted RidgeCV or RidgeClassifierCV is not read, or None."""
    if getattr(model, "class_weight", None) is not None:
        return WEIGHTED
    if model.cv is not None:
        return f"cv={model.cv!r} leaves open by which solver it was fitted"
    return _why_several(model)


def _why_several(model):
    is_classifier = hasattr(model, "classes_")
    return "it has several outputs" if not is_classifier and model.coef_.ndim > 1 else None
