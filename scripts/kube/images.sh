# shellcheck shell=bash
# Images without a registry. Debian's packages, from the mirror that this machine's apt uses, are the base, and MySQL's image; buildah builds Regent's image on the base
# from the repository's Dockerfile. Each is built once for what goes into it, and what nodes load is kept as an archive.

debian_suite=sid # the only one with a current MySQL
mysql_packages='mysql-server-core mysql-client-core'
image_recipe=1 # part of every hash: another number makes all of them anew

# Storage of its own: the machine's images are not touched, and removing the home removes ours.
buildah=(buildah --root "$home/storage" --runroot "$home/storage-run")

# build_image REFERENCE FOLDER [option of buildah bud…]
build_image() {
  local reference=$1 folder=$2; shift 2
  nice -n 19 "${buildah[@]}" bud --isolation chroot --layers "$@" --tag "$reference" "$folder"
}

has_built() { "${buildah[@]}" inspect --type image "$1" >/dev/null 2>&1; }

# save_image REFERENCE NAME ARCHIVE: nodes know it by NAME, as manifests write it. The rename makes the archive exist.
save_image() {
  rm -f "$3.new"
  "${buildah[@]}" push --quiet "$1" "docker-archive:$3.new:$2"
  mv "$3.new" "$3"
}

# Where things are put together; empty, and removed when the tool ends.
fresh_scratch() {
  scratch=$home/scratch
  remove_scratch
  mkdir -p "$scratch"
}

# A debootstrap that was killed leaves /proc mounted, a buildah that failed its container.
remove_scratch() {
  if [ -d "$home/storage" ]; then "${buildah[@]}" rm --all >/dev/null 2>&1 || true; fi
  unmount_below "$scratch"
  unmount_below "$home/storage"
  rm -rf --one-file-system "$scratch"
}

short_hash() { sha256sum | cut -c1-12; }

debian_key() { printf '%s\n' "$image_recipe" "$debian_suite" "$(uname -m)" "$@" | short_hash; }

# Builds what is missing and sets regent_image and mysql_image to the names that manifests use.
build_images() {
  need_programs "$image_needs"
  sh "$root/scripts/setup" --packages-only >&2
  mkdir -p "$images"
  make_mysql_image
  make_regent_image
  say "$regent_image in $regent_archive, $(megabytes "$regent_archive") MB"
  say "$mysql_image in $mysql_archive, $(megabytes "$mysql_archive") MB"
}

megabytes() { echo $(($(stat --format %s "$1") / 1000000)); }

make_mysql_image() {
  local key base candidate version
  key=$({ debian_key "$mysql_packages"; cat "$here/mysql.Dockerfile"; } | short_hash)
  mysql_archive=$images/mysql-$key.tar
  if [ ! -s "$mysql_archive" ]; then
    make_base_image
    fresh_scratch
    list_mirrors
    trusted_certificates >"$scratch/certificates.pem"
    candidate=localhost/mysql-candidate:$key
    run_long "building MySQL's image" "$logs/image-mysql.log" from_any_mirror install_mysql "$candidate" "$base"
    version=$(output_in "$candidate" mysqld --version | sed -n 's/.* Ver \([0-9.]*[0-9]\).*/\1/p')
    [ -n "$version" ] || die "mysqld of the image $candidate does not say its version, so it does not run. See $logs/image-mysql.log"
    mysql_image=mysql:$version-debian
    echo "$mysql_image" >"$images/mysql-$key.name"
    save_image "$candidate" "$mysql_image" "$mysql_archive"
  fi
  mysql_image=$(cat "$images/mysql-$key.name")
}

# install_mysql MIRROR KEYRING TRUSTED REFERENCE BASE
install_mysql() {
  local options='' keyring=()
  if [ "$2" != - ]; then options=' signed-by=/etc/apt/keyrings/machine.gpg' keyring=(--secret "id=keyring,src=$2"); fi
  [ "$3" = - ] || options+=' trusted=yes'
  echo "deb [arch=$(dpkg --print-architecture)$options] $1 $debian_suite main" >"$scratch/sources"
  build_image "$4" "$scratch" --file "$here/mysql.Dockerfile" --build-arg "BASE=$5" --build-arg "PACKAGES=$mysql_packages" \
    --secret "id=sources,src=$scratch/sources" --secret "id=certificates,src=$scratch/certificates.pem" "${keyring[@]}"
}

# What a command prints in a container of the image.
output_in() {
  local container status=0
  container=$("${buildah[@]}" from "$1"); shift
  "${buildah[@]}" run --isolation chroot "$container" "$@" || status=$?
  "${buildah[@]}" rm "$container" >/dev/null
  return "$status"
}

make_regent_image() {
  local version key reference base builder secret=()
  version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$root/package.json")
  key=$(regent_key)
  regent_image=regent:$version-$key
  regent_archive=$images/regent-$version-$key.tar
  [ ! -s "$regent_archive" ] || return 0
  make_base_image
  make_builder_image
  # A registry's password goes to the one step that needs it and into no layer.
  if [ -f "$HOME/.npmrc" ]; then secret=(--secret "id=npmrc,src=$HOME/.npmrc"); fi
  reference=localhost/$regent_image
  run_long "building $regent_image" "$logs/image-regent.log" \
    build_image "$reference" "$root" --build-arg "BASE=$base" --build-arg "BUILDER=$builder" "${secret[@]}"
  save_image "$reference" "$regent_image" "$regent_archive"
  remove_older_regent
}

