"""Whether the model gives equal answers to equal rows."""

from ._base import AgreementQuestion

_CURE = (
    "If that is not meant, put a net into evaluation mode (net.eval()), or fix the seed of what "
    "predict draws; if it is, state the noise with the results, which hold for one draw of it."
)


class RepeatsQuestion(AgreementQuestion):
    """Whether answers are the same when the model is asked again."""

    name = "repeats"

    def ask(self, met, references):
        # A service that counts its queries is only asked where an audit would be stopped.
        return None if met.is_counted else self.warn_of_noise(met)

    def warn_of_noise(self, met):
        """The warning where answers differ, whoever is asked."""
        if met.repeats is not False:
            return None
        return self.warn("The model gives other answers when it is asked again.", _CURE)
