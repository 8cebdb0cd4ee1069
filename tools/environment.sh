#!/bin/sh
# Makes a virtual environment with this project in it, after saying what the machine lacks.
# usage: environment.sh PYTHON VENV REQUIREMENT [LOCK]     for example: environment.sh python3 build/venv '.[dev]'
# With a LOCK, a requirements file with hashes, nothing is installed but what it lists, and this project.
# Does nothing when the environment is there and still fits. Written for sh: it must run where no Python does.
set -eu
python=$1 venv=$2 requirement=$3 lock=${4:-}

lacking() { # what, and how to get it
  printf 'Missing: %s\n  %s\n' "$1" "$2" >&2
  missing=yes
}

missing=
if ! command -v "$python" >/dev/null 2>&1; then
  lacking "Python 3.11 or newer ($python is not there)" \
    "Install one, or name it: make PYTHON=/path/to/python3.12"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
  lacking "Python 3.11 or newer ($python is $("$python" --version 2>&1 | head -n 1))" \
    "Install one, or name it: make PYTHON=/path/to/python3.12"
elif ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
  lacking "the venv module of $python" "Install it (Debian, Ubuntu: apt install python3-venv)."
fi
command -v git >/dev/null 2>&1 ||
  lacking "git" "Install it (Debian, Ubuntu: apt install git; macOS: xcode-select --install)."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
printf '#include <concepts>\ntemplate <std::integral T> T f(T x) { return x; }\nint y = f(1);\n' >"$scratch/probe.cc"
compiler=${CXX:-c++}
# Unquoted on purpose: CXX may carry a launcher or flags, as in "ccache g++".
if ! $compiler -std=c++20 -c "$scratch/probe.cc" -o "$scratch/probe.o" >"$scratch/log" 2>&1; then
  lacking "a C++20 compiler ($compiler: $(head -n 1 "$scratch/log"))" \
    "Install g++ 12 or clang 15, or newer, or name one: CXX=/path/to/clang++ (Debian, Ubuntu: apt install g++)."
fi
[ -z "$missing" ] || exit 2

# The environment fits while interpreter, place and requirements are what they were.
stamp="$("$python" -c 'import sys; print(sys.version, sys.base_prefix)') $(pwd -P) $requirement $(cat pyproject.toml ${lock:+"$lock"} | cksum)"
[ "$(cat "$venv/.stamp" 2>/dev/null || :)" != "$stamp" ] || exit 0

printf 'Making %s with %s (%s) ...\n' "$venv" "$python" "$("$python" --version 2>&1)" >&2
rm -rf "$venv"
mkdir -p "$(dirname "$venv")"
"$python" -m venv "$venv"

packages() { # pip's arguments
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 2 "$@" >>"$scratch/log" 2>&1
}

if [ -n "$lock" ]; then
  packages --require-hashes -r "$lock" && packages --no-deps --no-build-isolation -e . && status=0 || status=1
else
  packages -e "$requirement" && status=0 || status=1
fi
if [ "$status" != 0 ]; then
  tail -n 15 "$scratch/log" >&2
  lacking "the packages that pip could not install, see above" \
    "Check the network: pip's own settings (PIP_INDEX_URL, PIP_PROXY, PIP_FIND_LINKS) are honoured."
  exit 2
fi
printf '%s\n' "$stamp" >"$venv/.stamp"