# Of all that the Dockerfile takes, so that a node never runs another content under the same name.
regent_key() {
  cd "$root"
  {
    debian_key haproxy
    find src agents topology failover bin -type f ! -name '*.test.ts' ! -name 'testing*.ts' -print0 | sort -z | xargs -0 sha256sum
    sha256sum scripts/node24 scripts/compile.ts LICENSE package.json package-lock.json Dockerfile .dockerignore scripts/kube/builder.Dockerfile
  } | short_hash
}

remove_older_regent() {
  find "$images" -name 'regent-*.tar' ! -path "$regent_archive" -delete
  local old
  "${buildah[@]}" images --format '{{.Name}}:{{.Tag}}' | while read -r old; do
    case $old in "localhost/$regent_image") ;; localhost/regent:*) "${buildah[@]}" rmi "$old" >/dev/null ;; esac
  done
}

# Sets base. An archive keeps owners of files, which COPY does not.
make_base_image() {
  local tree
  base=localhost/regent-base:$(debian_key haproxy)
  if has_built "$base"; then return; fi
  fresh_scratch
  list_mirrors
  tree=$scratch/tree
  run_long "unpacking Debian $debian_suite" "$logs/debootstrap.log" from_any_mirror bootstrap "$tree"
  # Nothing that a container reads, and nothing of this machine: its name, its resolver, its mirror's address.
  rm -rf "$tree"/{debootstrap,var/cache/apt/archives,var/lib/apt/lists,usr/share/{doc,man,locale,lintian,info}} "$tree"/var/log/* "$tree"/etc/{hostname,resolv.conf,apt/sources.list}
  mkdir "$scratch/context"
  tar --create --numeric-owner --directory "$tree" --file "$scratch/context/root.tar" .
  printf 'FROM scratch\nADD root.tar /\n' >"$scratch/context/Dockerfile"
  run_long 'making the base image' "$logs/image-base.log" build_image "$base" "$scratch/context"
}

# Sets builder.
make_builder_image() {
  local node npm registry
  node=$(sh "$root/scripts/node24" -p process.execPath)
  npm=$(dirname "$(dirname "$(realpath "$(command -v npm)")")")
  registry=$(npm config get registry)
  [ -f "$npm/bin/npm-cli.js" ] && [ -d "$npm/node_modules" ] ||
    die "npm in $npm does not have its own packages with it (Debian's npm is spread over the machine). Install one that does: npm install --global npm"
  fresh_scratch
  trusted_certificates >"$scratch/certificates.pem"
  builder=localhost/regent-builder:$({ echo "$base" "$registry" "$(npm --version)"; cat "$node" "$here/builder.Dockerfile" "$scratch/certificates.pem"; } | short_hash)
  if has_built "$builder"; then return; fi
  cp "$node" "$scratch/node"
  cp -r "$npm" "$scratch/npm"
  cp "$here/builder.Dockerfile" "$scratch/Dockerfile"
  run_long 'building the image with Node and npm' "$logs/image-builder.log" build_image "$builder" "$scratch" --build-arg "BASE=$base" --build-arg "REGISTRY=$registry"
}

# bootstrap MIRROR KEYRING TRUSTED TREE: Debian's smallest system. debootstrap checks signatures and no dates, as a mirror may be a frozen copy.
bootstrap() {
  # HAProxy is for routers; where images are built there is no mirror.
  local options=(--variant=minbase --include=haproxy)
  [ "$2" = - ] || options+=("--keyring=$2")
  [ "$3" = - ] || options+=(--no-check-gpg)
  rm -rf --one-file-system "$4"
  nice -n 19 debootstrap "${options[@]}" "$debian_suite" "$4" "$1"
}

# Mirrors of Debian into $scratch/mirrors, the likeliest first.
list_mirrors() {
  if [ -n "${REGENT_KUBE_DEBIAN_MIRROR:-}" ]; then
    echo "$REGENT_KUBE_DEBIAN_MIRROR - -" >"$scratch/mirrors"
  else
    sh "$root/scripts/node24" "$here/debian-mirrors.ts" >"$scratch/mirrors" || die "no mirror of Debian is known here. Name one: REGENT_KUBE_DEBIAN_MIRROR=<its address> npm run kube -- $command_line"
  fi
}

# from_any_mirror COMMAND [argument…]: with mirror, keyring and trust before the arguments, until one succeeds.
from_any_mirror() {
  local command=$1 uri keyring trusted; shift
  while read -r uri keyring trusted <&3; do
    "$command" "$uri" "$keyring" "$trusted" "$@" && return
  done 3<"$scratch/mirrors"
  return 1
}

# Whom this machine trusts, as its mirror and its registry may be a company's.
trusted_certificates() {
  cat /etc/ssl/certs/ca-certificates.crt "${NODE_EXTRA_CA_CERTS:-/dev/null}" 2>/dev/null || true
  sh "$root/scripts/node24" -p 'require("node:tls").rootCertificates.join("\n")'
}
