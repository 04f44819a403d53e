#!/usr/bin/env bash
# build.sh CACHE NODE BUNDLE: all that the lab runs, from Debian packages, Go modules and PyPI, into CACHE. What is there and made from the
# same inputs is kept. NODE is the Node binary that the CSI driver in BUNDLE gets. A part is moved into place when it is whole, so an interrupted
# build is only continued. Meant to be started by test/lab/cli.ts, which looks at the ground first.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$1 node=$2 bundle=$3
# The toolchain at hand, never one that Go would fetch by itself.
export GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS=-mod=mod DEBIAN_FRONTEND=noninteractive

kubernetes=v1.34.4
# Its scheduler is asked, too: scheduler.lab.test.ts.
newer=v1.37.2
moto=5.2.5
# The nodes' containerd asks for it by this name: support/node-files.ts.
pause=example.com/kubectl-storage/pause:lab
suite=bookworm
host_packages=(mmdebstrap systemd-container openssh-client openssl iproute2 jq python3-venv ca-certificates e2fsprogs)
node_packages=(systemd systemd-sysv dbus openssh-server sudo fuse3 sshfs s3fs iproute2 iptables procps util-linux e2fsprogs
  xfsprogs rsync containerd runc containernetworking-plugins conntrack kmod socat jq acl attr lvm2)
mover_packages=(rsync openssh-client openssh-server acl attr)

mkdir -p "$cache"/{bin,images,src,stamps}
work=$(mktemp -d "$cache/build.XXXXXX")
# mmdebstrap undoes its own mounts when it is interrupted; what it made so far is in here.
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

key() { cat "$@" | sha256sum | cut -c1-16; }
# fresh NAME KEY FILE...: whether the part was made from these inputs and its files are there.
fresh() {
  local name=$1 key=$2 file
  shift 2
  for file in "$@"; do [ -e "$file" ] || return 1; done
  [ "$(cat "$cache/stamps/$name" 2>/dev/null)" = "$key" ]
}
made() { echo "$2" >"$cache/stamps/$1"; }
say() { printf 'lab: %s (%ds)\n' "$*" "$SECONDS" >&2; }

host() {
  local missing
  missing=$(for p in "${host_packages[@]}"; do
    dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || echo "$p"
  done)
  [ -n "$missing" ] || return 0
  say "installing $(echo $missing)"
  apt-get -qq update >/dev/null
  # shellcheck disable=SC2086 # one word per package
  apt-get -qq install -y --no-install-recommends $missing >/dev/null
}

# Taken out of their packages, not installed: Debian's etcd-server would start a service on the lab's port.
from_debian() {
  local key=etcd-busybox-2
  fresh debian "$key" "$cache/bin/etcd" "$cache/bin/busybox" && return
  say 'etcd and busybox from Debian'
  mkdir "$work/debs"
  apt-get -qq update >/dev/null
  (cd "$work/debs" && apt-get -qq -o APT::Sandbox::User=root download etcd-server busybox-static)
  for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/debs/out"; done
  install "$work/debs/out/usr/bin/etcd" "$cache/bin/etcd"
  install "$work/debs/out/bin/busybox" "$cache/bin/busybox"
  made debian "$key"
}

