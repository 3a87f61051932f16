#!/usr/bin/env bash
# Says what the change means, in one comment that is edited with each push. Where it may not write one, as in the pull
# request of a fork, the summary of the step has it, and the step succeeds: only the check decides.
set -uo pipefail

text=$RUNNER_TEMP/mlspec-diff.md
# Findings stand at the step before. What they quote could be read as a command of the runner, so they go nowhere.
"$MLSPEC" --root "$ROOT" diff --against "$BASE" --format markdown >"$text" 2>/dev/null
code=$?
if [ ! -s "$text" ]; then
  echo "What this change means cannot be said while it does not compile: see the findings of the check." >"$text"
  [ "$code" -eq 2 ] && echo "What this change means cannot be said: mlspec diff could not compare." >"$text"
fi
[ -n "${GITHUB_STEP_SUMMARY:-}" ] && cat "$text" >>"$GITHUB_STEP_SUMMARY"
exec "$(dirname "$MLSPEC")/python" -I "$GITHUB_ACTION_PATH/comment.py" "$text"
