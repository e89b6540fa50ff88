"""The one place that imports private parts of scikit-learn."""

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
    validate_parameter_constraints,
)

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "Options",
    "StrOptions",
    "validate_params_of",
]


def validate_params_of(estimator):
    """Check the parameters of an estimator against its ``_parameter_constraints``.

    Raises
    ------
    InvalidParameterError
        Names the parameter, the allowed values and the value that was got.
    """
    validate_parameter_constraints(
        estimator._parameter_constraints,
        estimator.get_params(deep=False),
        caller_name=type(estimator).__name__,
    )
