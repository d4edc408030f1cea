#!/usr/bin/env bash
# Print the Chromium that the browser tests drive; with --install, fetch Debian's where that is allowed.
# The shell draws the same and has no windows, tabs and settings to run beside it: tests take less time.
find_one() {
  for name in "${CHROMIUM:-}" chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable chrome; do
    [ -n "$name" ] && command -v "$name" && return 0
  done
  return 1
}

find_one && exit 0
if [ "${1:-}" = --install ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "No Chromium: installing Debian's for the browser tests." >&2
  {
    apt-get update &&
      for package in chromium-headless-shell chromium; do
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package" fonts-dejavu-core && break
      done
  } >/dev/null 2>&1
  find_one && exit 0
fi
echo "No Chromium: browser tests are skipped. Install it, or name one in CHROMIUM." >&2
exit 1
