#!/bin/sh
# Installs pjrt-scaffold from the template's repository, which is the tool's as well: its newest commit knows every
# template before it. What CI does before an update and before JAX's own tests.
#
#   PYTHON=python3 sh tools/install_pjrt_scaffold.sh
#
# Exit status 3: the template is a folder of somebody's machine, which nothing else can reach.
set -eu

source=$(sed -n 's/^_src_path: *//p' .copier-answers.yml | tr -d "'\"")
case "$source" in
  gh:*) source="https://github.com/${source#gh:}" ;;
  gl:*) source="https://gitlab.com/${source#gl:}" ;;
  /* | ~* | .*)
    echo "${GITHUB_ACTIONS:+::notice::}The template is a folder of somebody's machine. Record its git URL here:" \
      "pjrt-scaffold update --source URL"
    exit 3 ;;
esac
command -v pjrt-scaffold > /dev/null || "${PYTHON:-python}" -m pip install --quiet "git+${source#git+}"
