#!/usr/bin/env bash
# Make .venv hold bothends (editable) with one extra, at the versions of constraints.txt.
#
#   usage: scripts/setup.sh spark|dev
#
# An up-to-date .venv is left alone, without a look at the network. One whose installation was cut
# short, whose Python is gone, or that was filled elsewhere is made anew, with the newest Python
# that is known to work or with the one that PYTHON names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

extra=$1
venv=.venv
unfinished=$venv/unfinished
stamp=$venv/installed-$extra
log=$venv/install.log
worth_showing='Downloading .+\([0-9.]+ MB\)|Building wheel for pyspark .*started'
# What an installation depends on: the place (scripts hold absolute paths) and the two files.
wanted=$(printf '%s\n' "$PWD" && cat pyproject.toml constraints.txt | cksum)

fail() {
    printf 'make: %s\n' "$*" >&2
    exit 1
}

usable() { # whether a Python is there, runs, and is new enough
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    local candidate
    if [ -n "${PYTHON:-}" ]; then
        usable "$PYTHON" || fail "PYTHON=$PYTHON is not a Python 3.11 or newer. Name another one."
        printf '%s' "$PYTHON"
        return
    fi
    for candidate in python3.13 python3.12 python3.11 python3 python; do
        if usable "$candidate"; then
            printf '%s' "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer on PATH. Install one, or name it: make PYTHON=/path/to/python3.12"
}

broken() {
    ! usable "$venv/bin/python" || [ -e "$unfinished" ] || moved
}

moved() { # whether it was filled at another place
    grep -q . "$venv"/installed-* 2>/dev/null && ! grep -qxF "$PWD" "$venv"/installed-*
}

make_venv() {
    local python version
    python=$(find_python)
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    # Debian and Ubuntu ship Python without the two modules that make a virtual environment.
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        fail "$python (Python $version) lacks venv or ensurepip." \
            "On Debian or Ubuntu: sudo apt install python$version-venv"
    printf 'Making .venv with %s (Python %s)\n' "$python" "$version"
    rm -rf "$venv"
    mkdir "$venv"
    touch "$unfinished"
    "$python" -m venv "$venv"
}

if broken; then
    make_venv
elif [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi

printf 'Installing bothends[%s] into .venv (the first time: several hundred MB)\n' "$extra"
touch "$unfinished"
trap 'exit 130' INT # and leave the mark, which a plain failure of pip takes away
# Of pip's output only warnings, large downloads and slow builds are shown; its end on failure.
PYTHONUNBUFFERED=1 "$venv/bin/python" -m pip install --disable-pip-version-check --no-input \
    --constraint constraints.txt --editable ".[$extra]" | tee "$log" |
    { grep --line-buffered -E "$worth_showing" || true; } || {
    rm "$unfinished"
    tail -n 20 "$log" >&2
    fail 'the installation failed; the reason is above. The same command tries again.'
}
printf '%s\n' "$wanted" >"$stamp"
rm "$unfinished"
