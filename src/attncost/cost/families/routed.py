"""What models with experts share: how the settings say them, and which layers have them."""

from collections.abc import Iterable

from attncost.core.errors import ShapeError
from attncost.cost.families.said import Said
from attncost.cost.model.dense import Dense
from attncost.cost.model.experts import Experts
from attncost.cost.model.feed import Feed
from attncost.cost.model.layer import Layer
from attncost.cost.model.mixer import Mixer


def experts(
    said: Said,
    *,
    count: tuple[str, ...],
    width: str = "moe_intermediate_size",
    shared: Dense | None = None,
    biased: bool = False,
) -> Experts:
    """Return a mixture of gated experts.

    Args:
        said: The settings of the model.
        count: Every name for the number of experts, the one with a default last.
        width: The name of the features inside an expert.
        shared: What every token passes through besides.
        biased: Whether experts and router have biases.

    Raises:
        ShapeError: If a token visits more experts than there are.
    """
    key = next((key for key in count if said.get(key) is not None), count[-1])
    there, active = said.size(key), said.size("num_experts_per_tok")
    if active > there:
        raise ShapeError(
            f"num_experts_per_tok of {said.name} must be at most {key}, got {active} of {there}."
        )
    return Experts(
        expert=wide(said, said.size(width), biased=biased),
        experts=there,
        active=active,
        shared=shared,
        router_bias=biased,
    )


def wide(said: Said, hidden: int, *, biased: bool = False) -> Dense:
    """Return a gated feed-forward with so many features inside."""
    return Dense(d_model=said.size("hidden_size"), hidden=hidden, gated=True, biased=biased)


def layers(mixers: Iterable[Mixer], feeds: Iterable[Feed], *, d_model: int) -> list[Layer]:
    """Return layers with a norm before each half."""
    both = zip(mixers, feeds, strict=True)
    return [Layer(d_model=d_model, mixers=(one,), feed=feed, norms=2) for one, feed in both]


def dense_or_routed(said: Said, *, biased: bool = False) -> list[Feed]:
    """Return the feed-forward of each layer by the names that DeepSeek has for their sizes.

    Args:
        said: The settings of the model.
        biased: Whether those without experts and the shared experts have biases.

    Raises:
        ShapeError: If a size is missing or impossible, or a kind of layer is not understood.
    """
    dense = wide(said, said.size("intermediate_size"), biased=biased)
    times = said.size("n_shared_experts") if said.get("n_shared_experts") else 0
    inside = times * said.size("moe_intermediate_size")
    shared = wide(said, inside, biased=biased) if inside else None
    other = "num_experts" if said.kind == "deepseek_v2" else "num_local_experts"
    routed = experts(said, count=(other, "n_routed_experts"), shared=shared)
    return dense_first(said, dense=dense, routed=routed)


def dense_first(said: Said, *, dense: Feed, routed: Feed) -> list[Feed]:
    """Return the feed-forward of each layer: as it is said, or experts after the first few.

    Raises:
        ShapeError: If a kind is not understood, or `first_k_dense_replace` no whole number from 0.
    """
    every, types = said.size("num_hidden_layers"), said.listed("mlp_layer_types", str)
    if types is None:
        if said.get("moe_layer_freq") not in (None, 1):
            raise said.refused("has experts in every few layers alone (moe_layer_freq)")
        key = "first_k_dense_replace"
        first = 0 if said.get(key) == 0 else min(said.size(key), every)
        return [dense] * first + [routed] * (every - first)
    if len(types) != every or not set(types) <= {"dense", "sparse"}:
        raise said.refused(f"has mlp_layer_types {types} in {every} layers")
    return [routed if one == "sparse" else dense for one in types]
