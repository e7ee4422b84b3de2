# shellcheck shell=bash
# Images without a registry. Debian's packages, from the mirror that this machine's apt uses, are the base, and MySQL's image; buildah builds Regent's image on the base
# from the repository's Dockerfile. Each is built once for what goes into it, and what nodes load is kept as an archive.

debian_suite=sid # the only one with a current MySQL
mysql_packages=mysql-server-core,mysql-client-core
unprivileged=65532:65532
image_recipe=1 # part of every hash: another number makes all of them anew

# Storage of its own: the machine's images are not touched, and removing the home removes ours.
own_buildah() { buildah --root "$home/storage" --runroot "$home/storage-run" "$@"; }

# build_image REFERENCE FOLDER [option of buildah bud…]
build_image() {
  local reference=$1 folder=$2; shift 2
  nice -n 19 buildah --root "$home/storage" --runroot "$home/storage-run" bud --isolation chroot --layers "$@" --tag "$reference" "$folder"
}

has_built() { own_buildah inspect --type image "$1" >/dev/null 2>&1; }

# save_image REFERENCE NAME ARCHIVE: nodes know it by NAME, as manifests write it. The rename makes the archive exist.
save_image() {
  rm -f "$3.new"
  own_buildah push --quiet "$1" "docker-archive:$3.new:$2"
  mv "$3.new" "$3"
}

# Where things are put together; empty, and removed when the tool ends.
fresh_scratch() {
  scratch=$home/scratch
  remove_scratch
  mkdir -p "$scratch"
}

# debootstrap that was killed leaves /proc mounted.
remove_scratch() {
  local mount
  awk -v folder="$scratch/" 'index($2, folder) == 1 {print $2}' /proc/mounts | sort -r | while read -r mount; do umount --lazy "$mount" || true; done
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
  local key version
  key=$(debian_key "$mysql_packages")
  mysql_archive=$images/mysql-$key.tar
  if [ ! -s "$mysql_archive" ]; then
    make_debian_tree "MySQL's image" "$mysql_packages"
    version=$(dpkg-query --admindir="$scratch/tree/var/lib/dpkg" --show --showformat '${source:Upstream-Version}' mysql-server-core)
    mysql_image=mysql:$version-debian
    make_tree_image "localhost/$mysql_image" "USER $unprivileged"
    echo "$mysql_image" >"$images/mysql-$key.name"
    save_image "localhost/$mysql_image" "$mysql_image" "$mysql_archive"
  fi
  mysql_image=$(cat "$images/mysql-$key.name")
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
    debian_key "$unprivileged"
    find src agents topology failover bin -type f ! -name '*.test.ts' ! -name 'testing*.ts' -print0 | sort -z | xargs -0 sha256sum
    sha256sum scripts/node24 package.json package-lock.json Dockerfile .dockerignore "$here/builder.Dockerfile"
  } | short_hash
}

remove_older_regent() {
  find "$images" -name 'regent-*.tar' ! -path "$regent_archive" -delete
  local old
  own_buildah images --format '{{.Name}}:{{.Tag}}' | while read -r old; do
    case $old in "localhost/$regent_image") ;; localhost/regent:*) own_buildah rmi "$old" >/dev/null ;; esac
  done
}

make_base_image() {
  base=localhost/regent-base:$(debian_key)
  if has_built "$base"; then return; fi
  make_debian_tree 'the base image' ''
  make_tree_image "$base" ''
}

make_builder_image() {
  local node npm registry
  node=$(sh "$root/scripts/node24" -p process.execPath)
  npm=$(dirname "$(dirname "$(realpath "$(command -v npm)")")")
  registry=$(npm config get registry)
  [ -f "$npm/bin/npm-cli.js" ] && [ -d "$npm/node_modules" ] ||
    die "npm in $npm does not have its own packages with it (Debian's npm is spread over the machine). Install one that does: npm install --global npm"
  fresh_scratch
  # Whom this machine trusts, as its registry may be a company's.
  cat /etc/ssl/certs/ca-certificates.crt "${NODE_EXTRA_CA_CERTS:-/dev/null}" 2>/dev/null >"$scratch/certificates.pem" || true
  "$node" -p 'require("node:tls").rootCertificates.join("\n")' >>"$scratch/certificates.pem"
  builder=localhost/regent-builder:$({ echo "$base" "$registry" "$(npm --version)"; sha256sum "$node" "$here/builder.Dockerfile" "$scratch/certificates.pem"; } | short_hash)
  if has_built "$builder"; then return; fi
  cp "$node" "$scratch/node"
  cp -r "$npm" "$scratch/npm"
  cp "$here/builder.Dockerfile" "$scratch/Dockerfile"
  run_long 'building the image with Node and npm' "$logs/image-builder.log" build_image "$builder" "$scratch" --build-arg "BASE=$base" --build-arg "REGISTRY=$registry"
}

# make_debian_tree WHAT PACKAGES: Debian's smallest system with these packages in $scratch/tree.
make_debian_tree() {
  fresh_scratch
  if [ -n "${REGENT_KUBE_DEBIAN_MIRROR:-}" ]; then
    echo "$REGENT_KUBE_DEBIAN_MIRROR - -" >"$scratch/mirrors"
  else
    sh "$root/scripts/node24" "$here/debian-mirrors.ts" >"$scratch/mirrors" || die "no mirror of Debian is known. Name one: REGENT_KUBE_DEBIAN_MIRROR=<its address> npm run kube -- $command_line"
  fi
  run_long "unpacking Debian $debian_suite for $1" "$logs/debootstrap.log" bootstrap "$scratch/tree" "$2"
  # Nothing that a container reads; and nothing of this machine: its name, its resolver, its mirror's address.
  rm -rf "$scratch"/tree/{debootstrap,var/cache/apt,var/lib/apt/lists,var/log,usr/share/{doc,man,locale,lintian,info}} "$scratch"/tree/etc/{hostname,resolv.conf,apt/sources.list}
  mkdir -p "$scratch/tree/var/log"
}

# bootstrap TREE PACKAGES: from the first mirror that has them. debootstrap checks signatures, not dates: a mirror may be a frozen copy.
bootstrap() {
  local uri keyring trusted options
  while read -r uri keyring trusted <&3; do
    options=(--variant=minbase)
    [ -z "$2" ] || options+=("--include=$2")
    [ "$keyring" = - ] || options+=("--keyring=$keyring")
    [ "$trusted" = - ] || options+=(--no-check-gpg)
    rm -rf --one-file-system "$1"
    nice -n 19 debootstrap "${options[@]}" "$debian_suite" "$1" "$uri" && return
  done 3<"$scratch/mirrors"
  return 1
}

# make_tree_image REFERENCE INSTRUCTION: of $scratch/tree. An archive keeps owners, which COPY does not.
make_tree_image() {
  mkdir "$scratch/context"
  tar --create --numeric-owner --directory "$scratch/tree" --file "$scratch/context/root.tar" .
  printf 'FROM scratch\nADD root.tar /\n%s\n' "$2" >"$scratch/context/Dockerfile"
  run_long "making $1" "$logs/image-debian.log" build_image "$1" "$scratch/context"
  remove_scratch
}
