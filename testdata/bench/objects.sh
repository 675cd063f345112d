#!/usr/bin/env bash
# Fetches the Debian debug packages that TestWholeObjects of symsrc/object compares, and unpacks each into a directory of
# its name below $QSS_OBJECTS; nothing is installed. All take 5 GB. Packages named as arguments are fetched in their place.
#
#     export QSS_OBJECTS=/var/tmp/objects
#     testdata/bench/objects.sh libc6-dbg python3.11-dbg
#     go test -run TestWholeObjects -v ./symsrc/object
set -euo pipefail

: "${QSS_OBJECTS:?names no directory}"
mkdir -p "$QSS_OBJECTS"
cd "$QSS_OBJECTS"

packages=("$@")
if [ ${#packages[@]} = 0 ]; then
  # The package of the kernel is named after its version.
  kernel=$(apt-cache search --names-only '^linux-image-6\.1\.0-[0-9]+-cloud-amd64-dbg$' | cut -d' ' -f1 | sort -V | tail -n 1)
  packages=(libc6-dbg libstdc++6-12-dbg python3.11-dbg ceph-osd-dbg $kernel)
fi

for package in "${packages[@]}"; do
  if [ -d "$package" ]; then
    echo "$package is there"
    continue
  fi
  scratch=$(mktemp -d -p .)
  trap 'rm -rf "$scratch"' EXIT
  (cd "$scratch" && apt-get download -q "$package" && dpkg -x ./*.deb tree && rm ./*.deb)
  mv "$scratch/tree" "$package"
  rm -rf "$scratch"
  echo "$package is unpacked: $(du -sh "$package" | cut -f1)"
done
