#!/usr/bin/env bash
# Checks the root: annotations on stdout, the whole report in the summary of the step. Exits with the code of the check.
set -uo pipefail

arguments=(--root "$ROOT" check --output-format github --kustomize "${KUSTOMIZE:-changed}")
[ -n "${BASE:-}" ] && arguments+=(--changed-since "$BASE")
[ -n "${ENGINE:-}" ] && arguments+=(--engine "$ENGINE")
"$MLSPEC" "${arguments[@]}"
code=$?
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
exit "$code"
