#!/bin/sh
# Hand-over between the steps of a pipeline. Called as
#   /bin/sh -c TEXT mlspec INPUT_DIR... -- PROGRAM ARGS...
# it waits for the marker of every input, runs the program, returns its status and marks this run's success.
# Comment lines are left out of the manifests. No line may hold what Kubernetes expands: a dollar before an opening
# parenthesis, or two dollars in a row.

say() { printf 'mlspec: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# Names begin with _, since a variable of the program's that has the same name would reach it changed.
_marker=${MLSPEC_RUN_DIR:+$MLSPEC_RUN_DIR/_SUCCESS}
if [ -n "$_marker" ] && [ -e "$_marker" ]; then
  say "nothing to do, this run has already succeeded: $_marker"
  exit 0
fi

# In POSIX mode bash forgets the status of a program that ends while a trap runs.
# shellcheck disable=SC3040
[ -z "${BASH_VERSION-}" ] || set +o posix

# Process 1 ignores every signal that it has no trap for. Before the program starts, a signal ends the wait at once;
# while it starts, the signal is kept for it; afterwards it is passed on. A shell starts what runs in the background with
# INT and QUIT ignored, so both are passed on as TERM: a stop is meant.
_program=none _kept='' _passed='' _timer=''
take() {
  case $_program in
    none) kill "$_timer" 2>/dev/null; exit "$2" ;;
    starting) _kept=$1 ;;
    *) wait "$_timer" 2>/dev/null; _passed=ended; kill -s "$1" "$_program" 2>/dev/null && _passed=running ;;
  esac
}
trap 'take HUP 129' HUP
trap 'take TERM 130' INT
trap 'take TERM 131' QUIT
trap 'take USR1 138' USR1
trap 'take USR2 140' USR2
trap 'take TERM 143' TERM

# There is no deadline here: Kubernetes ends the pod at the run's own (activeDeadlineSeconds).
for _input; do
  shift
  [ "$_input" != -- ] || break
  [ -e "$_input/_SUCCESS" ] || say "waiting for $_input/_SUCCESS"
  until [ -e "$_input/_SUCCESS" ]; do
    sleep 2 &
    _timer=$!
    wait "$_timer" || exit 1
  done
done
[ "$#" -gt 0 ] || fail "no program is given after --"
[ -z "$_marker" ] || mkdir -p "$MLSPEC_RUN_DIR" || fail "cannot make the run directory $MLSPEC_RUN_DIR"

# Until the new process has let go of the traps above, a signal sent to it is lost: in its first second it is held back.
sleep 1 &
_timer=$!

# A background command has no standard input of its own: it is given ours.
exec 3<&0
_program=starting
exec "$@" <&3 3<&- &
_program=$!
[ -z "$_kept" ] || take "$_kept"

# A trap ends the wait with no status of the program's, so the wait is repeated. If the program had ended before, its
# status may be out already; then the shell no longer knows the process (127), and the first answer stands. So it does
# where bash has lost a status (-1) to a signal in the same instant: the run counts as ended by that signal. And what
# comes in the instant when bash begins to wait, it notices only with the next signal. Other shells lose nothing.
wait "$_program"
_status=$?
while [ -n "$_passed" ]; do
  _was=$_passed _passed=''
  wait "$_program" 2>/dev/null
  _again=$?
  case $_was.$_again in ended.127 | *.-1) ;; *) _status=$_again ;; esac
done

# One pod speaks for a distributed run: rank 0; in a TFJob the chief, or worker 0 if there is none.
case ${TF_CONFIG-} in
  *'"chief":['*) _leader='"type":"chief"' ;;
  *'"master":['*) _leader='"type":"master"' ;;
  *) _leader='"type":"worker","index":0}' ;;
esac
case ${TF_CONFIG:-$_leader} in *"$_leader"*) ;; *) exit "$_status" ;; esac
if [ "$_status" -ne 0 ] || [ "${RANK:-0}" != 0 ] || [ -z "$_marker" ]; then exit "$_status"; fi

# Whole or not at all; and if not, a failure, since whoever needs this run would wait for ever. Without ranks (elastic
# training) several pods may write it at once, each under its own name, which the container's runtime sets.
# shellcheck disable=SC3028
_new=$MLSPEC_RUN_DIR/._SUCCESS.${HOSTNAME-}
{ printf '%s\n' "${MLSPEC_RUN-}" >"$_new" && mv -f "$_new" "$_marker"; } ||
  fail "the program succeeded, but $_marker cannot be written"
