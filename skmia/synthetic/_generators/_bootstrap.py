"""Training rows drawn again."""

from ._base import BaseGenerator


class BootstrapGenerator(BaseGenerator):
    """Generator that draws training rows with replacement.

    The table is as useful as a table can be, and each row is a copy of a training row: the other
    end of the scale from an independent sample when generators are compared.

    Attributes
    ----------
    n_rows_ : int
        Number of training rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    See Also
    --------
    SmoteGenerator : Generator of rows between training rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from skmia.synthetic import BootstrapGenerator
    >>> table = pd.DataFrame({"age": [20, 30], "sex": ["f", "m"]})
    >>> BootstrapGenerator().fit(table).sample(3, random_state=0)
       age sex
    0   20   f
    1   30   m
    2   30   m
    """

    _parameter_constraints: dict = {}

    def _fit(self, table):
        self._table = table

    def _draw(self, n_samples, random_state):
        return self._table.iloc[random_state.randint(len(self._table), size=n_samples)]
