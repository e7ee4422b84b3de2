#!/bin/sh
# mysqld for tests. `--initialize-insecure` takes 2.7 s of a processor, and three servers of a test make the same: the first
# keeps its new data folder in $prepared, the others copy. Whatever a new folder depends on is in the name of what is kept:
# the version, the statements of --init-file, and the option file without the addresses and paths of one instance.
# A folder with passwords that no other test has is not kept.
# The caller has set: prepared (a folder), version, passwords (a pattern of grep), and real (a function: the real mysqld).
set -eu

initialise=no
config=/dev/null
statements=/dev/null
for word in "$@"; do
  case $word in
    --initialize-insecure) initialise=yes ;;
    --defaults-file=*) config=${word#*=} ;;
    --init-file=*) statements=${word#*=} ;;
    --datadir=*) folder=${word#*=} ;;
  esac
done
if [ "$initialise" = no ] || ! grep -q "$passwords" "$statements"; then real exec "$@"; fi

settings=$(grep -v -E '^#|=/|^(server_id|report_host|(report_|admin_)?port|(bind|admin)_address)=' "$config" || true)
key=$({ echo "$version"; cat "$statements"; echo "$settings"; } | sha256sum)
kept=$prepared/${key%% *}

if [ ! -d "$kept" ]; then
  real '' "$@"
  draft=$(mktemp -d "$prepared/draft.XXXXXX")
  cp -a --sparse=always "$folder/." "$draft/"
  # Each copy takes a server_uuid of its own.
  rm -f "$draft/auto.cnf"
  chmod 750 "$draft"
  # Another server may have been first.
  mv -T "$draft" "$kept" 2>/dev/null || rm -rf "$draft"
  exit 0
fi
mkdir -p "$folder"
cp -a --sparse=never "$kept/." "$folder/"
