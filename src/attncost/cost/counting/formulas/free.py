"""What costs nothing, said operation by operation: new memory, views, questions and checks.

A view is free where PyTorch says that all it returns shares memory with what it got and nothing is
written. What is listed here is free, though PyTorch does not say so.
"""

from typing import Final

from torch._ops import OpOverload

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.names import aten
from attncost.cost.counting.formulas.traffic import Argument
from attncost.cost.counting.registry import Price, price

# Memory that nothing is written to yet, or that changes hands.
_NEW: Final = aten("""
    empty empty_like empty_strided empty_permuted new_empty new_empty_strided
    empty_quantized _empty_affine_quantized _empty_per_channel_affine_quantized resize_
    resize_as_ _resize_output_ set_ _sparse_coo_tensor_with_dims_and_tensors
    _sparse_coo_tensor_with_dims sparse_coo_tensor sparse_compressed_tensor _coalesced_
    from_file
""")
# Views that PyTorch does not mark: outputs that its autograd treats as new.
_VIEWS: Final = aten("""
    _unsafe_view unsafe_split unsafe_split_with_sizes lift as_strided_ squeeze_ unsqueeze_
    t_ transpose_ swapaxes_ swapdims_ detach_ _nested_view_from_buffer _lazy_clone
""")
# Numbers and facts about a tensor, and checks of values that a model does not compute with.
_QUESTIONS: Final = aten("""
    sym_size sym_numel sym_stride sym_storage_offset sym_is_contiguous size stride numel
    dim is_same_size is_pinned is_set_to is_coalesced _local_scalar_dense item
    record_stream _has_same_storage_numel _nnz sparse_dim dense_dim _dimI _dimV q_scale
    q_zero_point qscheme q_per_channel_scales q_per_channel_zero_points q_per_channel_axis
    _nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets
    _nested_get_offsets _nested_get_lengths _nested_get_ragged_idx _nested_get_min_seqlen
    _nested_get_max_seqlen _nested_get_jagged_dummy
    _nested_compute_contiguous_strides_offsets _nested_tensor_from_mask_left_aligned
    _fused_sdp_choice _assert_async _functional_assert_async _assert_scalar
    _functional_assert_scalar _assert_tensor_metadata sym_constrain_range
    sym_constrain_range_for_size _functional_sym_constrain_range
    _functional_sym_constrain_range_for_size _make_dep_token _linalg_check_errors _print
    _validate_compressed_sparse_indices
""")
_OTHERS: Final = (
    "prim::device",
    "prim::layout",
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "debug_mode_ops::annotate",
    "inductor::resize_storage_bytes_",
    "inductor::_reinterpret_tensor",
    "inductor::_alloc_from_pool",
    "export::access_subclass_inner_tensor",
)


def nothing(*_: Argument, **__: Argument) -> Cost:
    """Return that an operation costs nothing."""
    return Cost()


FREE: Final = Price("movement", nothing)

price(*(_NEW + _VIEWS + _QUESTIONS), *_OTHERS, step=FREE.step)(nothing)


def is_view(operation: OpOverload) -> bool:
    """Say whether all that an operation returns is memory that it was given, not written to."""
    returned = operation._schema.returns
    return bool(returned) and all(
        part.alias_info is not None and not part.alias_info.is_write for part in returned
    )
