"""Turn the attention of a finished model into ours: any pattern, right masks, the same parameters.

It becomes ours where it stands, so optimizers, hooks, tied layers and every other reference to it
hold. What a layer reads can be changed again; its old class does not come back.
"""

from fnmatch import fnmatchcase

from torch import nn

from attncost.core.errors import UnknownName, UnsupportedOption
from attncost.nn.extra_keys import check_pattern
from attncost.nn.multihead import MultiheadAttention
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern


def swap_multihead(
    module: nn.Module, pattern: Pattern = Full(), *, where: str | None = None
) -> tuple[str, ...]:
    """Make every `torch.nn.MultiheadAttention` of a module ours, or change the pattern of ours.

    Either all are changed or, after an error, none.

    >>> import torch
    >>> import attncost as ac
    >>> model = torch.nn.TransformerDecoderLayer(8, nhead=2)
    >>> ac.swap_multihead(model, ac.Window(width=128), where="self_attn")
    ('self_attn',)

    Args:
        module: A model or a layer.
        pattern: Which key each query reads.
        where: Only modules whose name, as in `named_modules`, this fits; `*` and `?` as in file
            names.

    Returns:
        The names of the modules that now read by `pattern`; "" is the module itself.

    Raises:
        UnknownName: If there is no such module, or none that `where` fits.
        UnsupportedOption: If one is of a class made from `torch.nn.MultiheadAttention`, or adds
            keys that a pattern cannot read, or if a mechanism is given.
    """
    every = {
        name: one
        for name, one in module.named_modules(remove_duplicate=False)
        if isinstance(one, nn.MultiheadAttention)
    }
    found = {name: one for name, one in every.items() if where is None or fnmatchcase(name, where)}
    if not found:
        kind = f"torch.nn.MultiheadAttention in {type(module).__name__}"
        raise UnknownName(kind, "*" if where is None else where, every)
    for name, one in found.items():
        if type(one) not in (nn.MultiheadAttention, MultiheadAttention):
            kind = f"{type(one).__module__}.{type(one).__qualname__}"
            raise UnsupportedOption(
                f"{name or 'the module'} is a {kind}, whose own behaviour would be lost: "
                "choose others with `where`."
            )
        check_pattern(one, pattern)
    for one in found.values():
        one.__class__ = MultiheadAttention
        assert isinstance(one, MultiheadAttention), "it has just become one"
        one.pattern = pattern
        one._qkv_same_embed_dim = False
    return tuple(found)
