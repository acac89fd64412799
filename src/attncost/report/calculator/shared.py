"""Trees that have parts in common, each of these parts written once.

    "#3" in a tree stands for the third of the parts, which may hold others before it

Formulas for many combinations of choices repeat each other, so this is a tenth of their text.
"""

import json
from collections import Counter
from typing import Final, final

from attncost.core.expression import Tree

# A reference and its comma; what is shorter is not worth one.
_SHORT: Final = 12


@final
class Shared:
    """Takes trees, and gives them back with references in place of what they share.

    >>> shared = Shared([["+", ["*", "batch", "layers"], 1], ["^", ["*", "batch", "layers"], 2]])
    >>> shared.parts, shared.trees
    ([['*', 'batch', 'layers']], [['+', '#0', 1], ['^', '#0', 2]])
    """

    def __init__(self, trees: list[Tree | None]) -> None:
        """Look at all trees."""
        self._seen: Counter[str] = Counter()
        for tree in trees:
            self._count(tree)
        self._places: dict[str, int] = {}
        self.parts: list[Tree] = []
        self.trees = [self._short(tree) for tree in trees]

    def _count(self, tree: Tree | None) -> None:
        if not isinstance(tree, list):
            return
        text = _text(tree)
        self._seen[text] += 1
        if self._seen[text] == 1:
            for part in tree[1:]:
                self._count(part)

    def _short(self, tree: Tree | None) -> Tree | None:
        if not isinstance(tree, list):
            return tree
        text = _text(tree)
        if text in self._places:
            return f"#{self._places[text]}"
        short: Tree = [tree[0], *map(self._short, tree[1:])]
        if self._seen[text] == 1 or len(text) < _SHORT:
            return short
        self._places[text] = len(self.parts)
        self.parts.append(short)
        return f"#{self._places[text]}"


def _text(tree: Tree) -> str:
    return json.dumps(tree, separators=(",", ":"))
