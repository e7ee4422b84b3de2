# shellcheck shell=bash
# Kubernetes, etcd, CoreDNS and Helm from Go modules, built once per home; and the image of a pod's first process.

kubernetes_version=$(sed -n 's/^\tk8s.io\/kubernetes \(v[0-9.]*\)$/\1/p' "$here/components/go.mod")
pause_image=localhost/regent-pause:1
pause_archive=$images/pause-$(sha256sum "$here/pause.c" | cut -c1-12).tar

built_kubernetes() { [ "$("$bin/kube-components" kubectl version --client -o yaml 2>/dev/null | sed -n 's/ *gitVersion: //p')" = "$kubernetes_version" ]; }
built_coredns() { [ "$("$bin/coredns" -version 2>/dev/null | sed -n 1p)" = "CoreDNS-${coredns_version#v}" ]; }
# Built from modules, Helm knows only the first two numbers of its version.
built_helm() { [ "$("$bin/helm" version --template '{{.Version}}' 2>/dev/null)" = "${helm_version%.*}" ]; }

build() {
  mkdir -p "$bin" "$images"
  if built_kubernetes; then say "Kubernetes $kubernetes_version is built"; else
    need_go
    run_long "building Kubernetes $kubernetes_version" "$logs/build-kubernetes.log" build_kubernetes
  fi
  local component
  for component in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl etcd; do
    printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$bin/kube-components" "$component" >"$bin/$component"
    chmod +x "$bin/$component"
  done
  if built_coredns; then say "CoreDNS $coredns_version is built"; else
    need_go
    run_long "building CoreDNS $coredns_version" "$logs/build-coredns.log" install_module "github.com/coredns/coredns@$coredns_version"
  fi
  if built_helm; then say "Helm $helm_version is built"; else
    need_go
    run_long "building Helm $helm_version" "$logs/build-helm.log" install_module "helm.sh/helm/v3/cmd/helm@$helm_version"
  fi
  [ -s "$pause_archive" ] || build_pause
}

# -v names each package as it is compiled, which is what shows that the build gets on.
build_kubernetes() {
  local package=k8s.io/component-base/version minor
  minor=$(cut -d. -f2 <<<"$kubernetes_version")
  cd "$here/components"
  CGO_ENABLED=0 nice -n 19 go build -v -trimpath -buildvcs=false -o "$bin/kube-components" \
    -ldflags "-s -w -X $package.gitVersion=$kubernetes_version -X $package.gitMajor=1 -X $package.gitMinor=$minor -X $package.gitTreeState=clean" .
}

install_module() { GOBIN=$bin CGO_ENABLED=0 nice -n 19 go install -v -trimpath -ldflags '-s -w' "$1"; }

build_pause() {
  need_programs "$building_needs"
  fresh_scratch
  gcc -static -O2 -o "$scratch/pause" "$here/pause.c" || die "gcc could not build $here/pause.c; its complaint is above."
  printf 'FROM scratch\nCOPY pause /pause\nENTRYPOINT ["/pause"]\n' >"$scratch/Dockerfile"
  run_long "building the image of a pod's first process" "$logs/image-pause.log" build_image "$pause_image" "$scratch"
  save_image "$pause_image" "$pause_image" "$pause_archive"
}
