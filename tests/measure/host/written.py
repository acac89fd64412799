"""A machine that is made of files."""


def written(root, files):
    """Write files by their names below a root, and return it."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