# go_programs FOLDER MODULE-FILES LDFLAGS SUFFIX PACKAGE...: programs out of one module, built as an ordinary dependency. All that is
# missing is built by one command, so that one program is compiled while another is linked.
go_programs() {
  local folder="$cache/src/$1" module=$2 flags="-s -w $3" suffix=$4 package program key missing=()
  shift 4
  key=$(key "$here/kube/$module.go.mod" "$here/kube/$module.go.sum" <(echo "$flags"; go env GOVERSION GOARCH))
  for package; do
    program=${package##*/}$suffix
    fresh "$program" "$key" "$cache/bin/$program" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "compiling ${missing[*]##*/}${suffix:+ of ${suffix#-}}"
  mkdir -p "$folder" "$work/go"
  cp "$here/kube/$module.go.mod" "$folder/go.mod"
  cp "$here/kube/$module.go.sum" "$folder/go.sum"
  (cd "$folder" && go build -trimpath -ldflags "$flags" -o "$work/go/" "${missing[@]}")
  for package in "${missing[@]}"; do
    program=${package##*/}
    mv "$work/go/$program" "$cache/bin/$program$suffix"
    made "$program$suffix" "$key"
  done
}

# version_flags VERSION: what makes programs of Kubernetes say that they are of it.
version_flags() {
  local v=k8s.io/component-base/version minor=${1#v1.}
  echo "-X $v.gitVersion=$1 -X $v.gitMajor=1 -X $v.gitMinor=${minor%%.*}"
}

programs() {
  local cmd=k8s.io/kubernetes/cmd
  go_programs kubernetes kubernetes "$(version_flags "$kubernetes")" '' \
    $cmd/kube-apiserver $cmd/kube-controller-manager $cmd/kube-scheduler $cmd/kubelet $cmd/kubectl
  go_programs "kubernetes-$newer" kubernetes-1.37 "$(version_flags "$newer")" "-$newer" \
    $cmd/kube-apiserver $cmd/kube-scheduler
  go_programs local-path local-path '' '' github.com/rancher/local-path-provisioner
}

rootfs() { # one read-only base for all nodes: systemd, sshd, containerd, FUSE file systems
  local key
  key=$(echo "$suite ${node_packages[*]}" | key -)
  fresh rootfs "$key" "$cache/rootfs/etc" && return
  say 'the file system of the nodes'
  rm -rf "$cache/rootfs"
  mmdebstrap --quiet --variant=minbase --include="$(IFS=,; echo "${node_packages[*]}")" "$suite" "$work/rootfs"
  mv "$work/rootfs" "$cache/rootfs"
  made rootfs "$key"
}

# image FILE NAME LAYER.tar COMMAND...: a container image of one layer, as a docker archive. No registry is involved.
image() {
  local out=$1 name=$2 layer=$3 dir="$work/image" sum config
  shift 3
  rm -rf "$dir"
  sum=$(sha256sum <"$layer" | cut -d' ' -f1)
  mkdir -p "$dir/$sum"
  ln "$layer" "$dir/$sum/layer.tar" 2>/dev/null || cp "$layer" "$dir/$sum/layer.tar"
  config=$(jq -nc --arg sum "sha256:$sum" --arg arch "$(dpkg --print-architecture)" '{architecture: $arch, os: "linux",
    config: {Cmd: $ARGS.positional, Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]},
    rootfs: {type: "layers", diff_ids: [$sum]}, history: [{created_by: "test/lab/build.sh"}]}' --args -- "$@")
  printf %s "$config" >"$dir/config.json"
  jq -nc --arg name "$name" --arg sum "$sum" '[{Config: "config.json", RepoTags: [$name], Layers: [$sum + "/layer.tar"]}]' >"$dir/manifest.json"
  tar -C "$dir" -cf "$work/image.tar" manifest.json config.json "$sum/layer.tar"
  mv "$work/image.tar" "$cache/images/$out.tar"
}

busybox_tree() { # FOLDER
  mkdir -p "$1"/{bin,tmp,etc,root}
  cp "$cache/bin/busybox" "$1/bin/"
  for a in $("$cache/bin/busybox" --list); do [ "$a" = busybox ] || ln -s busybox "$1/bin/$a"; done
  echo 'root:x:0:0:root:/root:/bin/sh' >"$1/etc/passwd"
}

small_images() {
  local key
  key=$(key "$here/pause.go" "$cache/bin/busybox" <(echo "$pause"))
  fresh small-images "$key" "$cache/images/pause.tar" "$cache/images/busybox.tar" && return
  say 'images pause and busybox'
  mkdir "$work/pause"
  (cd "$here" && GOFLAGS='' go build -trimpath -ldflags '-s -w' -o "$work/pause/pause" pause.go)
  tar -C "$work/pause" -cf "$work/pause.tar" .
  image pause "$pause" "$work/pause.tar" /pause
  busybox_tree "$work/busybox"
  rm "$work/busybox/bin/sleep"
  cp "$work/pause/pause" "$work/busybox/bin/sleep"
  tar -C "$work/busybox" -cf "$work/busybox.tar" .
  image busybox docker.io/library/busybox:latest "$work/busybox.tar" sh
  image busybox-1.37 docker.io/library/busybox:1.37 "$work/busybox.tar" sh
  made small-images "$key"
}

mover() { # what copies data in later tests: rsync and ssh from Debian packages
  local key
  key=$(echo "$suite ${mover_packages[*]}" | key -)
  fresh mover "$key" "$cache/images/mover.tar" && return
  say 'image mover'
  mmdebstrap --quiet --variant=minbase --include="$(IFS=,; echo "${mover_packages[*]}")" "$suite" "$work/mover-layer.tar"
  image mover example.com/kubectl-storage/mover:lab "$work/mover-layer.tar" sleep infinity
  made mover "$key"
}

# with_libraries ROOT TREE PROGRAM: the program of ROOT and the shared libraries it loads, to the same places in TREE.
with_libraries() {
  local from=$1 tree=$2 file
  { echo "$3"; chroot "$from" ldd "$3" | grep -oE '/[^ ]+' || true; } | while read -r file; do
    mkdir -p "$tree$(dirname "$file")"
    cp -Ln "$from$file" "$tree$file"
  done
}

csi() { # the lab's own CSI driver: its bundle, Node, and s3fs, which the driver starts under the name of GeeseFS
  local key
  key=$(key "$bundle" "$here"/csi/*.proto "$node" "$cache/stamps/rootfs")
  fresh csi "$key" "$cache/images/csi.tar" && return
  say 'image of the CSI driver'
  local tree="$work/csi"
  mkdir -p "$tree"/{usr/bin,usr/lib,usr/lib64,usr/sbin,driver,proc,sys,dev,run,var/lib/kubelet}
  for d in bin sbin lib lib64; do ln -s "usr/$d" "$tree/$d"; done
  with_libraries / "$tree" "$node"
  ln -sf "$node" "$tree/driver/node"
  with_libraries "$cache/rootfs" "$tree" /usr/bin/s3fs
  mv "$tree/usr/bin/s3fs" "$tree/usr/bin/geesefs"
  busybox_tree "$tree"
  cp "$bundle" "$tree/driver/driver.cjs"
  cp "$here"/csi/*.proto "$tree/driver/"
  tar -C "$tree" -cf "$work/csi.tar" .
  image csi example.com/kubectl-storage/csi-s3:lab "$work/csi.tar" /driver/node /driver/driver.cjs
  made csi "$key"
}

s3_server() {
  fresh s3 "moto-$moto" "$cache/s3/bin/moto_server" && return
  say 'the S3 server'
  rm -rf "$cache/s3"
  /usr/bin/python3 -m venv "$cache/s3"
  "$cache/s3/bin/pip" install --quiet "moto[server,s3]==$moto"
  made s3 "moto-$moto"
}

host
from_debian
programs
rootfs
small_images
mover
csi
s3_server
