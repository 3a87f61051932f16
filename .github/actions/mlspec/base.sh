#!/usr/bin/env bash
# Finds the commit to compare with, and fetches it where the checkout is too shallow to hold it.
# ROOT: folder inside of the clone. CHANGED_SINCE: a revision, or nothing. TOKEN: for a fetch from a private repository.
# Output: base, a commit; empty where there is nothing to compare with, and then everything is checked.
set -euo pipefail

# The token goes by the environment: arguments of programs can be read by others on the machine.
fetch() {
  local secret key
  secret=$(printf 'x-access-token:%s' "${TOKEN:-}" | base64 | tr -d '\n')
  echo "::add-mask::$secret"
  key="http.${GITHUB_SERVER_URL:-https://github.com}/.extraheader"
  # The empty value takes away what actions/checkout may have left: two such headers are refused.
  GIT_TERMINAL_PROMPT=0 GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=$key GIT_CONFIG_VALUE_0="" \
    GIT_CONFIG_KEY_1=$key GIT_CONFIG_VALUE_1="AUTHORIZATION: basic $secret" \
    git -C "$ROOT" fetch --quiet --no-tags --no-recurse-submodules "$@"
}

commit() {
  git -C "$ROOT" rev-parse --verify --quiet --end-of-options "$1^{commit}"
}

give() {
  echo "compared with $1"
  echo "base=$1" >>"$GITHUB_OUTPUT"
  exit 0
}

nothing() {
  echo "::warning title=everything is checked::$1"
  echo "base=" >>"$GITHUB_OUTPUT"
  exit 0
}

if [ -n "${CHANGED_SINCE:-}" ]; then
  if found=$(commit "$CHANGED_SINCE"); then
    give "$found"
  fi
  echo "::error title=no such revision::this clone does not hold what changed-since names; check out with fetch-depth: 0"
  exit 2
fi

case ${GITHUB_EVENT_NAME:-} in
  pull_request) ;;
  *)
    echo "no pull request: everything is checked"
    echo "base=" >>"$GITHUB_OUTPUT"
    exit 0
    ;;
esac

git -C "$ROOT" rev-parse --git-dir >/dev/null || nothing "the root is not in a clone that Git reads"
shallow=$(git -C "$ROOT" rev-parse --is-shallow-repository)
head=$(commit HEAD) || nothing "there is no commit"

# actions/checkout gives the merge of the pull request, which is the commit of the event; its first parent is what it is
# merged into, so one commit more of history is all that is needed. A shallow clone names the parent without holding it.
into=$(git -C "$ROOT" cat-file -p HEAD | sed -n '/^$/q; s/^parent //p' | head -n 1)
parents=$(git -C "$ROOT" cat-file -p HEAD | sed -n '/^$/q; s/^parent //p' | wc -l)
if [ "$head" = "${GITHUB_SHA:-}" ] && [ "$parents" -eq 2 ]; then
  git -C "$ROOT" merge-base "$into" HEAD >/dev/null 2>&1 || fetch --depth=2 origin "$head" ||
    nothing "the commit before the merge cannot be fetched; check out with fetch-depth: 2"
  give "$into"
fi

# Another checkout, such as that of the branch itself: what it has in common with the base needs the history.
[ -n "${GITHUB_BASE_REF:-}" ] || nothing "the event names no base"
words=(origin "+refs/heads/$GITHUB_BASE_REF:refs/remotes/origin/$GITHUB_BASE_REF")
[ "$shallow" = true ] && words=(--unshallow "${words[@]}")
fetch "${words[@]}" || nothing "the base cannot be fetched; check out with fetch-depth: 0"
found=$(git -C "$ROOT" merge-base "refs/remotes/origin/$GITHUB_BASE_REF" HEAD) ||
  nothing "the base and this branch have no commit in common"
give "$found"
