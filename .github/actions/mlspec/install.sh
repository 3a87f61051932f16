#!/usr/bin/env bash
# Installs mlspec into an environment of its own below RUNNER_TEMP, bytecode compiled, so that each start is a fast one.
# VERSION: a version on PyPI, a path with a `/` in it, or nothing: then the repository that this action is a part of.
# Outputs: mlspec (the program), version (its own and Python's, for the key of the cache), cache (a folder).
set -euo pipefail

python=$(command -v python3 || command -v python) || {
  echo "::error title=no Python::there is no python3 on this runner; name a python-version"
  exit 2
}
"$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "::error title=Python is too old::mlspec needs Python 3.11 or later; name a python-version"
  exit 2
}

case ${VERSION:-} in
  "") what=$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)"[kustomize]" ;;
  */*) what=$(cd "$(dirname "$VERSION")" && pwd)/$(basename "$VERSION")"[kustomize]" ;;
  *[!0-9A-Za-z.+!-]*)
    echo "::error title=no version::the input version is neither a version nor a path with a slash in it"
    exit 2
    ;;
  *) what="mlspec-gitops[kustomize]==$VERSION" ;;
esac

home=$RUNNER_TEMP/mlspec
# Isolated, and elsewhere: a module of the checkout that is called venv or pip must not be what runs.
cd "$RUNNER_TEMP"
"$python" -I -m venv "$home"
"$home/bin/python" -I -m pip install --quiet --disable-pip-version-check --compile "$what"
version=$("$home/bin/mlspec" --version)
runtime=$("$home/bin/python" -I -c 'import platform; print(platform.python_version())')
mkdir -p "$RUNNER_TEMP/mlspec-cache"
{
  echo "mlspec=$home/bin/mlspec"
  echo "version=${version##* }-$runtime"
  echo "cache=$RUNNER_TEMP/mlspec-cache"
} >>"$GITHUB_OUTPUT"
