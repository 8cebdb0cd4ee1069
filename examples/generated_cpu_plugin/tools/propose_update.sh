#!/bin/sh
# Brings a newer template and PJRT API here and proposes them: on a branch of their own, by a pull request that says what
# the update said. What CI does once a week.
#
#   sh tools/propose_update.sh [0.NN | latest]
#
# GH_TOKEN is a token that may write contents and pull requests; the checkout's own pushes.
set -eu

answer() { sed -n "s/^$1: *//p" .copier-answers.yml | tr -d "'\""; }

# Pushes the branch and opens the request.
propose() {
  git push --quiet origin "$branch"
  gh pr create --head "$branch" --title "$title" --body-file "$work/body.md" ${draft:+--draft}
}

# One function, read to its end before it begins: the update may write this file anew.
main() {
  work=$(mktemp -d)
  status=0
  sh tools/install_pjrt_scaffold.sh || status=$?
  [ "$status" != 3 ] || exit 0
  [ "$status" = 0 ] || exit "$status"

  pjrt-scaffold update --api "${1:-latest}" > "$work/report.txt" || status=$?
  cat "$work/report.txt"
  # 1: updated, and something is left to do. 2: not updated.
  [ "$status" -le 1 ] || exit "$status"
  if [ -z "$(git status --porcelain)" ]; then
    echo "Nothing is newer than what is here."
    exit 0
  fi
  template=$(answer _commit)
  api=$(answer pjrt_api_version)
  branch="pjrt-scaffold/$template-api-$api"
  title="Update to template $template, PJRT C API $api"
  if git ls-remote --exit-code origin "refs/heads/$branch" > /dev/null; then
    echo "The branch $branch is there already: merge its pull request, or delete it."
    exit 0
  fi

  git switch --quiet --create "$branch"
  git add --all
  git -c user.name="github-actions[bot]" -c user.email="41898282+github-actions[bot]@users.noreply.github.com" \
    commit --quiet --message "$title"
  draft=
  {
    if [ "$status" != 0 ]; then
      draft=yes
      echo "Something is left to do, see below. Files with conflict markers are committed as they are:"
      echo "fetch this branch, resolve them and push."
      echo
    fi
    echo '```'
    head -c 60000 "$work/report.txt"
    echo '```'
  } > "$work/body.md"
  propose
}

main "$@"; exit
