#!/usr/bin/env bash
# Print the Chromium that the browser tests drive; with --install, fetch Debian's where that is allowed.
find_one() {
  for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable chrome; do
    [ -n "$name" ] && command -v "$name" && return 0
  done
  return 1
}

find_one && exit 0
if [ "${1:-}" = --install ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "No Chromium: installing Debian's for the browser tests." >&2
  {
    apt-get update &&
      DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium fonts-dejavu-core
  } >/dev/null 2>&1
  find_one && exit 0
fi
echo "No Chromium: browser tests are skipped. Install it, or name one in CHROMIUM." >&2
exit 1
