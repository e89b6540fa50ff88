"""Base class of the ways to train the models of a job."""

from abc import ABC, abstractmethod


class Way(ABC):
    """A way to train the models of a job.

    Attributes
    ----------
    name : str
        Name of the way, as shown in ``ShadowPool.backend_``.
    together : bool
        Whether many models are trained in one program.
    exact : bool
        Whether the models equal models trained one by one.
    note : str
        What :meth:`chosen` and :meth:`tuned` chose, in a few words; empty for nothing.
    slower : str or None
        Why training one by one takes less time, as :meth:`chosen` has found; None if it does not.
    """

    name: str
    note = ""
    slower: str | None = None
    together = True
    exact = True

    @abstractmethod
    def why_not(self, job):
        """Return the reason why the way cannot train a job, in one sentence, or None."""

    def is_meant_for(self, estimator):
        """Whether the way trains estimators of this kind, with suitable parameters."""
        return False

    def nearly(self, job):
        """Return what in the user's code prevents training a job for which the way is meant.

        Returns
        -------
        reason : str or None
            One sentence; None if the way can train the job, or is meant for other estimators.
        """
        return None

    @property
    def numbers(self):
        """Name that is equal for ways with bitwise the same results."""
        return self.name

    def chosen(self, job, known=None, forced=False):
        """Return the way with the variant that takes the least time here.

        Parameters
        ----------
        job : Job
            Job that the way can train.
        known : str, default=None
            Attribute ``numbers`` of the way by which some of the models were trained before.
        forced : bool, default=False
            Whether models are trained together even if that takes more time.

        Returns
        -------
        way : Way
        """
        return self

    def tuned(self, job, known=None):
        """Return the way with faster arithmetic that changes the last digits, if there is one here.

        Parameters
        ----------
        job : Job
            Job that the way can train.
        known : str, default=None
            Attribute ``numbers`` of the way by which some of the models were trained before.

        Returns
        -------
        way : Way
        """
        return self

    @abstractmethod
    def run(self, job, models, where):
        """Train some of the models of a job.

        Parameters
        ----------
        job : Job
            Job that the models belong to.
        models : iterable of int
            Numbers of the models to train.
        where : Workers
            Runs the tasks.

        Yields
        ------
        k, kept : int, Kept
            Number and results of each model, in any order, as soon as it is trained. Models that
            were not requested may also appear if they come from the same computation.
        """
