"""GPUs by name: memory, bandwidth, peaks and links, as their vendors print them.

    ridge = peak / bandwidth: the FLOPs a byte from which a device is bound by arithmetic

Peaks are dense ones, without the sparsity that doubles them in datasheets, and sums of 16-bit
products are in float32, as PyTorch asks for. No program reaches them. Memory is vendors' GB of 10^9
bytes; drivers report up to 8 % more (80 GB of HBM is 79 to 80 GiB) or, where error correction takes
its share of GDDR, 1 to 3 % less, so give a number where it is tight.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, final

from attncost.core.errors import UnknownName
from attncost.core.notebook import as_html

# What drivers and shops put around a name, and what `sxm4` adds to `sxm`.
_AROUND: Final = r"nvidia|amd|tesla|geforce|rtx|instinct|tensor|core|gpu|hbm\w*|(?<=sxm)\d"
_GIGA: Final = 10**9
_TERA: Final = 10**12


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """One device, as its vendor states it.

    Attributes:
        name: Its name here.
        title: Its name in full.
        memory: Bytes.
        bandwidth: Bytes a second between memory and arithmetic.
        peaks: Dense FLOP/s by the type of the factors; operations a second for int8.
        link: What connects it with other devices.
        link_bandwidth: Bytes a second over all its links, in one direction.
        source: The datasheet and its year.
    """

    _repr_html_ = as_html

    name: str
    title: str
    memory: int
    bandwidth: int
    peaks: Mapping[str, int] = field(hash=False)
    link: str
    link_bandwidth: int
    source: str

    def peak(self, dtype: str) -> int:
        """Return the dense FLOP/s for factors of a type.

        Raises:
            UnknownName: If it has no such arithmetic.

        >>> device("h100").peak("bfloat16")
        989400000000000
        """
        if dtype not in self.peaks:
            raise UnknownName(f"arithmetic of the {self.title}", dtype, self.peaks)
        return self.peaks[dtype]

    def ridge(self, dtype: str) -> float:
        """Return the FLOPs a byte from which arithmetic takes longer than memory.

        >>> round(device("h100").ridge("bfloat16"))
        295
        """
        return self.peak(dtype) / self.bandwidth


def devices() -> tuple[str, ...]:
    """Return the names of all devices; of those that are alike the one that is meant comes first.

    >>> devices()[:3]
    ('h100-sxm', 'h100-pcie', 'h100-nvl')
    """
    return tuple(_known())


def device(name: str) -> Device:
    """Return a device by its name here, or as a driver or a shop writes it.

    What a name leaves open is that of the first device in `devices()` that it fits: SXM before
    PCIe, more memory before less.

    Raises:
        UnknownName: If there is none.

    >>> device("H100").title, device("NVIDIA A100-SXM4-40GB").name
    ('NVIDIA H100 SXM 80 GB', 'a100-sxm-40gb')
    """
    asked = set(_words(name))
    for known in _known().values():
        model, *others = _words(known.name)
        if model in asked and asked <= {model, *others, f"{known.memory // _GIGA}gb"}:
            return known
    raise UnknownName("device", "-".join(_words(name)) or name, devices())


@cache
def _known() -> Mapping[str, Device]:
    text = (files(__package__) / "devices.json").read_text(encoding="utf-8")
    rows = (_read(row) for row in json.loads(text, parse_float=Decimal, parse_int=Decimal))
    return MappingProxyType({one.name: one for one in rows})


def _read(row: dict[str, Any]) -> Device:
    return Device(
        name=row["name"],
        title=row["title"],
        memory=int(row["memory"] * _GIGA),
        bandwidth=int(row["bandwidth"] * _GIGA),
        peaks=MappingProxyType({name: int(peak * _TERA) for name, peak in row["peaks"].items()}),
        link=row["link"],
        link_bandwidth=int(row["link_bandwidth"] * _GIGA),
        source=row["source"],
    )


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", re.sub(_AROUND, " ", name.lower()))
