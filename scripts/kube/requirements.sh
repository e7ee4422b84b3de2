# shellcheck shell=bash
# What the tool needs of the machine: said by name when it is missing, and installed by `deps` where apt is there.

# Program and the Debian package that brings it.
running_needs='ip:iproute2 nsenter:util-linux setsid:util-linux unshare:util-linux sysctl:procps openssl:openssl containerd:containerd ctr:containerd runc:runc
  iptables:iptables nft:nftables conntrack:conntrack ipset:ipset /usr/lib/cni/bridge:containernetworking-plugins'
building_needs='gcc:gcc /usr/include/stdio.h:libc6-dev buildah:buildah'
image_needs='buildah:buildah debootstrap:debootstrap'

# Packages of the programs in $1 that are not there.
missing_packages() {
  local need
  for need in $1; do
    case $need in
      /*) [ -e "${need%%:*}" ] ;;
      *) command -v "${need%%:*}" >/dev/null ;;
    esac || printf '%s\n' "${need#*:}"
  done | sort -u | tr '\n' ' '
}

need_root() {
  [ "$(uname -s)" = Linux ] || die "a cluster on one machine needs Linux, and this is $(uname -s). Use a Linux machine or a virtual one."
  [ "$(id -u)" = 0 ] || die "network namespaces and cgroups need root, and this is user $(id -un). Run the same as root, such as: sudo npm run kube -- $command_line"
  case $home/ in
    /run/* | /proc/* | /sys/*) die "REGENT_KUBE_HOME is $home, but nodes have a /run, /proc and /sys of their own. Choose a folder on a disk." ;;
    /*) ;;
    *) die "REGENT_KUBE_HOME is \"$home\", which is no absolute path. Write it out from / on." ;;
  esac
}

need_programs() {
  local missing
  missing=$(missing_packages "$1")
  [ -z "$missing" ] || die "missing here: $missing(names of Debian packages). Run: npm run kube -- deps, or install them in your distribution's way."
}

need_go() {
  command -v go >/dev/null || die 'Go is not installed, and Kubernetes is built from Go modules. Install Go 1.24 or newer (https://go.dev/dl/) and put it on PATH.'
  local version major minor
  version=$(go env GOVERSION); version=${version#go}
  IFS=. read -r major minor _ <<<"$version"
  [ "$major" -gt 1 ] || [ "${minor%%[!0-9]*}" -ge 24 ] || die "go is $version, but 1.24 or newer is needed. Install a newer one (https://go.dev/dl/) and put it on PATH before this one."
}

need_built() {
  [ -x "$bin/kube-components" ] && [ -x "$bin/coredns" ] && [ -x "$bin/helm" ] && [ -s "$pause_archive" ] ||
    die "Kubernetes is not built in $home yet. Run: npm run kube -- build (once, about 15 minutes on two cores)."
}

need_up() {
  [ -e "$run/up" ] && [ -e "/run/netns/$name-control" ] || die "no cluster is up. Run: npm run kube -- up 3"
}

install_dependencies() {
  need_root
  local missing; missing=$(missing_packages "$running_needs $building_needs $image_needs")
  if [ -z "$missing" ]; then say 'everything is installed'; return; fi
  command -v apt-get >/dev/null || die "missing here: $missing(names of Debian packages), and there is no apt-get. Install them in your distribution's way."
  export DEBIAN_FRONTEND=noninteractive
  run_long 'reading the lists of packages' "$logs/deps.log" apt-get update -q
  # shellcheck disable=SC2086
  run_long "installing $missing" "$logs/deps.log" apt-get install -yq --no-install-recommends $missing
  say 'everything is installed'
}
