"""Whether a mechanism can write token by token: with a state of what came before, or not."""

from attncost import mechanisms
from attncost.core.errors import UnsupportedOption
from attncost.mechanisms.interface import Mechanism, Recurrent


def streaming(mechanism: Mechanism) -> Recurrent:
    """Return a mechanism that reads a sequence in pieces, and refuse any other.

    Raises:
        UnsupportedOption: If it reads ahead; the message names one that does not.
    """
    if isinstance(mechanism, Recurrent) and mechanism.causal:
        return mechanism
    able = ", ".join(map(str, _able()))
    raise UnsupportedOption(
        f"{mechanism} reads ahead, so a token cannot be decoded before later ones are there: take "
        f"{able}, or run the whole sequence."
    )


def _able() -> list[Recurrent]:
    """Return one of each kind that streams."""
    found: list[Recurrent] = []
    for name in mechanisms.names():
        examples = mechanisms.load(name).examples()
        ready = [one for one in examples if isinstance(one, Recurrent) and one.causal]
        found += ready[:1]
    return found
