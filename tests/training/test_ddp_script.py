"""What the script is: short, of torch and the standard library alone, and small enough for a ConfigMap."""

from __future__ import annotations

import ast
import sys

from tests.training.launch import DDP


def test_imports_only_torch_and_the_standard_library() -> None:
    """Anywhere in it; onnx and onnxscript are torch's own need when it exports."""
    imported = set()
    for node in ast.walk(ast.parse(DDP.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported - set(sys.stdlib_module_names) == {"torch"}


def test_fits_its_budget() -> None:
    """Lines that are neither blank nor a comment nor part of a docstring; and bytes, far below what etcd takes."""
    text = DDP.read_text()
    described = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            described |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    code = [line for number, line in lines if line.strip() and line.strip()[0] != "#" and number not in described]
    assert len(code) < 350
    assert len(text.encode()) < 50_000
