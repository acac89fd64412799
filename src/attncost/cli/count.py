"""`attncost count`: FLOPs and bytes of any model by module; the difference of two."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final, final

import typer

from attncost.cli._command import changed, command
from attncost.cli._magnitudes import check_share, magnitude
from attncost.cli._model import subject
from attncost.cli._printed import printed
from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from attncost.core.cost import Cost
    from attncost.core.counts import Count
    from attncost.cost.cheaper import Compared
    from attncost.cost.counting.counted import Counted
    from attncost.cost.memory.footprint import Footprint
    from attncost.integrations.weightless import Weightless
    from attncost.report.conventions import Utilisation
    from attncost.report.document import Document
    from attncost.report.subject import Subject

_LONGEST: Final = 32_768  # where a model does not say less


def count(
    model: Annotated[
        str, typer.Argument(help="demo, a layer, a folder, a preset, package.module:factory")
    ],
    other: Annotated[str | None, typer.Argument(help="a second one, to compare")] = None,
    length: Annotated[
        int | None,
        typer.Option(
            help="tokens of a sequence; left out: 2048, or fewer if the model takes no more"
        ),
    ] = None,
    batch: Annotated[int | None, typer.Option(help="sequences; 1, if left out")] = None,
    training: Annotated[
        bool | None,
        typer.Option(
            "--training/--forward",
            help="also count the backward pass; left out: only with --tokens-per-second",
        ),
    ] = None,
    memory: Annotated[
        bool, typer.Option("--memory", help="also what is in memory at the worst moment")
    ] = False,
    optimizer: Annotated[
        str | None,
        typer.Option(help="adamw, momentum or sgd: its state and step, with --memory --training"),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(help="modules in modules to show; as many as fit a screen")
    ] = None,
    tokens_per_second: Annotated[
        float | None, typer.Option(help="from a log, all devices together: says the MFU")
    ] = None,
    peak: Annotated[str | None, typer.Option(help="FLOP/s of a device, such as 312T")] = None,
    devices: Annotated[int, typer.Option(help="that shared the tokens")] = 1,
    claimed: Annotated[
        str | None, typer.Option(help="an MFU, such as 46.2%: says the convention it is in")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, every digit")] = False,
) -> None:
    """Count what a model costs, without its weights: FLOPs, bytes, by step and by module.

    For instance: attncost count llama-3-8b --tokens-per-second 10000 --peak 989T
    """
    from attncost.integrations.weightless import weightless
    from attncost.report.counted import count_document

    if depth is not None and depth < 1:
        raise ShapeError(f"--depth must be at least 1, got {depth}.")
    speed = _Speed(tokens_per_second, peak, devices, claimed)
    speed.check(other)
    held = _Held(memory, optimizer)
    held.check(other, training=training)
    sizes: dict[str, object] = {"length": length, "batch": batch, "training": training}
    sizes |= {"memory": memory, "optimizer": optimizer}
    asked = {"tokens_per_second": tokens_per_second, "peak": peak, "claimed": claimed}
    options = {**sizes, "depth": depth, **asked, "devices": devices}
    again = command("count", [model, other], _flags(changed(count, options)))
    targets = [weightless(name) for name in (model, other) if name is not None]
    shown = [
        subject(
            target,
            length=_common(targets) if length is None else length,
            batch=batch,
            training=speed.asked if training is None else training,
            command=command("count", [target.name], _flags(changed(count, sizes))),
        )
        for target in targets
    ]
    if len(shown) == 1:
        document = count_document(
            shown[0],
            depth=depth,
            utilisation=speed.of(shown[0]),
            memory=held.of(targets[0], shown[0]),
        )
    else:
        document = _compared(targets, shown, command=again)
    printed(replace(document, command=again), as_json=as_json)


@final
@dataclass(frozen=True, slots=True)
class _Held:
    """What was asked about memory, as it was typed."""

    asked: bool
    optimizer: str | None

    def check(self, other: str | None, *, training: bool | None) -> None:
        """Refuse what would be dropped in silence, before anything long begins."""
        if self.asked and other is not None:
            raise ShapeError("--memory is that of one model: leave OTHER out.")
        if self.optimizer is not None and not (self.asked and training):
            raise ShapeError("--optimizer steps in a training run: give --memory --training, too.")
        if self.optimizer is not None:
            from attncost.integrations.optimizers import optimizer

            optimizer(self.optimizer)  # Refuses what is none.

    def of(self, target: "Weightless", shown: "Subject") -> "Footprint | None":
        """Return the memory of the same call."""
        if not self.asked:
            return None
        from attncost.integrations.optimizers import optimizer
        from attncost.integrations.weightless import remembered

        return remembered(
            target.call(shown.length, batch=shown.batch),
            name=target.name,
            training=shown.training,
            optimizer=None if self.optimizer is None else optimizer(self.optimizer),
        )


@final
@dataclass(frozen=True, slots=True)
class _Speed:
    """A speed from a log, as it was typed."""

    tokens_per_second: float | None
    peak: str | None
    devices: int
    claimed: str | None

    @property
    def asked(self) -> bool:
        """Whether there is one."""
        return self.tokens_per_second is not None

    def check(self, other: str | None) -> None:
        """Refuse what would be dropped in silence, before anything long begins."""
        if self.asked is (self.peak is None):
            there = "--tokens-per-second" if self.asked else "--peak"
            missing = "--peak" if self.asked else "--tokens-per-second"
            raise ShapeError(f"{there} says nothing without {missing}: give both, or neither.")
        if not self.asked and (self.claimed is not None or self.devices != 1):
            raise ShapeError("--claimed and --devices belong to --tokens-per-second and --peak.")
        if self.asked and other is not None:
            raise ShapeError("a speed is that of one model: leave OTHER out.")
        self._check_numbers()

    def of(self, subject: "Subject") -> "Utilisation | None":
        """Return what it comes to."""
        from attncost.report.conventions import utilised

        if self.tokens_per_second is None or self.peak is None:
            return None
        if subject.length is None:
            raise ShapeError(f"{subject.name} has no length, so tokens have no price.")
        return utilised(
            subject,
            tokens_per_second=self.tokens_per_second,
            peak=magnitude(self.peak, of="--peak"),
            devices=self.devices,
            claim=self.claimed,
        )

    def _check_numbers(self) -> None:
        from attncost.cost.utilisation import check_positive

        if self.tokens_per_second is not None and self.peak is not None:
            peak = magnitude(self.peak, of="--peak")
            numbers = {"--tokens-per-second": self.tokens_per_second, "--peak": peak}
            check_positive(**numbers, **{"--devices": self.devices})
        if self.claimed is not None:
            check_share(self.claimed, of="--claimed")


def _flags(options: "dict[str, object]") -> "dict[str, object]":
    """Write the direction as the flag that asks for it."""
    return {
        ("training" if value else "forward") if name == "training" else name: (
            True if name == "training" else value
        )
        for name, value in options.items()
    }


def _common(targets: "list[Weightless]") -> int | None:
    """Return a length that all have; None where each has its own."""
    usual = [target.usual for target in targets if target.usual is not None]
    return min(usual) if len(usual) == len(targets) > 1 else None


def _compared(targets: "list[Weightless]", shown: "list[Subject]", *, command: str) -> "Document":
    from attncost.cost.cheaper import cheaper
    from attncost.cost.difference import difference
    from attncost.report.differing import difference_document

    over = None
    if all(target.usual is not None for target in targets):
        longest = min(_LONGEST, *(target.longest or _LONGEST for target in targets))
        first, second = map(_over_length, targets, shown)
        over = cheaper(first, second, longest=longest)
    changes = difference(shown[0].owned, shown[1].owned)
    return difference_document((shown[0], shown[1]), changes, over, command=command)


def _over_length(target: "Weightless", shown: "Subject") -> "Compared":
    from attncost.cost.cheaper import Compared

    sizes, training = shown.configuration, shown.training

    def counted(n: int) -> "Counted":
        if (n, 1) == (shown.length, shown.batch):
            return shown.counted
        return target.counted(n, training=training)

    def formula(n: "Count") -> "Cost":
        assert sizes is not None
        # A backward pass multiplies every matrix twice; where it does not, the count disagrees.
        return sizes.cost(n) * (3 if training else 1)

    assert shown.length is not None
    return Compared(
        counted=counted, formula=None if sizes is None else formula, checked=shown.length
    )
