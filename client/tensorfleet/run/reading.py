"""Static search of a program for the names of TensorFlow that it uses, and for missing ones."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from tensorfleet.api.raw_ops import raw_ops
from tensorfleet.run import paths, program_files
from tensorfleet.run.advice import BUILT_ON_TENSORFLOW, advice

_LIBRARIES = (*paths.PACKAGES, paths.OURS)
_NAMESPACES = (ModuleType, type, type(raw_ops))
_MOST_FILES = 1000
_ABSENCE = {"ImportError", "ModuleNotFoundError", "AttributeError"}
_CAUGHT = {*_ABSENCE, "Exception", "BaseException"}


class Finding(NamedTuple):
    """A missing name, op type or dtype, or another problem.

    Attributes:
        place: the file with the line, the node of a graph, or the tensor of a checkpoint.
        name: the missing name, such as `tf.image.resize_images`, the same for all places that use it.
        text: a sentence about it, with advice.
    """

    place: str
    name: str
    text: str


class Program(NamedTuple):
    """The findings about a program.

    Attributes:
        findings: the findings in the order of files and lines.
        files: the program's own files that were read.
        names: the names of TensorFlow that the program uses.
    """

    findings: list[Finding]
    files: list[Path]
    names: set[str]


def read(script: Path, root: Path | None = None, most_bytes: int | None = None) -> Program:
    """Reads a script, and the modules that it imports of those beside it, and of the folders in PYTHONPATH.

    Args:
        root: the first place of `sys.path`, the script's folder by default.
        most_bytes: no further files are read after so many bytes; those nearest to the script come first.

    Raises:
        OSError: the script cannot be read.
    """
    program = Program([], [], set())
    folders = [script.parent if root is None else root, *program_files.folders()]
    waiting = [script]
    seen = {script.resolve()}
    size = 0
    while waiting and len(program.files) < _MOST_FILES and (most_bytes is None or size < most_bytes):
        path = waiting.pop(0)
        program.files.append(path)
        size += path.stat().st_size
        reader = _Reader(path, folders, program)
        reader.read()
        for module in reader.local:
            if module.resolve() not in seen:
                seen.add(module.resolve())
                waiting.append(module)
    return program


def missing_part(path: str) -> str | None:
    """The beginning of a dotted path below `tf` up to the first missing name; None if none is missing."""
    value: Any = paths.module("")
    names = path.split(".")
    for count, name in enumerate(names, 1):
        if not isinstance(value, _NAMESPACES):
            return None
        try:
            value = getattr(value, name)
        except AttributeError:
            return ".".join(names[:count])
    return None


def _value(path: str) -> Any:
    """The object at a path below `tf`; None beyond modules and classes, as instances are the program's."""
    value: Any = paths.module("")
    for name in path.split(".") if path else ():
        if not isinstance(value, _NAMESPACES):
            return None
        value = getattr(value, name, None)
    return value


def _refuses(value: Any) -> bool:
    """Whether a function is there only for a better message than that of a missing name: it never returns."""
    return isinstance(value, FunctionType) and value.__annotations__.get("return") == "NoReturn"


