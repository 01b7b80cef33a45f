"""Documents as YAML that people can read, in the order in which they were built.

Source: PyYAML's safe dumper. We differ in that text of several lines is written as a block, and
that equal parts are written out each time instead of being referred to.
"""

import yaml


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as a block, so that people can read an expression."""

    def ignore_aliases(self, data: object) -> bool:
        """Write equal parts out each time."""
        del data
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Return a block for text of several lines."""
    style = "|" if "\n" in text else None
    # types-pyyaml leaves the type of a scalar's value open.
    return dumper.represent_scalar(  # pyright: ignore[reportUnknownMemberType]
        "tag:yaml.org,2002:str", text, style=style
    )


_Dumper.add_representer(str, _represent_text)


def dump_yaml(document: object) -> str:
    """Return a document as YAML, in the order it was built."""
    # types-pyyaml leaves the type of `width` open.
    return yaml.dump(  # pyright: ignore[reportUnknownMemberType]
        document, Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True
    )
