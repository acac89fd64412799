"""Which pass an operation belongs to: forward, backward, or forward again for a backward pass."""

from threading import get_ident
from typing import Final, final

import torch
from torch.autograd.function import BackwardCFunction

from attncost.cost.counting.counted import Phase

# The node by which a reentrant checkpoint runs again, PyTorch's or another library's, and the hook
# under which the other kind does.
_CHECKPOINT: Final = "CheckpointFunctionBackward"
_RERUN: Final = "_recomputation_hook"


@final
class Passes:
    """Tells passes apart, and the threads whose forward pass made the nodes of a backward pass.

    Autograd runs backward for an accelerator in a thread of its own, which draws numbers of its own
    for what a reentrant checkpoint runs again.
    """

    def __init__(self) -> None:
        self._home = get_ident()
        self._rerun: dict[int, bool] = {}
        self._origins: dict[int, int] = {}
        self._differentiable: set[int] = set()

    def now(self, *, again: bool) -> Phase:
        """Return the pass that runs in this thread.

        Args:
            again: Whether a module runs inside a backward pass.
        """
        node: torch.autograd.graph.Node | None = torch._C._current_autograd_node()
        if node is None:
            return "forward"
        rerun = again or node.name() == _CHECKPOINT or _under_rerun() or self._by_hand(node)
        self._origin()
        self._rerun[get_ident()] = rerun
        return "recomputation" if rerun else "backward"

    @property
    def number(self) -> int:
        """The number of the node that runs."""
        return int(torch._C._current_autograd_node()._sequence_nr())

    @property
    def task(self) -> int:
        """The number of the backward pass that runs."""
        return int(torch._C._current_graph_task_id())

    @property
    def origin(self) -> int:
        """The thread that drew the numbers of the nodes that run."""
        return self._origin()

    def _origin(self) -> int:
        here = get_ident()
        if here == self._home:
            return here
        # What begins inside a rerun goes back through what that has made.
        began = here if self._rerun.get(here) else self._home
        return self._origins.setdefault(self.task, began)

    def _by_hand(self, node: object) -> bool:
        """Say whether a function of the user's own records a forward pass in its backward one.

        So does a backward pass that is to be differentiated itself, in every node.
        """
        if not torch.is_grad_enabled():
            return False
        if not isinstance(node, BackwardCFunction):
            self._differentiable.add(self.task)
        return self.task not in self._differentiable


def _under_rerun() -> bool:
    hooks = torch._C._autograd._top_saved_tensors_default_hooks(True)
    return bool(hooks) and _RERUN in hooks[0].__qualname__
