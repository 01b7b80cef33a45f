"""Tests of the face of the package: what `from paceline import ...` gives, and what it costs."""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import paceline

ROOT = Path(paceline.__file__).parent
PAGE = ROOT.parent / "docs" / "users" / "library.md"
LAZY = "import sys, paceline; print(sorted(one for one in sys.modules if 'paceline.' in one))"


def names_for_checkers() -> dict[str, str]:
    """Names that type checkers see, and their modules: those of the `TYPE_CHECKING` block."""
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [one for one in tree.body if isinstance(one, ast.If)]
    imports = [one for one in block.body if isinstance(one, ast.ImportFrom)]
    return {name.name: str(one.module) for one in imports for name in one.names}


@pytest.mark.parametrize("name", paceline.__all__)
def test_names(name: str) -> None:
    """Each name is the one that its module defines, and says what it does."""
    found = getattr(paceline, name)

    assert (found, found.__module__, bool(found.__doc__)) == (
        getattr(import_module(paceline.FACE[name]), name),
        paceline.FACE[name],
        True,
    )


def test_three_lists() -> None:
    """Checkers, `import *` and the interpreter know the same names."""
    assert (names_for_checkers(), sorted(paceline.FACE)) == (
        dict(paceline.FACE),
        paceline.__all__,
    )


def test_listed() -> None:
    """Completion offers every name, beside what is loaded."""
    assert set(paceline.__all__) - set(dir(paceline)) == set()


def test_unknown() -> None:
    """A name that is not there is an error that lists those that are."""
    with pytest.raises(AttributeError, match=r"no attribute 'incident'; it gives Evidence, budg"):
        _ = paceline.incident  # type: ignore[attr-defined]  # it is not there


def test_no_name_is_a_module() -> None:
    """A module of the package would hide a name of the face as soon as it is loaded."""
    modules = {one.stem for one in ROOT.iterdir() if one.suffix == ".py" or one.is_dir()}

    assert modules & set(paceline.__all__) == set()


def test_lazy() -> None:
    """The package loads nothing before it is asked: the command line starts as without a face."""
    said = subprocess.run(
        [sys.executable, "-c", LAZY], capture_output=True, text=True, check=True
    ).stdout

    assert said.strip() == "[]"


def signature_of(name: str) -> str:
    """How a function is called: its arguments with their defaults, without types."""
    signature = inspect.signature(getattr(paceline, name))
    bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    told = signature.replace(parameters=bare, return_annotation=signature.empty)
    return f"{name}{told}".replace("'", '"')


@pytest.mark.parametrize("name", sorted(set(paceline.__all__) - {"Evidence"}))
def test_documented(name: str) -> None:
    """The page of the library tells how each function is called, as it is called."""
    assert f"`{signature_of(name)}`" in PAGE.read_text(encoding="utf-8")


def test_examples() -> None:
    """The page has an example of each function, but of those that want a server or weeks."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    called = {name for name in paceline.__all__ if re.search(rf"\b{name}\(", "".join(blocks))}

    assert set(paceline.__all__) - called == {"Evidence", "open_prometheus", "plot_lemons"}
