"""Base class of the distributions of a signal among the IN and among the OUT models."""


class Law:
    """Base class of distributions that are fitted and described query by query.

    A subclass implements ``_fit_query(sides, query)``, ``_describe(sides, prior, query)`` and
    ``log_ratio(target, laws)``.

    Parameters
    ----------
    shrinks : bool
        Whether the gap or share of a record is shrunk to its trend as much as the pool calls for;
        if False, it is put on its trend.
    """

    change = None  # values are compared as they are

    def __init__(self, shrinks):
        self.shrinks = shrinks

    def read(self, values):
        """Return values on the scale on which they are compared."""
        return values if self.change is None else self.change(values)

    def fit(self, sides):
        """Fit the priors of all queries to the moments of many records."""
        return [self._fit_query(sides, query) for query in range(len(sides.into.mean))]

    def describe(self, sides, priors):
        """Return the distributions of the IN and of the OUT models of each record, for each query.

        Returns
        -------
        laws : list of tuple
            For each query the two distributions, in the form that ``log_ratio`` takes.
        """
        return [self._describe(sides, prior, query) for query, prior in enumerate(priors)]
