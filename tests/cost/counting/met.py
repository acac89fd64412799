"""What a function mode meets, as a reader of it sees it."""

from torch.overrides import TorchFunctionMode


class Met(TorchFunctionMode):
    """Keeps the calls of attention that a reader reads off what runs inside."""

    def __init__(self, api):
        super().__init__()
        self._api = api
        self.calls = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in self._api.functions():
            self.calls += self._api.read(*args, **(kwargs or {})) or ()
        return function(*args, **(kwargs or {}))
