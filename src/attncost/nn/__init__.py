"""Modules of PyTorch around exact attention and its approximations, and caches for decoding."""

from attncost.nn.attention import Attention as Attention
from attncost.nn.block import TransformerBlock as TransformerBlock
from attncost.nn.cache import Cache as Cache
from attncost.nn.cache_for import cache_for as cache_for
from attncost.nn.dynamic_cache import DynamicCache as DynamicCache
from attncost.nn.multihead import MultiheadAttention as MultiheadAttention
from attncost.nn.rolling_cache import RollingCache as RollingCache
from attncost.nn.rope import Rope as Rope
from attncost.nn.state_cache import StateCache as StateCache
from attncost.nn.static_cache import StaticCache as StaticCache
