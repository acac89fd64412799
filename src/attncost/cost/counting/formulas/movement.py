"""What operations move that compute nothing: copies, gathers, concatenations, fills.

They cost bytes alone. A fill, and a copy into a tensor, read nothing of what was there.
"""

from typing import Final

from torch import Tensor

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.names import aten
from attncost.cost.counting.formulas.traffic import Argument, moving, traffic
from attncost.cost.counting.registry import price

MOVEMENT: Final = "movement"
_COPIES: Final = aten("""
    clone _to_copy lift_fresh_copy cat _chunk_cat stack block_diag constant_pad_nd
    reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d
    replication_pad3d repeat roll flip rot90 diag_embed im2col channel_shuffle
    pixel_shuffle pixel_unshuffle native_channel_shuffle slice_backward select_backward
    diagonal_backward as_strided_scatter select_scatter slice_scatter diagonal_scatter
    upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d _pin_memory
    _nested_tensor_from_mask _nested_from_padded _nested_tensor_from_tensor_list
    to_padded_tensor _jagged_to_padded_dense_forward _padded_dense_to_jagged_forward
    _nested_select_backward to_mkldnn _to_dense _to_sparse _to_sparse_csr _to_sparse_csc
    _to_sparse_bsr _to_sparse_bsc _coalesce _pack_padded_sequence _mkldnn_reshape
    _mkldnn_transpose mkldnn_reorder_conv2d_weight mkldnn_reorder_conv3d_weight
    max_unpool2d max_unpool3d masked_scatter masked_scatter_ masked_scatter_backward
    _cudnn_rnn_flatten_weight index_fill index_fill_ _reshape_copy
    _convert_weight_to_int4pack _convert_weight_to_int4pack_for_cpu
""")
_FILLS: Final = aten("""
    zeros zeros_like ones ones_like full full_like new_zeros new_ones new_full fill fill_
    zero zero_ arange range linspace logspace eye scalar_tensor tril_indices triu_indices
    hann_window hamming_window blackman_window bartlett_window kaiser_window
    _efficientzerotensor _new_zeros_with_same_feature_meta fft_fftfreq fft_rfftfreq
""")


@moving(*_COPIES, step=MOVEMENT)
def copied(*_: Argument, **__: Argument) -> Cost:
    """Return the cost of a copy: what the rule of bytes adds."""
    return Cost()


@price(*_FILLS, step=MOVEMENT)
def filled(*_: Argument, out: Argument, **__: Argument) -> Cost:
    """Return the cost of writing what nothing was read for."""
    return Cost(bytes=traffic((), out))


@price("aten::copy_", "aten::copy", "aten::_copy_from", step=MOVEMENT)
def overwritten(target: Tensor, source: Tensor, *_: Argument, out: Tensor) -> Cost:
    """Return the cost of a copy into a tensor whose old numbers nobody reads."""
    return Cost(bytes=traffic(source, out))