class _Reader(ast.NodeVisitor):
    """The reader of one file. A scope maps names to their paths below `tf`, or to None for other values."""

    def __init__(self, path: Path, folders: Sequence[Path], program: Program) -> None:
        self._path, self._folders, self._program = path, folders, program
        self._scopes: list[dict[str, str | None]] = [{}]
        self._functions: list[tuple[ast.AST, list[dict[str, str | None]], bool]] = []
        self._guarded = False
        self._missed = 0
        self._reported: set[tuple[int, str]] = set()
        self._own: list[tuple[int, Finding]] = []
        self.local: list[Path] = []

    def read(self) -> None:
        """Adds findings to the program, by lines, and further files to read to `local`."""
        self._read()
        self._own.sort(key=lambda found: found[0])
        self._program.findings.extend(finding for _, finding in self._own)

    def _read(self) -> None:
        try:
            tree = ast.parse(self._path.read_bytes(), str(self._path))
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 1
            what = getattr(error, "msg", None) or str(error)
            self._report(
                line, "Python 3", f"this is no Python 3 ({what}): 2to3 -w, or futurize, rewrites Python 2"
            )
            return
        for statement in tree.body:
            self.visit(statement)
        # The bodies of functions run later, when all names of the module are bound.
        while self._functions:
            node, scopes, self._guarded = self._functions.pop(0)
            self._scopes = [*scopes, _parameters(node)]
            for inner in _body(node):
                self.visit(inner)

    # Resolving names.

    def _bind(self, name: str, path: str | None) -> None:
        self._scopes[-1][name] = path

    def _meaning(self, node: ast.expr) -> str | None:
        """The path below `tf` of a name or a chain of attributes."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        for scope in reversed(self._scopes):
            if node.id in scope:
                base = scope[node.id]
                return None if base is None else ".".join([*([base] if base else []), *reversed(names)])
        return None

    def _use(self, path: str, line: int) -> None:
        if not path:
            return
        self._program.names.add(path)
        if (missing := missing_part(path)) is not None:
            whole = "" if missing == path else f", as all of tf.{missing}"
            self._report(line, f"tf.{path}", f"tf.{path} is missing{whole}: {advice(missing)}")
        elif _refuses(_value(path)):
            self._report(line, f"tf.{path}", f"tf.{path} only says that it is missing: {advice(path)}")

    def _report(self, line: int, name: str, text: str) -> None:
        self._missed += 1
        if self._guarded or (line, name) in self._reported:
            return
        self._reported.add((line, name))
        self._own.append((line, Finding(f"{self._path}:{line}", name, text)))

    # Statements that bind names.

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            top, _, rest = alias.name.partition(".")
            if top in _LIBRARIES:
                self._module(alias.name, node.lineno)
                self._bind(alias.asname or top, rest if alias.asname else "")
                continue
            self._bind(alias.asname or top, None)
            self._other(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        top, _, rest = base.partition(".")
        if node.level == 0 and top in _LIBRARIES:
            if not self._module(base, node.lineno):
                return
            for alias in node.names:
                if alias.name == "*":
                    for name in dir(paths.module(rest)):
                        self._bind(name, f"{rest}.{name}".lstrip("."))
                    continue
                path = f"{rest}.{alias.name}".lstrip(".")
                self._use(path, node.lineno)
                self._bind(alias.asname or alias.name, path)
            return
        for alias in node.names:
            self._bind(alias.asname or alias.name, None)
        if node.level:
            folder = self._path.parent
            for _ in range(node.level - 1):
                folder = folder.parent
            self._add_local(folder, base)
            for alias in node.names:
                self._add_local(folder, f"{base}.{alias.name}".lstrip("."))
        else:
            self._other(base, node.lineno, [alias.name for alias in node.names])

    def _module(self, name: str, line: int) -> bool:
        """Whether this library has a module of TensorFlow; if not, reports it."""
        rest = name.partition(".")[2].removeprefix("compat.v1").lstrip(".")
        parts = rest.split(".") if rest else []
        for count in range(1, len(parts) + 1):
            part = ".".join(parts[:count])
            if paths.module(part) is None:
                self._program.names.add(rest)
                self._report(line, f"tf.{part}", f"the module tensorflow.{part} is missing: {advice(part)}")
                return False
        return True

    def _other(self, module: str, line: int, names: Sequence[str] = ()) -> None:
        """Handles a module that is not TensorFlow's: one of the program's, or an installed one."""
        for folder in dict.fromkeys((self._path.parent, *self._folders)):
            if self._add_local(folder, module):
                for name in names:
                    self._add_local(folder, f"{module}.{name}")
                return
        top = module.partition(".")[0]
        if top in BUILT_ON_TENSORFLOW:
            text = f"the module {top} needs TensorFlow's own library: {BUILT_ON_TENSORFLOW[top]}"
            self._report(line, top, text)
            return
        try:
            known = find_spec(top) is not None
        except (ImportError, ValueError):  # a module without a spec, such as __main__
            known = True
        if not known:
            self._report(line, top, f"the module {top} is not installed: pip install it, or put it beside")

    def _add_local(self, folder: Path, module: str) -> bool:
        """Adds a module of the program and its packages to the files to read."""
        place = folder
        found = False
        for name in module.split(".") if module else []:
            place = place / name
            for path in (place / "__init__.py", place.with_name(f"{place.name}.py")):
                if path.is_file():
                    self.local.append(path)
                    found = True
            found = found or place.is_dir()
            if not found:
                return False
        return found

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        path = self._meaning(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._bind(target.id, path)
            else:
                self.visit(target)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bind(node.id, None)
        elif (path := self._meaning(node)) is not None:
            self._program.names.add(path)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._bind(node.name, None)
        for part in (*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            self.visit(part)
        self._functions.append((node, list(self._scopes), self._guarded))

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._functions.append((node, list(self._scopes), self._guarded))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name, None)
        for part in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(part)
        # Functions of a class do not see the names that are bound in it.
        outer, self._scopes = self._scopes, [*self._scopes, {}]
        first = len(self._functions)
        for statement in node.body:
            self.visit(statement)
        for number in range(first, len(self._functions)):
            inner, scopes, guarded = self._functions[number]
            self._functions[number] = (inner, [s for s in scopes if s is not self._scopes[-1]], guarded)
        self._scopes = outer

    def _comprehension(self, node: Any) -> None:
        self._scopes.append({})
        for generator in node.generators:
            self.visit(generator)
        for field in ("key", "value", "elt"):
            if (part := getattr(node, field, None)) is not None:
                self.visit(part)
        self._scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # Uses.

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._meaning(node)
        if path is None:
            self.generic_visit(node)
        elif isinstance(node.ctx, ast.Load):
            self._use(path, node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        path = self._meaning(node.func)
        if path and missing_part(path) is None:
            for problem in _wrong_arguments(_value(path), node):
                self._report(
                    node.lineno,
                    f"tf.{path}({problem})",
                    f"tf.{path} takes no argument {problem}: leave it out, or see its docstring",
                )
        self.generic_visit(node)

    # Names whose absence the program handles itself.

    def visit_Try(self, node: ast.Try) -> None:
        caught = any(_catches(handler.type) for handler in node.handlers)
        before, self._guarded = self._guarded, self._guarded or caught
        missed = self._missed
        for statement in node.body:
            self.visit(statement)
        succeeds = self._missed == missed
        for handler in node.handlers:
            # What is to help out where a name is absent does not run where it is there.
            self._guarded = before or (succeeds and _catches_absence_alone(handler.type))
            self.visit(handler)
        self._guarded = before
        for part in (*node.orelse, *node.finalbody):
            self.visit(part)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        asks = any(
            isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "hasattr"
            for part in ast.walk(node.test)
        )
        before, self._guarded = self._guarded, self._guarded or asks
        for statement in (*node.body, *node.orelse):
            self.visit(statement)
        self._guarded = before


def _parameters(node: Any) -> dict[str, str | None]:
    """The scope of a function: its parameters, and the names that it assigns to."""
    a = node.args
    given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(p for p in (a.vararg, a.kwarg) if p)]
    scope: dict[str, str | None] = {parameter.arg: None for parameter in given}
    shared: set[str] = set()
    for part in _own_nodes(node):
        if isinstance(part, (ast.Global, ast.Nonlocal)):
            shared.update(part.names)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            scope[part.id] = None
    return {name: path for name, path in scope.items() if name not in shared}


def _body(node: Any) -> list[ast.AST]:
    return node.body if isinstance(node.body, list) else [node.body]


def _own_nodes(node: Any) -> Iterator[ast.AST]:
    """The nodes of a function's body without those of functions and classes in it."""
    waiting = list(_body(node))
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(part)


def _catches(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(k, ast.Name) and k.id in _CAUGHT for k in kinds)


def _catches_absence_alone(kind: ast.expr | None) -> bool:
    """Whether an except clause takes nothing but the errors of names and modules that are absent."""
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return all(isinstance(k, ast.Name) and k.id in _ABSENCE for k in kinds)


def _wrong_arguments(function: Any, call: ast.Call) -> list[str]:
    """The keywords that a function does not take, and the number of excess arguments."""
    if not callable(function) or hasattr(function, "DESCRIPTOR"):
        return []
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = {p.kind for p in parameters}
    found = []
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        known = {p.name for p in parameters if p.kind is not inspect.Parameter.POSITIONAL_ONLY}
        found += [k.arg for k in call.keywords if k.arg is not None and k.arg not in known]
    if inspect.Parameter.VAR_POSITIONAL not in kinds and not any(
        isinstance(argument, ast.Starred) for argument in call.args
    ):
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        most = sum(p.kind in positional for p in parameters)
        if len(call.args) > most:
            found.append(f"number {most + 1}")
    return found
